"""Compiled functions and modules as Python objects."""

import inspect
from collections.abc import MutableMapping
from copy import deepcopy
from types import MethodType

from wisp.jit._marks import Attribute, stays_python
from wisp.jit._views import code_of, inlined
from wisp.nn import Module, Parameter

MEMBERS = {"parameter": "_parameters", "buffer": "_buffers", "temporary_buffer": "_buffers"}


class ScriptFunction:
    """A compiled function: called as the Python function it was made from."""

    def __init__(self, function, original=None):
        self._c = function
        self.name = self.__name__ = getattr(original, "__name__", function.name)
        self.__qualname__ = getattr(original, "__qualname__", function.name)
        self.__module__ = getattr(original, "__module__", __name__)
        self.qualified_name = f"__wisp__.{function.name}"
        self.__doc__ = getattr(original, "__doc__", None)
        if original is not None:
            self.__wrapped__ = original

    def __call__(self, *args, **kwargs):
        return self._c(*args, **kwargs)

    @property
    def graph(self):
        """What it computes, as a graph."""
        return self._c.graph

    @property
    def inlined_graph(self):
        """The graph, with the functions that it calls in the place of the calls."""
        return inlined(self._c.graph)

    @property
    def code(self):
        """The graph as Python."""
        return code_of(self._c)

    @property
    def schema(self):
        return self._c.schema

    def graph_for(self, *args, **kwargs):
        """The graph that runs for these arguments, after a call with them: one graph serves all."""
        self(*args, **kwargs)
        return self.inlined_graph

    def save(self, f, _extra_files=None):
        """Saves the function for ``wisp.jit.load()``."""
        from wisp.jit._files import save

        save(self, f, _extra_files)

    def save_to_buffer(self, _extra_files=None):
        """What save() writes, as bytes."""
        from wisp.jit._files import to_bytes

        return to_bytes(self, _extra_files)

    def __repr__(self):
        return f"<wisp.jit.ScriptFunction {self.name}>"

    def __reduce__(self):
        raise TypeError(f"{self!r} cannot be pickled: use wisp.jit.save()")


class BroadcastingFunction(ScriptFunction):
    """One with parameters of which a single number may stand for a list of so many."""

    def __init__(self, function, original, sizes):
        super().__init__(function, original)
        self._sizes = sizes

    def __call__(self, *args, **kwargs):
        given = inspect.signature(self.__wrapped__).bind(*args, **kwargs).arguments
        for name, size in self._sizes.items():
            if isinstance(given.get(name), (int, float)):
                given[name] = [given[name]] * size
        return self._c(**given)


class ScriptObject:
    """An object of a class that a script defines, seen from Python."""

    def __init__(self, bare):
        object.__setattr__(self, "_c", bare)

    def __getattr__(self, name):
        bare = object.__getattribute__(self, "_c")
        return bare.method(name) if name in bare.methods() else bare.get(name)

    def __setattr__(self, name, value):
        self._c.set(name, value)

    def __eq__(self, other):
        return isinstance(other, ScriptObject) and self._c == other._c

    def __hash__(self):
        return hash(self._c)

    def __repr__(self):
        return f"<{self._c.class_name} object>"


class _Slots(MutableMapping):
    """Attributes of one kind of an object of a script, by name."""

    def __init__(self, bare, names):
        self._bare, self._names = bare, list(names)

    def __iter__(self):
        return iter(self._names)

    def __len__(self):
        return len(self._names)

    def __contains__(self, name):
        return name in self._names

    def __getitem__(self, name):
        if name not in self._names:
            raise KeyError(name)
        return self._bare.get(name)

    def __setitem__(self, name, value):
        if name not in self._names:
            raise RuntimeError(f"a compiled module cannot get another member: '{name}'")
        self._bare.set(name, value)

    def __delitem__(self, name):
        raise RuntimeError(f"a compiled module cannot lose a member: '{name}'")


class _Children(_Slots):
    """Modules in an object of a script, each always as the same Python object."""

    def __init__(self, bare, names, known, wrap):
        super().__init__(bare, names)
        self._made, self._wrap = dict(known), wrap

    def __getitem__(self, name):
        if name not in self._names:
            raise KeyError(name)
        part, made = self._bare.part(name), self._made.get(name)
        if part is None:
            return None
        if made is None or made._c != part:
            made = self._made[name] = self._wrap(part)
        return made

    def __setitem__(self, name, value):
        if isinstance(value, Module) and not isinstance(value, ScriptModule):
            raise RuntimeError(
                f"the submodule '{name}' of a compiled module can only be exchanged for a compiled module: "
                f"script() the {type(value).__name__} first"
            )
        super().__setitem__(name, value)
        self._made[name] = value


