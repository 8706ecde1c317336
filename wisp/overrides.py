"""Classes and modes that take calls over: ``__torch_function__``.

A class that has ``__torch_function__(func, types, args, kwargs)`` is asked whenever one of its objects is an argument
of an operator, a method of Tensor or one of Python's operators; so is a mode while its context is active, for every
call of the thread. ``func`` is what was called: ``wisp.add``, ``wisp.Tensor.add`` (of ``a + b`` too), and for attributes
of subclasses of Tensor their getter, as ``wisp.Tensor.shape.__get__``.
"""

import functools
import threading
import types as _types
import warnings
from contextlib import contextmanager

import wisp
from wisp import _C
from wisp._C import Tensor

__all__ = [
    "BaseTorchFunctionMode",
    "TorchFunctionMode",
    "enable_reentrant_dispatch",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "resolve_name",
    "wrap_torch_function",
]


# --- who is asked


def has_torch_function(relevant_args):
    """Whether an argument or a mode takes calls over."""
    return _C._has_torch_function(*relevant_args)


def has_torch_function_unary(arg):
    """`has_torch_function` of one argument."""
    return _C._has_torch_function(arg)


def has_torch_function_variadic(*args):
    """`has_torch_function` of arguments given one by one."""
    return _C._has_torch_function(*args)


def _is_asked(argument):
    function = getattr(type(argument), "__torch_function__", None)
    plain = type(argument) is Tensor or function is _C._disabled_torch_function_impl
    return function is not None and not plain and _C._is_torch_function_enabled()


def _get_overloaded_args(relevant_args):
    """One argument of each class that is to be asked, in order, but subclasses before what they derive from."""
    found = []
    for argument in relevant_args:
        if not _is_asked(argument) or any(type(argument) is type(other) for other in found):
            continue
        place = next((i for i, other in enumerate(found) if issubclass(type(argument), type(other))), len(found))
        found.insert(place, argument)
    return found


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """Has the mode or the classes of ``relevant_args`` compute ``public_api(*args, **kwargs)``; the first result that is
    not NotImplemented counts."""
    overloaded = _get_overloaded_args(relevant_args)
    classes = tuple(type(argument) for argument in overloaded)
    if _modes.stack:
        with _without_innermost_mode() as mode:
            result = mode.__torch_function__(public_api, classes, args, kwargs)
        if result is not NotImplemented:
            return result
    for argument in overloaded:
        function = argument.__torch_function__
        if getattr(function, "__self__", None) is argument:
            warnings.warn(
                "Defining your `__torch_function__` as a plain method is deprecated, please define it as a classmethod.",
                DeprecationWarning,
                stacklevel=2,
            )
        result = function(public_api, classes, args, kwargs)
        if result is not NotImplemented:
            return result
    raise TypeError(
        f"no implementation found for '{resolve_name(public_api)}' on types that implement __torch_function__: "
        f"{[f'{c.__module__}.{c.__qualname__}' for c in classes]}"
    )


def _dispatch(func, args, kwargs):
    """What the core calls when somebody takes a call over."""
    relevant = []
    for argument in (*args, *kwargs.values()):
        relevant.extend(argument if type(argument) in (list, tuple) else (argument,))
    return handle_torch_function(func, relevant, *args, **kwargs)


def _bind(method, tensor):
    """A method of Tensor that is written in C, of an object of a subclass."""

    def call(*args, **kwargs):
        return handle_torch_function(method, (tensor, *args), tensor, *args, **kwargs)

    return functools.update_wrapper(call, method)


# --- what subclasses of Tensor do unless they say otherwise


@functools.cache
def get_default_nowrap_functions():
    """Functions whose results are left as they are when called on an object of a subclass."""
    return {Tensor._base.__get__, Tensor.grad.__get__, Tensor._grad.__get__}


def _convert(value, cls):
    if isinstance(value, Tensor):
        return value if isinstance(value, cls) else value.as_subclass(cls)
    if isinstance(value, (tuple, list)) and type(value) is not wisp.Size:
        return type(value)(_convert(v, cls) for v in value)
    return value


