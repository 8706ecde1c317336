"""User-defined functions with a derivative of their own."""

from wisp import _C
from wisp._C import FunctionCtx


def _default_setup_context(ctx, inputs, output):
    raise NotImplementedError("setup_context is not defined")


def _backward_of(cls):
    """The derivative of a Function: backward, or vjp if that is what it defines."""
    for name in ("backward", "vjp"):
        method = getattr(cls, name)
        if method is not getattr(Function, name):
            return method
    raise RuntimeError(f"Implementing either the 'backward' or 'vjp' method for your custom autograd.Function is required "
                       f"to use it with backward mode AD: {cls.__name__} has neither.")


class Function:
    """A differentiable operation: subclass it, define static ``forward`` and ``backward``, call ``apply``."""

    setup_context = staticmethod(_default_setup_context)

    def __init__(self, *args, **kwargs):
        raise RuntimeError(f"{type(self)} should not be instantiated. Methods on autograd functions are all static: "
                           f"call {type(self).__name__}.apply(...) instead.")

    @staticmethod
    def forward(*args, **kwargs):
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def backward(ctx, *grad_outputs):
        raise NotImplementedError("You must implement either the backward or vjp method for your custom autograd.Function "
                                  "to use it with backward mode AD.")

    @staticmethod
    def vjp(ctx, *grad_outputs):
        raise NotImplementedError("You must implement either the backward or vjp method for your custom autograd.Function "
                                  "to use it with backward mode AD.")

    @classmethod
    def apply(cls, *args):
        return _C._function_apply(cls, *args)
