"""A program while it is compiled: its functions, classes, sources and constants, and what it knows of Python's objects."""

import builtins
import dataclasses
import functools
import inspect
import sys
import types as python_types
import warnings

from wisp import _C
from wisp.jit import _marks as marks
from wisp.jit._module import RecursiveScriptModule
from wisp.jit._names import _fresh
from wisp.jit._script import annotations, enums, ir
from wisp.jit._script import types as T
from wisp.jit._script.anys import Anys
from wisp.jit._script.calls import Calls
from wisp.jit._script.classes import Classes, ClassSpec
from wisp.jit._script.conditions import Conditions
from wisp.jit._script.contexts import Contexts
from wisp.jit._script.displays import Displays
from wisp.jit._script.emitter import EmitterBase, Frame
from wisp.jit._script.errors import CompileError
from wisp.jit._script.expressions import Expressions
from wisp.jit._script.functions import Functions
from wisp.jit._script.gradients import Gradients
from wisp.jit._script.hooks import HookCalls
from wisp.jit._script.imported import Imports
from wisp.jit._script.interfaces import Interface, Interfaces
from wisp.jit._script.loops import Loops
from wisp.jit._script.maths import Maths
from wisp.jit._script.members import Members
from wisp.jit._script.modules import Modules, ModuleSpec
from wisp.jit._script.operators import Operators
from wisp.jit._script.plain import Plain
from wisp.jit._script.source import closure_values, parse
from wisp.jit._script.special import Special
from wisp.jit._script.statements import Statements
from wisp.jit._script.tables import tables
from wisp.jit._script.tensors import Tensors
from wisp.jit._script.texts import Texts
from wisp.jit._script.values import ModuleValue

_STATE = T.optional_of(T.tuple_of([T.TENSOR, T.TENSOR]))
# Types of parameters that the library's own modules do not annotate.
_LIBRARY_TYPES = {("LSTM", "hx"): _STATE, ("LSTMLanguageModel", "hidden"): _STATE,
                  ("_ConvTransposeNd", "output_size"): T.optional_of(T.list_of(T.INT)),
                  ("_MaxUnpoolNd", "output_size"): T.optional_of(T.list_of(T.INT))}  # fmt: skip


class Emitter(Calls, Functions, Gradients, Interfaces, HookCalls, Special, Members, Classes, Modules, Plain, Maths, Tensors, Operators, Displays, Texts, Conditions, Expressions,
              Statements, Loops, Anys, Contexts, EmitterBase):  # fmt: skip
    """All of the compiler for one function."""


class Compiled:
    """A function of the program."""

    def __init__(self, name, shown, params, result):
        self.name, self.shown, self.params, self.result = name, shown, params, result
        self.graph = None

    def result_type(self, emitter):
        if self.result is None:
            emitter.fail(f"{self.shown}() is called recursively: annotate what it returns")
        return self.result

    def text(self, program):
        lines = [f"function {self.name} {{"]
        for param in self.params:
            if param.has_default:
                default = param.default
                if enums.is_member(default):
                    default = (default.name, default.value)
                if isinstance(default, tuple) and T.without_none(param.type).kind == "list":
                    default = list(default)
                lines.append(f"  default {param.name} = {ir.constant_text(default, program.tensors)}")
        return "\n".join([*lines, self.graph.text(), "}"])


class TensorTable:
    """Tensors that are constants of the program."""

    def __init__(self):
        self.items = []

    def add(self, tensor):
        for i, known in enumerate(self.items):
            if known is tensor:
                return i
        self.items.append(tensor)
        return len(self.items) - 1


