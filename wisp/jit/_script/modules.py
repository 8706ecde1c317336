"""Modules: what is known of an instance, and how scripts see its members."""

import ast
import enum
import inspect
import typing

from wisp import _C
from wisp.jit._marks import Attribute as Declared
from wisp.jit._marks import marker, overloaded, scripted_classes
from wisp.jit._module import RecursiveScriptModule, ScriptModule
from wisp.jit._script import annotations, ir
from wisp.jit._script import types as T
from wisp.jit._script.errors import CompileError
from wisp.jit._script.hooks import hooks_of
from wisp.jit._script.imported import ImportedFunction, ImportedSpec, plain_type
from wisp.jit._script.interfaces import interface_of
from wisp.jit._script.objects import assigned_in_methods, type_of_changing
from wisp.jit._script.values import NONE, UNSET, Attribute, Const, Method, ModuleValue, StaticDict, Tuple
from wisp.nn import Module, ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential

_INTERNAL = {"_parameters", "_buffers", "_modules", "_non_persistent_buffers_set", "_hooked", "_attributes", "_c",
             "_defined", "_declared_types"}  # fmt: skip
_PLAIN = (bool, int, float, str, complex, _C.Tensor, _C.dtype, _C.device, list, dict, tuple, enum.Enum)


class ModuleSpec:
    """The class of a module in a program: the attributes that are values, and those that are known constants."""

    def __init__(self, program, module):
        self.program, self.module, self.python_class = program, module, type(module)
        self.attributes = {}  # name -> (role, type)
        self.constants = {}  # name -> Python object
        self.children = {}  # name -> spec, or None
        self.interfaces = {}  # name -> type, of children that are only known to have an interface
        self.methods = {}  # name -> compiled function
        self.name, self.type = None, None
        self.hooks = hooks_of(module)
        self._find_members()
        self._find_attributes()

    def _find_members(self):
        module = self.module
        for name, value in module._parameters.items():
            if value is None:
                self.constants[name] = None
            else:
                self.attributes[name] = ("parameter", T.TENSOR)
        for name, value in module._buffers.items():
            role = "temporary_buffer" if name in module._non_persistent_buffers_set else "buffer"
            declared = self._declared().get(name)
            if declared is not None and declared.kind == "optional":
                self.attributes[name] = (role, declared)
            elif value is None:
                self.constants[name] = None
            else:
                self.attributes[name] = (role, T.TENSOR)
        self.attributes["training"] = ("plain", T.BOOL)
        for name, child in module._modules.items():
            self.children[name] = None if child is None else self.program.spec_of(child)
            if child is not None and interface_of(self._declared().get(name)) is not None:
                self.interfaces[name] = self._declared()[name]

    def _declared(self):
        """Types that annotations of the class give to attributes; Final ones are constants."""
        if not hasattr(self, "_annotations"):
            self._annotations, self.final = {}, set()
            for cls in reversed(self.python_class.__mro__):
                if cls in (Module, object) or self.program.is_library(cls):
                    continue
                for name, annotation in vars(cls).get("__annotations__", {}).items():
                    self._declare(cls, name, annotation)
        return self._annotations

    def _declare(self, cls, name, annotation):
        lookup = self.program.lookup_of(cls)
        if isinstance(annotation, str):
            annotation = eval(annotation, {}, annotations._Names(lookup))
        if annotation is typing.Final or typing.get_origin(annotation) is typing.Final:
            self.final.add(name)
            return
        try:
            self._annotations[name] = annotations.from_object(annotation, self.program, lookup)
        except (TypeError, NameError):
            pass  # of something that only Python uses

    def _find_attributes(self):
        declared = self._declared()
        fixed = self.final | set(getattr(self.python_class, "__constants__", ()))
        library = any(
            self.program.is_library(c) and c not in _PLAIN_BASES for c in self.python_class.__mro__ if c is not object
        )
        itself = isinstance(self.module, ScriptModule) and "_c" in vars(self.module)  # has it been compiled
        methods = self.module._c.methods() if itself else ()
        for name, value in {**self._compiled_values(), **vars(self.module)}.items():
            if name in _INTERNAL or name in methods or self._has_member(name):
                continue
            if isinstance(value, Declared) or name in vars(self.module).get("_declared_types", ()):
                wanted = value.type if isinstance(value, Declared) else self.module._declared_types[name]
                lookup = self.program.lookup_of(self.python_class)
                self.attributes[name] = ("plain", annotations.from_object(wanted, self.program, lookup))
            elif name in declared and name not in fixed:
                self.attributes[name] = ("plain", declared[name])
            elif name not in fixed and not library and (kind := self._declared_in_init(name, value)) is not None:
                self.attributes[name] = ("plain", kind)
            elif type(value) in scripted_classes and name not in fixed:
                self.attributes[name] = ("plain", self.program.class_type(type(value)))
            elif name in fixed or library:
                self.constants[name] = value
            elif not self._is_value(value):
                self._find_other(name, value)
            else:
                self.attributes[name] = ("plain", ir.type_of_constant(value))

    def _find_other(self, name, value):
        """Objects of Python's are constants, but for those that change themselves."""
        kind = type_of_changing(value, self.program)
        if kind is None:
            self.constants[name] = value
        else:
            self.attributes[name] = ("plain", kind)

    def _declared_in_init(self, name, value):
        """The type that __init__ gives by `self.name: T = ...` to an empty list or dict, or to None if a method changes
        that, or None."""
        empty = isinstance(value, (list, dict)) and not value
        if not empty and (value is not None or not assigned_in_methods(self.python_class, name, self.program)):
            return None
        for cls in self.python_class.__mro__:
            init = vars(cls).get("__init__")
            if not inspect.isfunction(init) or self.program.is_library(init):
                continue
            try:
                for node in ast.walk(self.program.parsed(init)[1]):
                    if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == f"self.{name}":
                        return annotations.type_of_annotation(
                            node.annotation, self.program.lookup_of(init), self.program
                        )
            except (OSError, CompileError, TypeError, NameError, ValueError):
                continue  # without source, or of something that only Python uses
        return None

    def _has_member(self, name):
        return name in self.attributes or name in self.constants or name in self.children

    def _compiled_values(self):
        """Attributes of a module that has compiled itself."""
        names = vars(self.module).get("_attributes", ())
        return {name: self.value(name) for name in names if name not in self.children}

    def _is_value(self, value):
        return isinstance(value, _PLAIN) and not isinstance(value, type) and ir.type_of_constant(value) is not None

    def _shown_constants(self):
        """(name, value) of the constants that are attributes of the compiled module: also of a bias or submodule that is None."""
        absent = {name: None for name, child in self.children.items() if child is None}
        for name, value in {**self.constants, **absent}.items():
            if name.isidentifier() and (value is None or self._is_value(value)):
                yield name, value

    def value(self, name):
        """What an attribute of the instance holds."""
        found = getattr(self.module, name)
        return found.value if isinstance(found, Declared) else found

    def has(self, name):
        return self._has_member(name) or hasattr(self.module, name)

    def key(self):
        """Modules with equal keys have one class."""
        constants = tuple((k, _identity(v)) for k, v in sorted(self.constants.items()))
        children = tuple((k, None if c is None else c.name) for k, c in self.children.items())
        return self.python_class, tuple(self.attributes.items()), constants, children, self.hooks

    def own_forward(self):
        """The method that an instance has put in the place of its forward(), or None."""
        found = vars(self.module).get("forward")
        itself = inspect.ismethod(found) and found.__self__ is self.module
        return found.__func__ if itself else None

    def text(self):
        lines = [f"  {role} {name} : {kind}" for name, (role, kind) in self.attributes.items()]
        lines += [f"  plain {name} : {self.interfaces.get(name, child.type)}" for name, child in self.children.items()
                  if child is not None]  # fmt: skip
        for name, value in self._shown_constants():
            lines.append(f"  constant {name} : {ir.type_of_constant(value)}")
        lines += [f"  method {name} {function.name}" for name, function in self.methods.items()]
        return "\n".join([f"class {self.name} module {{", *lines, "}"])

    def instantiate(self, native, made, module):
        """The object of a module of this class, with its values."""
        if id(module) in made:
            return made[id(module)]
        obj = made[id(module)] = native.create(self.name)
        for name in self.attributes:
            found = getattr(module, name)
            obj.set(name, found.value if isinstance(found, Declared) else found)
        for name, value in self._shown_constants():
            obj.set(name, value)
        for name, child in self.children.items():
            if child is not None:
                obj.set(name, child.instantiate(native, made, module._modules[name]))
        return obj