def _by_default(cls, func, types, args, kwargs):
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with _C.DisableTorchFunctionSubclass():
        result = func(*args, **kwargs)
        return result if cls is Tensor or func in get_default_nowrap_functions() else _convert(result, cls)


# --- modes


class _Modes(threading.local):
    """Of each thread: its modes, the innermost last."""

    def __init__(self):
        self.stack = []


_modes = _Modes()


def _set_modes(stack):
    _modes.stack = stack
    _C._set_function_modes(len(stack))


@contextmanager
def _without_innermost_mode():
    stack = _modes.stack
    _set_modes(stack[:-1])
    try:
        yield stack[-1]
    finally:
        _set_modes(stack)


class TorchFunctionMode:
    """A context in which ``__torch_function__`` of the mode is asked about every call.

    Inside of that method the mode is off (those around it are on), so ``func(*args, **kwargs)`` computes as usual.
    """

    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError(
            f"{type(self).__name__} has to define __torch_function__(self, func, types, args, kwargs)"
        )

    def __enter__(self):
        _set_modes([*_modes.stack, self])
        return self

    def __exit__(self, *exc):
        _set_modes(_modes.stack[:-1])

    @classmethod
    def push(cls, *args, **kwargs):
        """The same as making one."""
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing; to derive from."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


@contextmanager
def enable_reentrant_dispatch():
    """For code written for it: calls inside ``__torch_function__`` are ordinary calls here."""
    yield


# --- functions of users


def wrap_torch_function(dispatcher):
    """A decorator: the function asks ``__torch_function__`` of what ``dispatcher(*args, **kwargs)`` gives."""

    def wrap(function):
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped

    return wrap


def is_tensor_like(inp):
    """Whether something is a tensor or takes calls over as one."""
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


# --- what can be overridden


def _spaces():
    import wisp.nn.functional

    return {
        "wisp": wisp,
        "wisp.nn.functional": wisp.nn.functional,
        "wisp.linalg": wisp.linalg,
        "wisp.fft": wisp.fft,
        "wisp.special": wisp.special,
    }


_OPERATOR = type(_C._functions["add"])
_METHODS = (type(Tensor.add), type(Tensor.__add__), type(Tensor.numel), _types.GetSetDescriptorType)
# Python's protocol of objects, which is not about tensors.
_OBJECT = {name for name in dir(object) if name not in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")}


def _methods():
    for name, member in vars(Tensor).items():
        if isinstance(member, _METHODS) and name not in _OBJECT and (name[0] != "_" or name[:2] == "__"):
            yield name, member.__get__ if isinstance(member, _types.GetSetDescriptorType) else member


@functools.cache
def _names():
    names = {}
    for space, module in _spaces().items():
        for name, function in vars(module).items():
            if isinstance(function, _OPERATOR):
                names.setdefault(function, f"{space}.{name}")
    for name, method in _methods():
        suffix = ".__get__" if isinstance(vars(Tensor)[name], _types.GetSetDescriptorType) else ""
        names.setdefault(method, f"wisp.Tensor.{name}{suffix}")
    return names


def get_overridable_functions():
    """What ``__torch_function__`` may be asked about, by the namespace it is in."""
    found = {
        module: [f for name, f in vars(module).items() if isinstance(f, _OPERATOR) and name[0] != "_"]
        for module in _spaces().values()
    }
    found[Tensor] = [method for _, method in _methods()]
    return found


def get_ignored_functions():
    """Public functions that do not ask: those without tensors among their arguments, and those written in Python, which
    ask by the operators they call."""
    asked = set(_names())
    return {
        function
        for module in _spaces().values()
        for name, function in vars(module).items()
        if callable(function) and name[0] != "_" and not isinstance(function, type) and function not in asked
    }


def resolve_name(f):
    """The name by which a user finds an overridable function; None of others."""
    try:
        return _names().get(f)
    except TypeError:  # not hashable
        return None


def is_tensor_method_or_property(func):
    """Whether a function that ``__torch_function__`` was given belongs to Tensor."""
    return (resolve_name(func) or "").startswith("wisp.Tensor.")