class Program:
    """Everything that is compiled together."""

    tensor_class = _C.Tensor

    def __init__(self):
        self.tables, self.tensors = tables(), TensorTable()
        self.sources, self.functions, self.classes = [], [], []
        self._taken, self._known, self._specs, self._hosts, self._texts = set(), {}, {}, {}, []
        self._module_specs, self._count, self.imports = {}, 0, Imports(self)
        self._around = _names_around()

    # --- text

    def source_number(self, source):
        if source not in self.sources:
            self.sources.append(source)
        return self.sources.index(source)

    def text(self):
        """The program, as wisp._C._jit.Program reads it."""
        bodies = [function.text(self) for function in self.functions]
        sources = [
            f"source {i} {ir.quoted(s.file)} {s.first_line} {ir.quoted(s.text)}" for i, s in enumerate(self.sources)
        ]
        classes = [c.text() for c in self.classes]
        return "\n".join(["program 1", *sources, *self.imports.texts(), *classes, *bodies, ""])

    def native(self):
        """The program ready to run."""
        made = _C._jit.Program()
        text = self.text()
        made.set_tensors(self.tensors.items)
        made.parse(text)
        return made

    # --- functions

    def fresh_name(self, wanted):
        return _fresh(wanted, self._taken)

    def next_number(self):
        self._count += 1
        return self._count

    def function_of(self, fn):
        """The compiled form of a Python function."""
        if fn not in self._known:
            source, tree = self.parsed(fn)
            self._compile(fn, fn, self.fresh_name(_plain_name(fn)), source, tree, None)
        return self._known[fn]

    def method_of(self, spec, fn):
        """The compiled form of a method of a module or class."""
        key = (spec.name, fn)
        if key not in self._known:
            source, tree = self.parsed(fn)
            short = spec.name.removeprefix("__wisp__.")
            name = self.fresh_name(f"{short}.{fn.__name__}")
            self._compile(key, fn, name, source, tree, spec)
        return self._known[key]

    def call_of(self, spec):
        """The method __call__ of a module with hooks: forward() with them around."""
        fn = spec.python_class.forward
        short = spec.name.removeprefix("__wisp__.")
        self._compile(
            (spec.name, "__call__"), fn, self.fresh_name(f"{short}.__call__"), *self.parsed(fn), spec, with_hooks=True
        )

    def _compile(self, key, fn, name, source, tree, spec, with_hooks=False):
        lookup = self.lookup_of(fn)
        emitter = Emitter(self)
        frame = emitter.frame = Frame(_shown(fn), source, lookup, self.is_library(fn))
        frame.owner = spec.python_class if spec is not None and not inspect.isclass(spec) else None
        emitter.at = tree
        try:
            params, result = self.signature_of(spec, fn)
        except (TypeError, NameError, ValueError, SyntaxError) as error:
            emitter.fail(f"the signature cannot be understood: {error}")
        self._check_defaults(emitter, params)
        if tree.args.vararg is not None or tree.args.kwarg is not None:
            emitter.unsupported("* and ** parameters of compiled functions", "Name the parameters one by one.", tree)
        method = "__call__" if with_hooks else fn.__name__
        compiled = self._known[key] = Compiled(name, _shown(fn), params, None if with_hooks else result)
        if spec is not None:
            spec.methods[method] = compiled
            frame.owner = next(
                (c for c in spec.python_class.__mro__ if vars(c).get(fn.__name__) is fn), spec.python_class
            )
        try:
            self._emit_shown(emitter, compiled, tree, spec, with_hooks)
        except CompileError:
            del self._known[key]
            if spec is not None:
                del spec.methods[method]
            raise
        self.functions.append(compiled)

    def _check_defaults(self, emitter, params):
        """Fails where a default is of another type than its parameter."""
        block, emitter.block = emitter.block, ir.Block(emitter.block)
        for param in params:
            if param.has_default and emitter.try_convert(emitter.wrap(param.default), param.type) is None:
                kind, found = T.shown(param.type), emitter.type_shown(emitter.wrap(param.default))
                emitter.fail(
                    f"Expected a default value of type {kind} for the parameter '{param.name}', but it is {found}"
                )
        emitter.block = block

    def signature_of(self, spec, fn):
        """(parameters, type of the result) of a function, or of a method without self."""
        tree = self.parsed(fn)[1]
        params, result = annotations.signature(fn, tree, self.lookup_of(fn), self, 0 if spec is None else 1)
        if spec is not None and not tree.args.args and not tree.args.posonlyargs:
            raise TypeError("a method needs a parameter for its object: self")
        if fn.__name__ == "__setstate__" and isinstance(spec, ModuleSpec) and not tree.args.args[-1].annotation:
            params[-1].type = self.method_of(spec, spec.python_class.__getstate__).result
        if self.is_library(fn) and isinstance(spec, ModuleSpec):
            bases = [cls.__name__ for cls in spec.python_class.__mro__]
            for param in params:
                param.type = next(
                    (_LIBRARY_TYPES[b, param.name] for b in bases if (b, param.name) in _LIBRARY_TYPES), param.type
                )
        return params, result

    def _emit_shown(self, emitter, *what):
        """What Python's own functions say of arguments that are known now is shown with the place too."""
        try:
            self._emit(emitter, *what)
        except (CompileError, OSError, RecursionError, MemoryError):
            raise
        except Exception as error:  # noqa: BLE001
            emitter.fail(f"{type(error).__name__}: {error}")

    def _emit(self, emitter, compiled, tree, spec, with_hooks):
        top, scope = emitter.graph.top, emitter.frame.scope
        if spec is not None:
            own = ir.Value(spec.type, top, "self")
            top.params.append(own)
            name = (tree.args.posonlyargs + tree.args.args)[0].arg
            scope[name] = ModuleValue(own, spec) if isinstance(spec, ModuleSpec) else own
        for param in compiled.params:
            value = scope[param.name] = ir.Value(param.type, top, param.name)
            top.params.append(value)
            emitter.frame.annotated[param.name] = param.type
        for param in compiled.params:
            emitter.check_union(param, scope[param.name], tree)
        emitter.frame.result = compiled.result
        if with_hooks:
            owner, *arguments = scope.values()
            result = emitter.call_with_hooks(owner, arguments, {}, tree)
        else:
            result = emitter.function_body(tree)
        emitter.at = tree
        value = emitter.materialize(result) if compiled.result is None else emitter.convert(result, compiled.result)
        top.results.append(value)
        compiled.result = compiled.result or value.type
        compiled.graph = emitter.graph

    def declared_result(self, fn):
        """The type a function is annotated to return, or None."""
        tree = self.parsed(fn)[1]
        return annotations.signature(fn, tree, self.lookup_of(fn), self, 0)[1]

    def host_function(self, fn, owner):
        """A Python function that is called as it is (@ignore)."""
        if fn not in self._hosts:
            tree = self.parsed(fn)[1]
            params, result = annotations.signature(fn, tree, self.lookup_of(fn), self, 0 if owner is None else 1)
            if owner is not None:
                params.insert(0, annotations.Parameter("self", owner.spec.type))
            name = f"{fn.__module__}.{fn.__qualname__}.{id(fn):x}"
            _C._jit.host_functions[name] = fn
            self._hosts[fn] = Compiled(name, fn.__name__, params, result)
        return self._hosts[fn]

    @functools.lru_cache(512)  # noqa: B019 (a program lives as long as its compilation)
    def parsed(self, fn):
        return parse(fn)

    def lookup_of(self, fn):
        """Finds the names that a function or class does not define."""
        names = closure_values(fn) if inspect.isfunction(fn) else {}
        scope = fn.__globals__ if inspect.isfunction(fn) else vars(sys.modules.get(fn.__module__, builtins))

        def lookup(name):
            for place in (names, scope, vars(builtins)):
                if name in place:
                    return place[name]
            if name == "__globals__":
                return scope
            if name == "__class__":
                return names.get("__class__")
            if inspect.isfunction(fn) and name == fn.__name__ and "." not in fn.__qualname__.rpartition("<locals>.")[2]:
                return fn  # calls itself
            if (own := self._class_around(fn, name)) is not None:
                return own
            if name in self._around:
                return self._around[name]
            raise NameError(f"name '{name}' is not defined (undefined value {name})")

        return lookup

    def _class_around(self, fn, name):
        """The class whose method asks for it by name: while it is being decorated, nobody else knows it."""
        inside = fn.__qualname__.rpartition(".")[0]
        for cls in self._specs:
            if isinstance(cls, type) and cls.__name__ == name and cls.__qualname__ == inside:
                return cls if cls.__module__ == fn.__module__ else None
        return None

    # --- modules and classes

    def spec_of(self, module):
        """What is known of a module; equal ones share a class."""
        if isinstance(module, RecursiveScriptModule):
            return self._module_specs.setdefault(id(module), self.imports.spec(module))
        if id(module) not in self._module_specs:
            spec = ModuleSpec(self, module)
            key = spec.key()
            if key not in self._specs:
                spec.name = self.fresh_name(f"__wisp__.{type(module).__name__}")
                spec.type = T.class_of(spec.name, spec)
                self._specs[key] = spec
                self.classes.append(spec)
            self._module_specs[id(module)] = self._specs[key]
        return self._module_specs[id(module)]

    def class_spec(self, cls):
        """A class of the user's, or None if it is none that scripts can use."""
        if cls not in self._specs:
            if self.is_library(cls) or cls.__module__ == "builtins" or not _has_source(cls):
                return None
            spec = self._specs[cls] = ClassSpec(self, cls, self.fresh_name(f"__wisp__.{cls.__name__}"))
            self.classes.append(spec)
            if spec.is_generated("__init__"):
                spec.attributes.update((f.name, spec.declared(f.name)) for f in dataclasses.fields(cls))
            elif inspect.isfunction(cls.__init__):
                self.method_of(spec, cls.__init__)
        return self._specs[cls]

    def interface(self, cls):
        """What a class declares that is an interface."""
        return self._specs.setdefault(("interface", cls), Interface(self, cls))

    def class_type(self, cls):
        spec = self.class_spec(cls)
        return None if spec is None else spec.type

    def object_has(self, kind, name):
        return name in kind.host.attributes or hasattr(kind.host.python_class, name)

    def implements(self, found, wanted):
        return False

    def know_tuple(self, cls):
        """Results that are named tuples are of the program's own classes."""
        from wisp.jit._host import know_named_tuple

        know_named_tuple(cls)

    # --- Python's objects

    def is_library(self, obj):
        """Whether a function or class belongs to this package: such functions are compiled into their callers."""
        module = getattr(obj, "__module__", None) or ""
        return module.split(".")[0] == "wisp"

    def marker(self, fn):
        return marks.marker(fn)

    def unwrap(self, obj):
        """What is compiled for an object: of a compiled function, the function it was made from."""
        from wisp.jit._module import ScriptFunction

        return obj.__dict__.get("_scripted", obj) if isinstance(obj, ScriptFunction) else obj

    def compiled(self, obj):
        """A compiled function that has no source here (traced or loaded), or None."""
        from wisp.jit._module import ScriptFunction

        return self.imports.function(obj) if isinstance(obj, ScriptFunction) else None

    def device(self, text):
        return _C.device(text)

    def is_isinstance(self, obj):
        return obj is builtins.isinstance or obj is marks.isinstance

    def python_isinstance(self, obj, classes):
        return marks.isinstance(obj, classes)

    def special(self, obj):
        if obj is marks.annotate:
            return "annotate"
        if obj in (marks._uninitialized, marks._unchecked_cast):
            return obj.__name__[1:]
        return "fork" if _jit_name(obj) == "fork" else None

    def handler(self, obj):
        """The name of the emitter's method for functions with rules of their own."""
        return _handlers().get(id(obj)) or {"is_tracing": "handle_false", "wait": "handle_wait"}.get(_jit_name(obj))