_PLAIN_BASES = {Module, ModuleList, ModuleDict, Sequential, ParameterList, ParameterDict, *Module.__mro__}


def _identity(value):
    """Something hashable that is equal for equal constants."""
    if isinstance(value, (bool, int, float, str, type(None))):
        return type(value), repr(value)
    if isinstance(value, (tuple, list)):
        return type(value), tuple(map(_identity, value))
    return type(value), id(value)


class Modules:
    """Members and calls of modules."""

    def module_attribute(self, owner, name, node):
        spec = owner.spec
        if isinstance(spec, ImportedSpec):
            return self._imported_attribute(owner, name, node)
        if name == "_modules":
            return StaticDict({child: self.module_attribute(owner, child, node) for child in spec.children})
        if name in spec.children:
            child = spec.children[name]
            if child is None:
                return NONE
            if name in spec.interfaces:
                self.check_implements(child, interface_of(spec.interfaces[name]))
                return self.emit_one("prim::GetAttr", [owner.value], spec.interfaces[name], {"name": name})
            return ModuleValue(
                self.emit_one("prim::GetAttr", [owner.value], child.type, {"name": name}), child, (*owner.path, name)
            )
        if name in spec.attributes:
            return self.emit_one("prim::GetAttr", [owner.value], spec.attributes[name][1], {"name": name})
        if name in spec.constants:
            return self._constant_member(owner, name)
        return self._class_member(owner, name, node)

    def _imported_attribute(self, owner, name, node):
        spec = owner.spec
        for found, _, kind in spec.bare.attributes():
            if found != name:
                continue
            part = spec.part(name)
            if part is not None:
                value = self.emit_one("prim::GetAttr", [owner.value], part.type, {"name": name})
                return ModuleValue(value, part, (*owner.path, name))
            return self.emit_one("prim::GetAttr", [owner.value], plain_type(kind, {}), {"name": name})
        if name in spec.bare.methods():
            return Attribute(owner, name)
        return self.fail(f"the compiled module has no attribute '{name}'", node)

    def call_imported(self, owner, name, arguments, keywords, node):
        """A method of a module that was compiled before."""
        if name not in owner.spec.bare.methods():
            self.fail(f"the compiled module has no method '{name}'", node)
        compiled = ImportedFunction(name, owner.spec.bare.method(name), {})
        values = self.bind(compiled, arguments, keywords, node)
        return self.emit_one("prim::CallMethod", [owner.value, *values], compiled.result, {"name": name})

    def _constant_member(self, owner, name):
        value = owner.spec.constants[name]
        if isinstance(value, Module):
            return self.fail(
                f"the module '{name}' is kept where scripts do not find it: assign it as an attribute of its own"
            )
        return self.wrap(value)

    def _class_member(self, owner, name, node):
        spec = owner.spec
        by_text = {fn.__name__: fn for fn in vars(spec.module).get("_defined", ())}
        found = by_text.get(name) or inspect.getattr_static(spec.python_class, name, None)
        if found is None:
            self.fail(f"Module '{spec.python_class.__name__}' has no attribute '{name}'", node)
        if isinstance(found, property):
            return self.call_method(Method(owner, found.fget), [], {}, node)
        if isinstance(found, classmethod):
            return Method(Const(spec.python_class), found.__func__)
        if inspect.isfunction(found):
            return Method(owner, found)
        return self.wrap(getattr(spec.python_class, name))

    def attribute_type(self, target):
        """The type of an attribute that is assigned to, for what has no type of its own."""
        if not isinstance(target, ast.Attribute) or not isinstance(target.value, ast.Name):
            return None
        owner = self.scope.get(target.value.id)
        if isinstance(owner, ModuleValue) and target.attr in owner.spec.attributes:
            return owner.spec.attributes[target.attr][1]
        return None

    def set_module_attribute(self, owner, name, value, node):
        spec = owner.spec
        if name in spec.attributes:
            kept = self.attribute_value(name, value, spec.attributes[name][1])
            self.emit("prim::SetAttr", [owner.value, kept], [], {"name": name})
        elif name in spec.constants:
            self.fail(f"'{name}' is a constant of the module and cannot be assigned. Give it a type in the class "
                      f"(`{name}: Optional[Tensor]`) to make it a variable", node)  # fmt: skip
        elif name in spec.interfaces:
            kept = self.attribute_value(name, value, spec.interfaces[name])
            self.emit("prim::SetAttr", [owner.value, kept], [], {"name": name})
        elif name in spec.children:
            self.fail(f"the submodule '{name}' cannot be replaced in a script", node)
        elif (setter := getattr(inspect.getattr_static(spec.python_class, name, None), "fset", None)) is not None:
            self.call_method(Method(owner, setter), [value], {}, node)
        else:
            self.fail(f"Tried to set nonexistent attribute '{name}' of the module: create it in __init__", node)

    # --- containers

    def children_of(self, owner):
        """The modules of a ModuleList or Sequential, or the keys of a ModuleDict; None if it is no container."""
        if isinstance(owner.spec, ImportedSpec):
            return [self.module_attribute(owner, name, None) for name in owner.spec.children]
        cls = owner.spec.python_class
        if issubclass(cls, ModuleDict):
            return [Const(name) for name in owner.spec.children]
        if issubclass(cls, (ModuleList, Sequential)):
            return [self.module_attribute(owner, name, None) for name in owner.spec.children]
        if issubclass(cls, ParameterList):
            return [self.module_attribute(owner, name, None) for name in self._parameter_names(owner)]
        return None

    @staticmethod
    def _parameter_names(owner):
        return [name for name, (role, _) in owner.spec.attributes.items() if role == "parameter"]

    def module_item(self, owner, index, node, hint=None):
        own = self.own_special(owner, "__getitem__")
        if own is not None:
            return self.call_method(own, [index], {}, node)
        cls, names = owner.spec.python_class, list(owner.spec.children)
        known = self._static_index(index)
        if issubclass(cls, (ModuleDict, ParameterDict, RecursiveScriptModule)) and isinstance(known, str):
            if not issubclass(cls, ParameterDict) and known not in names:
                self.fail(f"Key Error, {known}: the keys are {', '.join(names)}", node)
            return self.module_attribute(owner, known, node)
        if issubclass(cls, ParameterList):
            names = self._parameter_names(owner)
        if isinstance(known, slice):
            return Tuple([self.module_attribute(owner, name, node) for name in names[known]])
        if isinstance(known, int) and -len(names) <= known < len(names):
            return self.module_attribute(owner, names[known], node)
        if isinstance(known, int):
            self.fail(f"Index {known} out of range of the {len(names)} modules", node)
        if interface_of(hint) is not None and known is UNSET:
            return self._item_by_interface(owner, index, hint, node)
        return self.fail("modules are indexed with constants, or with the interface of all of them as an annotation: write a "
                         "for loop over the container instead", node)  # fmt: skip

    def _item_by_interface(self, owner, index, hint, node):
        """One of the modules of a container, of which only the interface is known."""
        names = list(owner.spec.children)
        modules = [self.convert(self.module_attribute(owner, name, node), hint) for name in names]
        if issubclass(owner.spec.python_class, ModuleDict):
            every = self.dict_value(list(map(Const, names)), modules, T.dict_of(T.STR, hint))
        else:
            every = self.list_value(modules, hint)
        return self.get_item(every, index, node)

    def own_special(self, owner, name):
        """A method like __len__ that the class of a module defines itself, or None."""
        found = inspect.getattr_static(owner.spec.python_class, name, None)
        own = inspect.isfunction(found) and not self.program.is_library(found)
        return Method(owner, found) if own else None

    def module_contains(self, owner, item):
        own = self.own_special(owner, "__contains__")
        if own is not None:
            return self.call_method(own, [item], {}, self.at)
        return Const(self.static(item) in owner.spec.children)

    def _container_method(self, owner, name):
        children = owner.spec.children
        parts = {"items": lambda k: Tuple([Const(k), self.module_attribute(owner, k, None)]),
                 "named_children": lambda k: Tuple([Const(k), self.module_attribute(owner, k, None)]),
                 "keys": Const, "values": lambda k: self.module_attribute(owner, k, None),
                 "children": lambda k: self.module_attribute(owner, k, None)}  # fmt: skip
        if name in parts:
            return Tuple([parts[name](k) for k in children])
        if name in ("modules", "named_modules"):
            every = [(path, self._module_at(owner, path)) for path, _ in owner.spec.module.named_modules()]
            return Tuple([Tuple([Const(k), v]) if name == "named_modules" else v for k, v in every])
        found = self._tensors_below(owner, "parameter" if "parameters" in name else "buffer", "")
        return Tuple([Tuple([Const(k), v]) if name.startswith("named") else v for k, v in found])

    def _module_at(self, owner, path):
        """The module at a dotted path below another."""
        for name in path.split(".") if path else ():
            owner = self.attribute(owner, name)
        return owner

    def _tensors_below(self, owner, role, prefix):
        """(name, value) of the parameters or buffers of a module and all below it."""
        found = [(prefix + name, self.module_attribute(owner, name, None))
                 for name, (kind, _) in owner.spec.attributes.items() if kind.endswith(role)]  # fmt: skip
        for name, child in owner.spec.children.items():
            if child is not None:
                found += self._tensors_below(self.module_attribute(owner, name, None), role, f"{prefix}{name}.")
        return found

    # --- calls

    def call_module(self, owner, arguments, keywords, node):
        if isinstance(owner.spec, ImportedSpec):
            method = "__call__" if "__call__" in owner.spec.bare.methods() else "forward"  # with hooks around it
            return self.call_imported(owner, method, arguments, keywords, node)
        if owner.spec.hooks:
            return self.call_with_hooks(owner, arguments, keywords, node)
        return self.call_forward(owner, arguments, keywords, node)

    def call_forward(self, owner, arguments, keywords, node):
        """A module's forward(), without its hooks."""
        cls, own = owner.spec.python_class, owner.spec.own_forward()
        if own is not None:
            return self.call_method(Method(owner, own), arguments, keywords, node)
        if cls.forward is Sequential.forward and not keywords and len(arguments) == 1:
            value = arguments[0]
            for child in self.children_of(owner):
                value = self.call(child, [value], {}, node)
            return value
        if cls.forward is Module.forward:
            self.fail(f"'{cls.__name__}' has no forward() and cannot be called", node)
        return self.call_method(Method(owner, cls.forward), arguments, keywords, node)

    def call_method(self, method, arguments, keywords, node):
        owner, fn = method.owner, method.function
        if not isinstance(owner, ModuleValue):
            return self.call_object_method(owner, fn, arguments, keywords, node)
        spec, name = owner.spec, fn.__name__
        mark = marker(fn)
        if mark == "unused":
            return self.call_python(fn, [owner, *arguments], keywords, node)
        if mark == "ignore":
            return self.call_host(fn, owner, [owner, *arguments], keywords, node)
        container = name in ("items", "keys", "values", "children", "named_children", "named_modules", "named_parameters",
                             "parameters", "modules", "named_buffers", "buffers")  # fmt: skip
        if container and self.program.is_library(fn):
            return self._container_method(owner, name)
        if name != "forward" and self.program.is_library(fn):
            return self.call_library(fn, [owner, *arguments], keywords, _class_of(spec.python_class, fn))
        if (fn.__module__, fn.__qualname__) in overloaded:  # of other types with every call
            return self.call_inline(fn, [owner, *arguments], keywords, _class_of(spec.python_class, fn), node)
        if getattr(spec.python_class, name, None) is not fn:  # of a base class, by super()
            return self.call_inline(fn, [owner, *arguments], keywords, _class_of(spec.python_class, fn), node)
        if self.program.is_library(fn) and self._needs_own(spec, fn, arguments, keywords):
            return self.call_library(fn, [owner, *arguments], keywords, _class_of(spec.python_class, fn))
        try:
            compiled = self.program.method_of(spec, fn)
        except CompileError as error:
            raise error.inside(self.describe_here()) from None
        values = self.bind(compiled, arguments, keywords, node)
        return self.emit_one("prim::CallMethod", [owner.value, *values], compiled.result_type(self), {"name": name})

    def _needs_own(self, spec, fn, arguments, keywords):
        """Whether forward() of one of the library's modules is called with other types than it is compiled for."""
        params = {p.name: p.type for p in self.program.signature_of(spec, fn)[0]}
        given = {**dict(zip(params, arguments)), **keywords}
        for name, value in given.items():
            found, wanted = self.type_of(value), params.get(name)
            if (
                wanted is None
                or found is None
                or not (T.is_subtype(found, wanted) or T.unify(found, wanted) is not None)
            ):
                return True
        return False


def _class_of(cls, fn):
    """The class in which a method is defined."""
    for base in cls.__mro__:
        if any(found is fn or getattr(found, "fget", None) is fn for found in vars(base).values()):
            return base
    return cls
