"""Classes of the program: NamedTuples, and classes with typed methods."""

import ast
import dataclasses
import inspect

from wisp import _C
from wisp._legacy import tensortype
from wisp.jit._script import annotations
from wisp.jit._script import types as T
from wisp.jit._script.emitter import Frame
from wisp.jit._script.errors import CompileError
from wisp.jit._script.modules import ModuleSpec, _class_of
from wisp.jit._script.values import TRUE, Const, Method, ModuleValue, StaticObject, Tuple
from wisp.nn import Module


class ClassSpec:
    """A class of the user's in a program. Its attributes are those that __init__ assigns, of the types they get there."""

    def __init__(self, program, cls, name):
        self.program, self.python_class, self.name = program, cls, name
        self.type = T.class_of(name, self)
        self.attributes, self.methods, self.complete = {}, {}, False

    def text(self):
        lines = [f"  plain {name} : {kind}" for name, kind in self.attributes.items()]
        lines += [f"  method {name} {function.name}" for name, function in self.methods.items()]
        return "\n".join([f"class {self.name} {{", *lines, "}"])

    def is_generated(self, name):
        """Whether a method was written by @dataclass (__repr__ with a function of the standard library around it)."""
        method = getattr(self.python_class, name, None)
        if not dataclasses.is_dataclass(self.python_class) or not inspect.isfunction(method):
            return False
        return inspect.unwrap(method).__code__.co_filename in ("<string>", dataclasses.__file__)

    def declared(self, name):
        """The type that an annotation of the class gives to an attribute, or None."""
        for cls in self.python_class.__mro__:
            if name in vars(cls).get("__annotations__", {}):
                lookup = self.program.lookup_of(cls)
                return annotations.type_of_annotation(vars(cls)["__annotations__"][name], lookup, self.program)
        return None