@functools.cache
def _handlers():
    from wisp import autograd, functional, random
    from wisp.nn import _images

    table = {_C.tensor: "tensor", _C.as_tensor: "as_tensor", _C.is_grad_enabled: "grad_enabled",
             _C.get_default_dtype: "default_dtype", _C.promote_types: "promote_types", _C.can_cast: "can_cast", _C.result_type: "result_type", marks.is_scripting: "true", warnings.warn: "warn", _C._jit.current_recorder: "none",
             _C.device: "device", functional.einsum: "einsum", _images._known: "known",
             autograd.grad: "grad", autograd.backward: "backward", random.manual_seed: "manual_seed", _C.Generator: "generator"}  # fmt: skip
    return {id(obj): f"handle_{name}" for obj, name in table.items()}


def _jit_name(obj):
    """The name of a function of wisp.jit, or None."""
    ours = isinstance(obj, python_types.FunctionType) and (obj.__module__ or "").startswith("wisp.jit")
    return obj.__name__ if ours else None


def _plain_name(fn):
    name = fn.__name__
    return name if name.isidentifier() else "function"


def _shown(fn):
    return fn.__qualname__.rpartition("<locals>.")[2]


def _has_source(cls):
    try:
        inspect.getsource(cls)
    except (OSError, TypeError):
        return False
    return True


def _names_around():
    """The local names where the compiler was called: classes that are defined there may be named in annotations."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("wisp.jit"):
        frame = frame.f_back
    return frame.f_locals if frame is not None else {}