class _CompilesInstances(type):
    """The class of ScriptModule: instances of subclasses are compiled when their ``__init__`` is done."""

    def __call__(cls, *args, **kwargs):
        made = super().__call__(*args, **kwargs)
        if "_c" not in made.__dict__ and not stays_python:
            _compile(made)
        return made


class ScriptModule(Module, metaclass=_CompilesInstances):
    """The base of modules that are compiled when they are made, and of all compiled modules.

    Methods marked with ``script_method`` are compiled; the rest of the class is Python. A compiled module is a Module
    like others: its parameters can be trained, saved and converted. What it computes is fixed.

    >>> class Scale(wisp.jit.ScriptModule):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = wisp.nn.Parameter(wisp.tensor(3.0))
    ...
    ...     @wisp.jit.script_method
    ...     def forward(self, x):
    ...         return self.factor * x
    >>> Scale()(wisp.ones(2))
    tensor([3., 3.], grad_fn=<MulBackward0>)
    """

    def __getattr__(self, name):
        own = self.__dict__
        if "_c" not in own:
            return super().__getattr__(name)
        if name in own["_modules"]:
            return own["_modules"][name]
        if name in own["_attributes"]:
            return own["_c"].get(name)
        if isinstance(kept := own.get("_python", {}).get(name), property):
            return kept.fget(self)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self)

    def __setattr__(self, name, value):
        own = self.__dict__
        if "_c" not in own:
            if isinstance(value, Attribute):  # which __init__ may read as what it holds
                own.setdefault("_declared_types", {})[name] = value.type
                value = value.value
            super().__setattr__(name, value)
        elif name in own["_modules"]:
            own["_modules"][name] = value
        elif name in own["_attributes"]:
            if own["_attributes"][name][0] == "constant":
                raise AttributeError(
                    f"Cannot mutate the constant '{name}' of a compiled module: "
                    f"its value {own['_c'].get(name)!r} is part of the compiled code"
                )
            own["_c"].set(name, value)
        elif isinstance(kept := own.get("_python", {}).get(name), property):
            if kept.fset is None:
                raise AttributeError(f"the property '{name}' of a {self.original_name} has no setter")
            kept.fset(self, value)
        elif isinstance(value, (Parameter, Module)):
            raise RuntimeError(f"a compiled module cannot get another member: '{name}'")
        else:
            object.__setattr__(self, name, value)

    def define(self, src):
        """Adds the methods that a text defines. A module that has been compiled is compiled again with them."""
        from wisp.jit._script.units import functions_in

        if isinstance(self, RecursiveScriptModule):
            raise RuntimeError(
                "what script(), trace() or load() made cannot get another method: define() is for subclasses"
            )
        self.__dict__.setdefault("_defined", []).extend(functions_in(src))
        if "_c" in self.__dict__:
            _compile(self)

    @property
    def graph(self):
        """What forward() computes, as a graph."""
        return self._c.method("forward").graph

    @property
    def inlined_graph(self):
        """The graph, with the methods that it calls in the place of the calls."""
        return inlined(self.graph)

    @property
    def code(self):
        """The graph as Python."""
        return code_of(self._c.method("forward"))

    def graph_for(self, *args, **kwargs):
        """The graph that runs for these arguments, after a call with them: one graph serves all."""
        self(*args, **kwargs)
        return self.inlined_graph

    @property
    def original_name(self):
        """The name of the class that was compiled."""
        return self.__dict__.get("_original_name", type(self).__name__)

    def save(self, f, _extra_files=None):
        """Saves the module for ``wisp.jit.load()``."""
        from wisp.jit._files import save

        save(self, f, _extra_files)

    def save_to_buffer(self, _extra_files=None):
        """What save() writes, as bytes."""
        from wisp.jit._files import to_bytes

        return to_bytes(self, _extra_files)

    def __dir__(self):
        return sorted({*super().__dir__(), *self._attributes, *self._c.methods()})

    # What copies and submodules are.
    _wrap_copy = staticmethod(lambda bare, name: wrap_module(bare, name))
    _wrap_child = staticmethod(lambda bare: wrap_module(bare))

    def __copy__(self):
        made = self._wrap_copy(self._c, self.original_name)
        _keep_python_of(self, made)
        return made

    def __deepcopy__(self, memo):
        made = memo[id(self)] = self._wrap_copy(copy_object(self._c, memo), self.original_name)
        _keep_python_of(self, made)
        return made

    def __getstate__(self):
        raise TypeError("a compiled module cannot be pickled: use wisp.jit.save()")