class Classes:
    """Objects of classes of the program."""

    def construct(self, cls, arguments, keywords, node):
        """cls(...)"""
        if issubclass(cls, tuple) and hasattr(cls, "_fields"):
            return self._named_tuple(cls, arguments, keywords, node)
        if cls is _C.Size:
            return self.convert(arguments[0], T.list_of(T.INT))
        if issubclass(cls, Module):
            self.unsupported(
                f"making a module ('{cls.__name__}')", "Make it in __init__ and assign it as an attribute.", node
            )
        if issubclass(cls, _C.Tensor) or isinstance(cls, tensortype):
            self.unsupported(f"{cls.__name__}(...)", "Use tensor(), zeros() and the like.", node)
        try:
            spec = self.program.class_spec(cls)
        except CompileError as error:
            raise error.inside(self.describe_here()) from None
        if spec is None and self.program.is_library(cls) and inspect.isfunction(cls.__init__):
            made = StaticObject(cls, self.program.next_number())
            self.call_library(cls.__init__, [made, *arguments], keywords)
            return made
        if spec is None:
            self.fail(f"objects of the Python class '{cls.__name__}' cannot be made in a script", node)
        made = self.emit_one("prim::CreateObject", [], spec.type, {"name": spec.name})
        init = getattr(cls, "__init__", None)
        if spec.is_generated("__init__"):
            self._fill_dataclass(made, cls, arguments, keywords, node)
        elif inspect.isfunction(init):
            self.call_object_method(made, init, arguments, keywords, node)
        return made

    def _fill_dataclass(self, made, cls, arguments, keywords, node):
        """What the __init__ of a dataclass does."""
        given = self._bind_python(cls, arguments, keywords)
        for field in dataclasses.fields(cls):
            if field.default_factory is not dataclasses.MISSING and field.name not in {
                **keywords,
                **dict(zip(given, arguments)),
            }:
                given[field.name] = Const(field.default_factory())
            self.set_attribute(made, field.name, given[field.name], node)
        if hasattr(cls, "__post_init__"):
            fields = {field.name for field in dataclasses.fields(cls)}
            rest = [value for name, value in given.items() if name not in fields]  # InitVars
            self.call(self.attribute(made, "__post_init__", node), rest, {}, node)

    def same_dataclass(self, left, right):
        """Whether all fields of two objects of a dataclass are equal; None if they are no such objects."""
        kind = self.type_of(left)
        if kind is None or kind.kind != "class" or self.type_of(right) != kind:
            return None
        if not isinstance(kind.host, ClassSpec) or not kind.host.is_generated("__eq__"):
            return None
        left, right, result = self.materialize(left), self.materialize(right), TRUE
        for field in dataclasses.fields(kind.host.python_class):
            parts = self.object_attribute(left, field.name, None), self.object_attribute(right, field.name, None)
            result = self._either_or_both("all", result, self.truth(self.binary(ast.Eq(), *parts, None)))
        return result

    def _named_tuple(self, cls, arguments, keywords, node):
        if _makes_itself(cls) and not self.program.is_library(cls):
            self.unsupported(f"{cls.__name__}(), which has a __new__ of its own,", "Make it in a function.", node)
        kind = annotations.named_tuple(cls, self.program)
        self.program.know_tuple(cls)
        defaults = {name: Const(value) for name, value in getattr(cls, "_field_defaults", {}).items()}
        given = {**defaults, **dict(zip(cls._fields, arguments)), **keywords}
        if len(arguments) > len(cls._fields) or set(given) != set(cls._fields):
            self.fail(f"{cls.__name__}() needs the fields {', '.join(cls._fields)}", node)
        items = [self._field(f, given[f], t) for f, t in zip(cls._fields, kind.items)]
        return Tuple(items, cls.__name__, cls._fields, cls)

    def _field(self, name, value, wanted):
        converted = self.try_convert(value, wanted)
        if converted is None:
            self.fail(self.wrong_argument(name, wanted, value))
        return converted

    def object_attribute(self, owner, name, node):
        spec = owner.type.host
        if isinstance(spec, ModuleSpec):
            return self.module_attribute(ModuleValue(owner, spec), name, node)
        if name in spec.attributes:
            return self.emit_one("prim::GetAttr", [owner], spec.attributes[name], {"name": name})
        found = inspect.getattr_static(spec.python_class, name, None)
        if found is None:
            self.fail(f"'{spec.python_class.__name__}' object has no attribute or method '{name}'", node)
        if isinstance(found, property):
            return self.call_object_method(owner, found.fget, [], {}, node)
        if inspect.isfunction(found):
            return Method(owner, found)
        return self.wrap(getattr(spec.python_class, name))

    def static_attribute(self, owner, name, node):
        """An attribute or method of one of the library's own objects."""
        if f"@{owner.number}.{name}" in self.scope:
            return self.scope[f"@{owner.number}.{name}"]
        found = inspect.getattr_static(owner.cls, name, None)
        if found is None:
            self.fail(f"'{owner.cls.__name__}' object has no attribute '{name}'", node)
        return Method(owner, found) if inspect.isfunction(found) else self.wrap(getattr(owner.cls, name))

    def class_attribute(self, kind, name, value, node):
        """The type of an attribute that is set; __init__ creates them."""
        spec = kind.host
        if name in spec.attributes:
            return spec.attributes[name]
        frame = self.frame
        if frame.name.rpartition(".")[2] != "__init__":
            self.fail(
                f"Tried to set nonexistent attribute '{name}' of '{spec.python_class.__name__}': create it in __init__",
                node,
            )
        found = spec.declared(name) or self.type_of(value)
        if found is None:
            self.fail(f"{self.what_is(value)} cannot be kept in an attribute", node)
        spec.attributes[name] = found
        return found

    def declare_attribute(self, target, declared):
        """self.name: declared = ... in __init__ of a class"""
        kind = self.type_of(self.expression(target.value))
        of_class = kind is not None and kind.kind == "class" and isinstance(kind.host, ClassSpec)
        if of_class and self.frame.name.rpartition(".")[2] == "__init__":
            kind.host.attributes.setdefault(target.attr, declared)

    def find_method(self, owner, name):
        spec = self.type_of(owner).host
        found = inspect.getattr_static(spec.python_class, name, None)
        return Method(self.materialize(owner), found) if inspect.isfunction(found) else None

    def call_object_method(self, owner, fn, arguments, keywords, node):
        """A method of an object, of a named tuple, or of a class."""
        if isinstance(owner, (Tuple, Const, StaticObject)):
            return self.call_inline(fn, [owner, *arguments], keywords, None, node)
        owner = self.materialize(owner)
        spec = owner.type.host
        if isinstance(spec, ModuleSpec):
            return self.call_method(Method(ModuleValue(owner, spec), fn), arguments, keywords, node)
        if getattr(spec.python_class, fn.__name__, None) is not fn and fn.__name__ in vars(spec.python_class):
            return self.call_inline(fn, [owner, *arguments], keywords, _class_of(spec.python_class, fn), node)
        if self.program.marker(fn) in ("unused", "ignore"):
            return self.call_python(fn, [owner, *arguments], keywords, node)
        try:
            compiled = self.program.method_of(spec, fn)
        except CompileError as error:
            raise error.inside(self.describe_here()) from None
        values = self.bind(compiled, arguments, keywords, node)
        return self.emit_one("prim::CallMethod", [owner, *values], compiled.result_type(self), {"name": fn.__name__})

    def call_inline(self, fn, arguments, keywords, owner, node):
        """Compiles a function of the user's into this one."""
        if self.program.is_library(fn):
            return self.call_library(fn, arguments, keywords, owner)
        source, tree = self.program.parsed(fn)
        frame = Frame(fn.__qualname__, source, self.program.lookup_of(fn), False, self.frame, None, owner)
        bound = self._bind_python(fn, arguments, keywords)
        return self._run_inline(frame, tree, bound)


def _makes_itself(cls):
    """Whether a subclass of a NamedTuple does more than to keep the fields when it is made."""
    return "__new__" in vars(cls) and any(hasattr(base, "_fields") for base in cls.__mro__[1:])
