"""Trading time for memory: parts of a model that keep their inputs only and are computed again in backward."""

import warnings
from contextlib import contextmanager, nullcontext

import wisp
from wisp import Tensor
from wisp._C import _jit
from wisp.autograd import Function, backward, grad
from wisp.random import fork_rng, get_rng_state, set_rng_state
from wisp.utils import _pytree

__all__ = [
    "CheckpointError", "CheckpointFunction", "check_backward_validity", "checkpoint", "checkpoint_sequential",
    "detach_variable", "get_device_states", "noop_context_fn", "set_checkpoint_debug_enabled", "set_checkpoint_early_stop",
    "set_device_states",
]  # fmt: skip


class CheckpointError(RuntimeError):
    """What was computed again is not what was computed first."""


def noop_context_fn():
    """Two contexts that do nothing: for the first computation, and for the second."""
    return nullcontext(), nullcontext()


def checkpoint(
    function, *args, use_reentrant=None, context_fn=noop_context_fn, determinism_check="default", debug=False,
    early_stop=True, **kwargs,
):  # fmt: skip
    """Calls a function, keeping nothing of it for backward but its arguments; backward calls it again.

    The random numbers of the second call are those of the first. Gradients reach the arguments and whatever else the
    function uses, its module's parameters for one.

    Args:
        function: a module, or any function of tensors that computes the same when it is called again.
        args: its arguments.
        use_reentrant: whether keyword arguments and `context_fn` are refused, as older programs expect; both ways compute
            the same here.
        context_fn: a function that returns two contexts: for the first call, and for the second.
        determinism_check: "default" compares the shapes and dtypes of both calls' results, "none" does not.
        debug: accepted.
        early_stop: accepted.
        kwargs: keyword arguments of the function, and ``preserve_rng_state=False``, which lets random numbers differ.

    >>> layer = wisp.nn.Linear(2, 2)
    >>> x = wisp.ones(1, 2, requires_grad=True)
    >>> checkpoint(layer, x, use_reentrant=False).sum().backward()
    >>> wisp.equal(x.grad[0], layer.weight.sum(0)), layer.bias.grad
    (True, tensor([1., 1.]))
    """
    if use_reentrant is None:
        warnings.warn(
            "checkpoint: the use_reentrant parameter should be passed explicitly. use_reentrant=False is recommended.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve_rng_state = kwargs.pop("preserve_rng_state", True)
    if use_reentrant and kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if use_reentrant and (context_fn is not noop_context_fn or debug):
        raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of ['default', 'none'], but got {determinism_check}")
    if (
        not wisp.is_grad_enabled() or _jit.current_recorder() is not None
    ):  # a trace keeps what is called, not how it is kept
        return function(*args, **kwargs)
    return _Segment(function, args, kwargs, preserve_rng_state, context_fn, determinism_check == "default").first_call()


@contextmanager
def _autocast(*state):
    before = wisp._C._autocast()
    wisp._C._set_autocast(*state)
    try:
        yield
    finally:
        wisp._C._set_autocast(*before)
        if not before[0]:
            wisp._C._forget_casts()


class _Segment:
    """A call that can be repeated: the function, the structure of its arguments, and the state of the random numbers.

    Tensors among the arguments are not held here but saved in the graph, which notices if they are overwritten.
    """

    def __init__(self, function, args, kwargs, preserve_rng_state, context_fn, checks):
        self.function, self.checks = function, checks
        self.leaves, self.spec = _pytree.tree_flatten((args, kwargs))
        self.places = [i for i, leaf in enumerate(self.leaves) if isinstance(leaf, Tensor)]
        self.rng_state = get_rng_state() if preserve_rng_state else None
        self.autocast = wisp._C._autocast()
        self.contexts = context_fn()

    def first_call(self):
        """The results, as those of one step of the graph."""
        tensors = [self.leaves[i] for i in self.places]
        for i in self.places:
            self.leaves[i] = None
        inputs = [_boundary(x) for x in tensors]
        with self.contexts[0]:
            result = self.call(inputs)
        flat, spec = _pytree.tree_flatten(result)
        self.tracked = [i for i, x in enumerate(flat) if isinstance(x, Tensor) and x.requires_grad]
        if not self.tracked:
            return result
        outputs = [flat[i] for i in self.tracked]
        self.shapes = [(x.shape, x.dtype) for x in outputs]
        # A hook would be called for the second computation and by the tensor itself: those get their gradient at once.
        captured = _captured_leaves(outputs, inputs)
        self.hooked = [x for x in captured if getattr(x, "_backward_hooks", None)]
        captured = [x for x in captured if not any(x is other for other in self.hooked)]
        outputs = [x.detach() for x in outputs]
        for i, x in zip(self.tracked, CheckpointFunction.apply(self, outputs, *tensors, *captured)):
            flat[i] = x
        return _pytree.tree_unflatten(flat, spec)

    def call(self, inputs):
        leaves = list(self.leaves)
        for i, x in zip(self.places, inputs):
            leaves[i] = x
        args, kwargs = _pytree.tree_unflatten(leaves, self.spec)
        return self.function(*args, **kwargs)

    def call_again(self, inputs):
        """The results that have gradients, computed anew from the same random numbers and with the same autocast."""
        with fork_rng(enabled=self.rng_state is not None), _autocast(*self.autocast), self.contexts[1]:
            if self.rng_state is not None:
                set_rng_state(self.rng_state)
            flat = _pytree.tree_leaves(self.call(inputs))
        outputs = [flat[i] for i in self.tracked if i < len(flat)]
        if self.checks:
            self.compare(outputs)
        return outputs

    def compare(self, outputs):
        found = [(x.shape, x.dtype) if isinstance(x, Tensor) else None for x in outputs]
        if found != self.shapes:
            raise CheckpointError(
                "checkpoint: Recomputed values for the following tensors have different metadata than during the forward "
                f"pass. saved metadata: {self.shapes}, recomputed metadata: {found}"
            )

    def gradients(self, tensors, grads):
        """The gradients of the tensors that went in, and of those the function used besides."""
        create_graph = wisp.is_grad_enabled()
        inputs, captured = tensors[: len(self.places)], tensors[len(self.places) :]
        with wisp.enable_grad():
            inputs = [_boundary(x, connected=create_graph) for x in inputs]
            outputs = self.call_again(inputs)
        given = [(y, g) for y, g in zip(outputs, grads) if g is not None and y.requires_grad]
        wanted = [x for x in (*inputs, *captured) if x.requires_grad]
        if not given or not (wanted or self.hooked):
            return [None] * len(tensors)
        outputs, grads = zip(*given)
        # Kept: what the function used besides may have a history that others walk too. The rest dies with `outputs`.
        kept = {"retain_graph": True, "create_graph": create_graph}
        if self.hooked:
            backward(outputs, grads, inputs=self.hooked, **kept)
        found = iter(grad(outputs, wanted, grads, allow_unused=True, **kept) if wanted else ())
        return [next(found) if x.requires_grad else None for x in (*inputs, *captured)]


class CheckpointFunction(Function):
    """The step of the graph that a checkpointed call is."""

    @staticmethod
    def forward(ctx, segment, outputs, *tensors):
        ctx.segment = segment
        ctx.save_for_backward(*tensors)
        return tuple(outputs)

    @staticmethod
    def backward(ctx, *grads):
        return None, None, *ctx.segment.gradients(ctx.saved_tensors, grads)


def _boundary(x, connected=False):
    """The tensor as the beginning of a graph; or as a step of the graph it is part of."""
    if not x.requires_grad:
        return x.detach()
    return x.view_as(x) if connected else x.detach().requires_grad_()


def _captured_leaves(outputs, inputs):
    """The leaves that results were computed from, other than the inputs."""
    known = {id(x) for x in inputs}
    found, seen, stack = [], set(), [x.grad_fn for x in outputs]
    while stack:
        node = stack.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        leaf = getattr(node, "variable", None)
        if leaf is not None and id(leaf) not in known:
            found.append(leaf)
        stack.extend(before for before, _ in node.next_functions)
    return found


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    """Calls modules one after the other, in segments that are checkpointed, all but the last.

    Args:
        functions: a Sequential, or a list of functions.
        segments: into how many segments they are cut.
        input: the input of the first.
        use_reentrant: see `checkpoint`.
        kwargs: ``preserve_rng_state=False`` lets random numbers differ between both computations.
    """
    if use_reentrant is None:
        warnings.warn(
            "checkpoint_sequential: the use_reentrant parameter should be passed explicitly. use_reentrant=False is "
            "recommended.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve_rng_state = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    functions = list(functions.children() if isinstance(functions, wisp.nn.Sequential) else functions)
    size = max(1, len(functions) // segments)
    last = size * (segments - 1)
    for start in range(0, last, size):
        part = _chain(functions[start : start + size])
        input = checkpoint(part, input, use_reentrant=use_reentrant, preserve_rng_state=preserve_rng_state)
    return _chain(functions[last:])(input)


def _chain(functions):
    def run(input):
        for function in functions:
            input = function(input)
        return input

    return run


def detach_variable(inputs):
    """A tuple with its tensors as leaves of their own, which require gradients if they did."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple(_boundary(x) if isinstance(x, Tensor) else x for x in inputs)


def check_backward_validity(inputs):
    """Warns if no tensor among the inputs requires a gradient."""
    if not any(isinstance(x, Tensor) and x.requires_grad for x in inputs):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


def get_device_states(*args):
    """The devices of some tensors that have random states of their own, and these: there are none."""
    return [], []


def set_device_states(devices, states, *, device_type=None):
    """Puts back what get_device_states() gave."""
    for device in devices:
        wisp._C._usable_device(f"cuda:{device}")  # says that there is none


@contextmanager
def set_checkpoint_early_stop(enable):
    """Accepted: the second computation always runs to its end."""
    yield


@contextmanager
def set_checkpoint_debug_enabled(enabled):
    """Accepted: errors name both results as it is."""
    yield
