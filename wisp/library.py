"""Operators of one's own, with names: defining them, and saying what they do on which device and how they are
differentiated. ``wisp.ops.<namespace>.<name>`` calls them."""

from wisp import _ops
from wisp._op_schema import Schema, infer_schema

__all__ = [
    "CustomOpDef", "Library", "custom_op", "define", "impl", "infer_schema", "register_autograd", "register_fake",
    "register_kernel", "register_vmap",
]  # fmt: skip

# Devices that do not exist here: kernels for them are kept and never called.
_ELSEWHERE = ("CUDA", "HPU", "IPU", "MPS", "MTIA", "PrivateUse1", "XLA", "XPU")
_KEYS = (
    "CPU", "Meta", "Autograd", "AutogradCPU", "CompositeImplicitAutograd", "CompositeExplicitAutograd", *_ELSEWHERE,
    *("Autograd" + name for name in _ELSEWHERE),
)  # fmt: skip
_waiting = {}  # what was registered for operators that are not defined yet, by name


def _define(namespace, text):
    schema = Schema(text)
    name = f"{namespace}::{schema.name}"
    packet = _ops.packets.setdefault(name, _ops.OpOverloadPacket(name))
    overload = _ops.OpOverload(namespace, schema)
    if overload._overloadname in packet._overloads:
        raise RuntimeError(f"the operator {overload.name()} is defined already")
    packet._overloads[overload._overloadname] = overload
    for act in _waiting.pop(overload.name(), ()):
        act(overload)
    return overload


def _full_name(op):
    if isinstance(op, CustomOpDef):
        return op._opoverload.name()
    if isinstance(op, _ops.OpOverload):
        return op.name()
    if isinstance(op, _ops.OpOverloadPacket):
        return op._qualified_op_name
    if not (isinstance(op, str) and op.count("::") == 1 and all(op.split("::"))):
        raise ValueError(f"expected the name of an operator, 'namespace::name', got {op!r}")
    return op


def _when_defined(op, act):
    """Does something with an operator now, or as soon as it is defined."""
    name = _full_name(op)
    qualified, _, overload = name.partition(".")
    packet = _ops.packets.get(qualified)
    found = packet._overloads.get(overload or "default") if packet else None
    if found is None:
        _waiting.setdefault(name, []).append(act)
    else:
        act(found)


def _set_kernel(op, key, function):
    if key not in _KEYS:
        raise NotImplementedError(f"{_full_name(op)}: kernels for the dispatch key {key!r} are not supported")
    _when_defined(op, lambda overload: overload._kernels.__setitem__(key, function))


def _decorated(function, act):
    """Acts on a function, or is the decorator that does; gives the function back."""

    def decorator(f):
        act(f)
        return f

    return decorator if function is None else decorator(function)


def _keys(types):
    """The dispatch keys of devices (or of all of them: "default")."""
    types = [types] if isinstance(types, str) else ["default"] if types is None else types
    return ["CompositeExplicitAutograd" if t == "default" else t if t in _KEYS else t.upper() for t in types]


def define(qualname, schema, *, lib=None, tags=()):
    """Defines an operator: ``define("mine::twice", "(Tensor x) -> Tensor")``; what it does is said by impl()."""
    namespace, name = _full_name(qualname).split("::")
    _define(namespace, name + schema)


def impl(qualname, types, func=None, *, lib=None):
    """Says what an operator does on devices of some types ("cpu", "cuda", ..., or "default": all)."""
    return _decorated(func, lambda f: [_set_kernel(qualname, key, f) for key in _keys(types)])


def register_kernel(op, device_types, func=None, /, *, lib=None):
    """Says what an operator does on devices of some types (None: all)."""
    return impl(op, device_types, func)


def register_fake(op, func=None, /, *, lib=None, _stacklevel=1, allow_override=False):
    """Says what shapes and dtypes an operator gives for tensors on the device "meta", which have no values.

    It may be said before the operator is defined.
    """
    return _decorated(func, lambda f: _set_kernel(op, "Meta", f))