class RecursiveScriptModule(ScriptModule):
    """A module that script(), trace() or load() made."""

    def __init__(self, bare, name=None):
        super().__init__()
        self.__dict__["_original_name"] = name or bare.class_name.rpartition(".")[2]
        attach(self, bare)

    def forward(self, *args, **kwargs):
        raise NotImplementedError(f"the compiled module '{self.original_name}' has no forward(): it had none, or one that cannot be "
                                  "compiled and that no compiled method calls")  # fmt: skip

    def __len__(self):
        own = "__len__" in self._c.methods()
        return self._c.method("__len__")() if own else len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __contains__(self, key):
        own = "__contains__" in self._c.methods()
        return self._c.method("__contains__")(key) if own else key in self._modules

    def __getitem__(self, index):
        if isinstance(index, str):
            return self._modules[index]
        return list(self._modules.values())[index]

    def __bool__(self):
        return True

    def extra_repr(self):
        return f"original_name={self.original_name}"


class TracedModule(RecursiveScriptModule):
    """A part of a module that trace() made."""

    _wrap_copy = staticmethod(lambda bare, name: TopLevelTracedModule(bare, name))
    _wrap_child = staticmethod(lambda bare: TracedModule(bare))

    def _get_name(self):
        return self.original_name


class TopLevelTracedModule(TracedModule):
    """A module that trace() made."""


def _compile(module):
    """Compiles the marked methods of an instance, which becomes the compiled module."""
    from wisp.jit._marks import marker
    from wisp.jit._script import compile_module

    cls = type(module)
    methods = [
        getattr(cls, name) for name in dir(cls) if marker(getattr(cls, name, None)) in ("script_method", "export")
    ]
    program, spec = compile_module(module, methods + module.__dict__.get("_defined", []))
    bare = spec.instantiate(program.native(), {}, module)
    for name in (*module._modules, *(name for name, _, _ in bare.attributes())):
        module.__dict__.pop(name, None)
    attach(module, bare)


def attach(module, bare, children=()):
    """Makes a Python module show the members of an object of a script."""
    attributes = {name: (role, kind) for name, role, kind in bare.attributes()}
    own = module.__dict__
    own["_c"], own["_attributes"] = bare, attributes
    own.pop("training", None)
    if "training" not in attributes:
        own["training"] = True
    parts = [name for name, (role, _) in attributes.items() if role == "plain" and _is_module(bare, name)]
    names = {"_parameters": [], "_buffers": []}
    for name, (role, _) in attributes.items():
        if role in MEMBERS:
            names[MEMBERS[role]].append(name)
    for kind, found in names.items():
        own[kind] = _Slots(bare, found)
    own["_modules"] = _Children(bare, parts, children, module._wrap_child)
    temporary = {name for name, (role, _) in attributes.items() if role == "temporary_buffer"}
    own["_non_persistent_buffers_set"] = temporary
    for name in bare.methods():  # of which the class may have others of the same name
        own[name] = bare.method(name)
    if "__call__" in own:  # forward() with the hooks that the module was compiled with
        own["_hooked"] = True


def keep_python(module, members):
    """Methods and properties that stay Python, of a compiled module: {name: function or property}."""
    module.__dict__["_python"] = members
    for name, member in members.items():
        if not isinstance(member, property):
            object.__setattr__(module, name, MethodType(member, module))


def _keep_python_of(module, copy):
    """The same for a copy, and for all below it."""
    if "_python" in module.__dict__:
        keep_python(copy, module.__dict__["_python"])
    for name, child in module._modules.items():
        if child is not None:
            _keep_python_of(child, copy._modules[name])


def _is_module(bare, name):
    part = bare.part(name)
    return part is not None and part.is_module


def wrap_module(bare, name=None):
    """The Python module of an object of a script."""
    return RecursiveScriptModule(bare, name)


def copy_object(bare, memo):
    """A copy of an object of a script, with all that belongs to it."""
    if bare in memo:
        return memo[bare]
    made = memo[bare] = bare.program.create(bare.class_name)
    for name, _, _ in bare.attributes():
        part = bare.part(name)
        made.set(name, deepcopy(bare.get(name), memo) if part is None else copy_object(part, memo))
    return made
