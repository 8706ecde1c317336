"""User-defined functions with a derivative of their own."""

from functools import wraps

from wisp import _C
from wisp._C import FunctionCtx, Tensor
from wisp.autograd import _samples

__all__ = ["Function", "FunctionCtx", "InplaceFunction", "once_differentiable"]


# What apply() does instead while a trace is recorded (see wisp/jit/_custom_calls.py).
_traced_apply = None


def _default_setup_context(ctx, inputs, output):
    raise NotImplementedError("setup_context is not implemented.")


def _backward_of(cls):
    """The derivative of a Function: backward, or vjp if that is what it defines."""
    defined = [method for method in (cls.backward, cls.vjp) if method is not Function.backward]
    if len(defined) > 1:
        raise RuntimeError("Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only "
                           "implement one of them.")  # fmt: skip
    return defined[0] if defined else Function.backward


def _with_defaults(forward, args):
    """The arguments of a forward(), with those that were left out: setup_context() is told all of them."""
    if not getattr(forward, "__defaults__", None):
        return args
    from inspect import signature

    bound = signature(forward).bind(*args)
    bound.apply_defaults()
    return bound.args


class Function(FunctionCtx):
    """An operation with a derivative of its own.

    Subclasses define two static methods and are called by ``apply``:

    * ``forward(ctx, *args)`` computes the result. What backward needs is kept with ``ctx.save_for_backward(...)``
      (tensors) or as attributes of ``ctx`` (anything else). Alternatively ``forward(*args)`` takes no context and
      ``setup_context(ctx, inputs, output)`` does the keeping.
    * ``backward(ctx, *grads)`` takes one gradient per output and returns one per argument of forward: None for
      arguments that are not tensors or need none. ``ctx.needs_input_grad`` says which are wanted.

    >>> class Double(wisp.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         return grad * 2
    >>> Double.apply(wisp.ones(2, requires_grad=True))
    tensor([2., 2.], grad_fn=<DoubleBackward>)
    """

    setup_context = staticmethod(_default_setup_context)

    def __init__(self, *args, **kwargs):
        name = type(self).__name__
        raise RuntimeError(f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should "
                           f"invoke them on the class itself: {name}.apply(...).")  # fmt: skip

    @staticmethod
    def forward(*args, **kwargs):
        """Computes the result; to be defined by subclasses."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def backward(ctx, *grad_outputs):
        """Computes the gradients of the arguments; to be defined by subclasses."""
        raise NotImplementedError("You must implement either the backward or vjp method for your custom autograd.Function to "
                                  "use it with backward mode AD.")  # fmt: skip

    vjp = backward

    @staticmethod
    def jvp(ctx, *grad_inputs):
        """Computes the tangents of the outputs from those of the arguments; needed for forward mode only.

        Arguments that are not tensors have None. So have tensors without a tangent, after set_materialize_grads(False);
        else zeros.
        """
        raise NotImplementedError("You must implement the jvp function for custom autograd.Function to use it with forward "
                                  "mode AD.")  # fmt: skip

    generate_vmap_rule = False  # accepted: inside vmap() there is a rule for every Function that has none of its own

    @staticmethod
    def vmap(info, in_dims, *args):
        """Computes the results of all samples of a batch; for a forward() that cannot be called on samples.

        Args:
            info: has ``batch_size`` and ``randomness``.
            in_dims: along which dimension the samples lie, for each argument; None for those they share.
            args: those of forward(), with batches of samples.

        Returns the results and their dimensions of samples.
        """
        raise NotImplementedError("the vmap staticmethod is not implemented")

    @classmethod
    def apply(cls, *args):
        """Calls forward(), recording the call for backward."""
        return cls._apply(*args) if _traced_apply is None else _traced_apply(cls, *args)

    @classmethod
    def _apply(cls, *args):
        if cls.setup_context is not _default_setup_context:
            args = _with_defaults(cls.forward, args)
        return _samples.apply(cls, args) if _samples.running else _C._function_apply(cls, *args)


class _TwiceDifferentiated(Function):
    """Passes a gradient on; fails if it is differentiated."""

    @staticmethod
    def forward(ctx, grad):
        return grad.detach()

    @staticmethod
    def backward(ctx, grad):
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


class InplaceFunction(Function):
    """A Function that may write into its inputs: it is kept for programs that derive from it, and adds nothing."""

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace


def once_differentiable(fn):
    """Decorates a backward() whose result cannot be differentiated again: an attempt fails instead of being wrong."""

    @wraps(fn)
    def backward(ctx, *grads):
        with _C.no_grad():
            outputs = fn(ctx, *grads)
        if not (_C.is_grad_enabled() and any(isinstance(g, Tensor) and g.requires_grad for g in grads)):
            return outputs

        def guard(output):
            if not isinstance(output, Tensor):
                return output
            return _TwiceDifferentiated.apply(output.detach().requires_grad_())

        return tuple(map(guard, outputs)) if isinstance(outputs, (tuple, list)) else guard(outputs)

    return backward