def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    """Says how an operator is differentiated.

    Args:
        op: the operator or its name. It must not write its arguments.
        backward: called with ctx and the gradient of each output, gives that of each argument (None where there is none).
        setup_context: called by keyword with ctx, inputs and output after each call that is recorded, to save what backward
            needs. If the operator has arguments by keyword only, these come as ``keyword_only_inputs``.
    """

    def act(overload):
        if overload._schema.is_mutable:
            raise RuntimeError(
                f"{overload.name()}: only operators that write none of their arguments can be differentiated"
            )
        overload._backward, overload._setup_context = backward, setup_context

    _when_defined(op, act)


def register_vmap(op, func=None, /, *, lib=None):
    """Says what an operator does inside vmap(): ``func(info, in_dims, *args)`` gives the results and their batch dimensions."""
    return _decorated(func, lambda f: _when_defined(op, lambda overload: setattr(overload, "_vmap", f)))


class CustomOpDef:
    """An operator made by custom_op()."""

    def __init__(self, namespace, name, schema, function):
        self._namespace, self._name, self._init_fn = namespace, name, function
        self._opoverload = _define(namespace, name + schema)
        self.__name__, self.__doc__ = name, function.__doc__

    def __call__(self, /, *args, **kwargs):
        return self._opoverload(*args, **kwargs)

    def __repr__(self):
        return f"<CustomOpDef({self._namespace}::{self._name})>"

    def register_kernel(self, device_types, fn=None, /):
        """See wisp.library.register_kernel()."""
        return register_kernel(self, device_types, fn)

    def register_fake(self, fn, /):
        """See wisp.library.register_fake()."""
        return register_fake(self, fn)

    def register_autograd(self, backward, /, *, setup_context=None):
        """See wisp.library.register_autograd()."""
        register_autograd(self, backward, setup_context=setup_context)

    def register_vmap(self, func=None):
        """See wisp.library.register_vmap()."""
        return register_vmap(self, func)


def custom_op(name, fn=None, /, *, mutates_args, device_types=None, schema=None, tags=None):
    """A function as an operator: its name in messages and in ``wisp.ops``, its derivative as it is registered.

    Args:
        name: ``"namespace::name"``.
        fn: the function; None gives a decorator.
        mutates_args: the names of the arguments that it writes, or "unknown".
        device_types: the devices that it is for (all).
        schema: its arguments and results; those that its annotations say by default.

    >>> @wisp.library.custom_op("docs::shifted", mutates_args=())
    ... def shifted(x: wisp.Tensor, by: float = 1.0) -> wisp.Tensor:
    ...     return wisp.from_numpy(x.numpy() + by)
    >>> shifted.register_autograd(lambda ctx, grad: (grad, None))
    >>> x = wisp.tensor([1.0], requires_grad=True)
    >>> wisp.ops.docs.shifted(x, by=2.0).backward()
    >>> x.grad
    tensor([1.])
    """

    def decorator(function):
        namespace, op_name = _full_name(name).split("::")
        text = infer_schema(function, mutates_args=mutates_args) if schema is None else schema
        made = CustomOpDef(namespace, op_name, text, function)
        register_kernel(made, device_types, function)
        return made

    return decorator if fn is None else decorator(fn)


class Library:
    """The operators of a namespace: ``Library("mine", "DEF")`` defines them, ``Library("mine", "IMPL")`` implements them.

    Args:
        ns: the namespace.
        kind: "DEF", "FRAGMENT" or "IMPL".
        dispatch_key: what impl() is for if it is not told.
    """

    def __init__(self, ns, kind, dispatch_key=""):
        if kind not in ("DEF", "FRAGMENT", "IMPL"):
            raise ValueError(f"Library(): unsupported kind {kind!r}; expected DEF, FRAGMENT or IMPL")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def define(self, schema, alias_analysis="", *, tags=()):
        """Defines an operator: ``define("twice(Tensor x) -> Tensor")``; gives its name."""
        if self.kind == "IMPL":
            raise RuntimeError(
                "Library.define(): a library of the kind IMPL implements operators, it does not define them"
            )
        return _define(self.ns, schema)._schema.name

    def impl(self, op_name, fn, dispatch_key="", *, with_keyset=False, allow_override=False):
        """Says what an operator does for a dispatch key ("CPU", "Meta", "Autograd", "CompositeImplicitAutograd", ...)."""
        key = dispatch_key or self.dispatch_key or "CompositeImplicitAutograd"
        name = op_name if not isinstance(op_name, str) or "::" in op_name else f"{self.ns}::{op_name}"
        _set_kernel(name, key, fn)

    def __repr__(self):
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})"
