"""Interfaces: classes that only declare methods. Which object answers a call is found out when it is made."""

import inspect
from functools import cached_property

from wisp.jit._script import types as T
from wisp.jit._script.errors import CompileError
from wisp.jit._script.imported import ImportedFunction, ImportedSpec
from wisp.jit._script.values import Attribute


class Declared:
    """A method of an interface."""

    def __init__(self, shown, params, result):
        self.shown, self.params, self.result = shown, params, result


class Interface:
    """What a class declares; the host of the type of values that have it."""

    def __init__(self, program, cls):
        self.program, self.cls = program, cls

    @cached_property
    def methods(self):
        """Name -> declared method."""
        found = {}
        for cls in reversed([c for c in self.cls.__mro__ if vars(c).get("_wisp_interface")]):
            functions = {name: fn for name, fn in vars(cls).items() if inspect.isfunction(fn)}
            found |= {name: self._declared(fn) for name, fn in functions.items()}
        return found

    def _declared(self, fn):
        params, result = self.program.signature_of(self, fn)
        return Declared(f"{self.cls.__name__}.{fn.__name__}", params, result or T.TENSOR)

    def type(self):
        return T.Type("Any", host=self)


def interface_of(kind):
    """The interface that a type is, or None."""
    return kind.host if kind is not None and isinstance(kind.host, Interface) else None


def _same_use(declared, compiled):
    """Whether a method can be called as it is declared."""
    wanted, found = declared.params, compiled.params
    return (
        len(found) >= len(wanted)
        and all(p.has_default for p in found[len(wanted) :])
        and all(T.is_subtype(w.type, f.type) for w, f in zip(wanted, found))
        and (compiled.result is None or T.is_subtype(compiled.result, declared.result))
    )


class Interfaces:
    """Calls through interfaces, and values that are given as one."""

    def interface_attribute(self, owner, name, node):
        interface = interface_of(owner.type)
        if name not in interface.methods:
            self.fail(
                f"'{interface.cls.__name__}' object has no attribute or method '{name}': the interface does not declare it",
                node,
            )
        return Attribute(owner, name)

    def call_interface(self, owner, name, arguments, keywords, node):
        interface = interface_of(owner.type)
        if name not in interface.methods:
            self.fail(
                f"'{interface.cls.__name__}' object has no attribute or method '{name}': the interface does not declare it",
                node,
            )
        declared = interface.methods[name]
        values = self.bind(declared, arguments, keywords, node)
        return self.emit_one("prim::CallMethod", [owner, *values], declared.result, {"name": name})

    def as_interface(self, value, wanted):
        """A value as one of the interface; None if it cannot be one."""
        found, interface = self.type_of(value), interface_of(wanted)
        if found == T.NONE:
            return self.materialize(value)
        other = interface_of(found)
        if other is not None:
            return value if interface.methods.keys() <= other.methods.keys() else None
        if found is None or found.kind != "class":
            return None
        self.check_implements(found.host, interface)
        return self.materialize(value)

    def check_implements(self, spec, interface):
        """Compiles the methods of a class that an interface declares."""
        for name, declared in interface.methods.items():
            compiled = self._implementation(spec, name)
            what = f"'{spec.python_class.__name__}' cannot be used as a '{interface.cls.__name__}'"
            if compiled is None:
                self.fail(f"{what}: it does not have method '{name}'")
            if not _same_use(declared, compiled):
                self.fail(f"{what}: its method '{name}' takes or returns other types than declared")

    def _implementation(self, spec, name):
        if isinstance(spec, ImportedSpec):
            return ImportedFunction(name, spec.bare.method(name), {}) if name in spec.bare.methods() else None
        fn = inspect.getattr_static(spec.python_class, name, None)
        if not inspect.isfunction(fn):
            return None
        try:
            return self.program.method_of(spec, fn)
        except CompileError as error:
            raise error.inside(self.describe_here()) from None
