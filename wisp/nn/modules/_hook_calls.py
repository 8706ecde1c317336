"""Calls of modules that have hooks. Modules without never come here: their calls go straight to forward()."""

import warnings
from weakref import ref

from wisp._C import Tensor
from wisp.autograd.function import Function
from wisp.nn.modules._hooks import Entry, ModuleHooks, everywhere


def _entries(module, kind):
    """The hooks of a kind that concern a module, as a list: a hook may remove itself."""
    found = [*everywhere.get(kind, {}).values(), *module.__dict__.get(kind, {}).values()]
    return [entry if isinstance(entry, Entry) else Entry(entry) for entry in found]


def call_with_hooks(module, args, kwargs):
    """forward() with everything around it."""
    if not any(everywhere.values()):
        ModuleHooks._hooked = False  # the last hook on all modules is gone
    called = set()
    try:
        return _call(module, args, kwargs, called)
    except BaseException:
        for entry in _entries(module, "_forward_hooks"):
            if entry.always_call and entry not in called:
                _call_after_failure(module, entry, args, kwargs)
        raise


def _call(module, args, kwargs, called):
    for entry in _entries(module, "_forward_pre_hooks"):
        args, kwargs = _before(module, entry, args, kwargs)
    backward, before = _entries(module, "_full_backward_hooks"), _entries(module, "_backward_pre_hooks")
    gate = _Gradients(module, backward, before) if backward or before else None
    result = module.forward(*(gate.pass_inputs(args) if gate else args), **kwargs)
    for entry in _entries(module, "_forward_hooks"):
        called.add(entry)
        given = (module, args, kwargs, result) if entry.with_kwargs else (module, args, result)
        replaced = entry.hook(*given)
        result = result if replaced is None else replaced
    if gate:
        result = gate.pass_outputs(result)
    for entry in _entries(module, "_backward_hooks"):
        _watch_last_node(module, entry.hook, result)
    return result


def _before(module, entry, args, kwargs):
    if entry.with_kwargs:
        replaced = entry.hook(module, args, kwargs)
        if replaced is None:
            return args, kwargs
        if isinstance(replaced, tuple) and len(replaced) == 2:
            return replaced
        raise RuntimeError(
            f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {replaced}."
        )
    replaced = entry.hook(module, args)
    if replaced is None:
        return args, kwargs
    return (replaced if isinstance(replaced, tuple) else (replaced,)), kwargs


def _call_after_failure(module, entry, args, kwargs):
    try:
        entry.hook(*((module, args, kwargs, None) if entry.with_kwargs else (module, args, None)))
    except Exception as error:  # noqa: BLE001 (the first failure is what the caller is to see)
        warnings.warn("module forward hook with ``always_call=True`` raised an exception that was silenced as another error was "
                      f"raised in forward: {error!r}", stacklevel=4)  # fmt: skip


def _watch_last_node(module, hook, result):
    first = result
    while isinstance(first, (tuple, list, dict)) and first:
        first = next(iter(first.values())) if isinstance(first, dict) else first[0]
    if isinstance(first, Tensor) and first.grad_fn is not None:
        first.grad_fn.register_hook(lambda grad_input, grad_output: hook(module, grad_input, grad_output))


# --- gradients at the border of a module


class _Gate(Function):
    """Passes several tensors on; its node is where their gradients can be watched together."""

    @staticmethod
    def forward(ctx, *tensors):
        ctx.set_materialize_grads(False)
        return tuple(t.detach() for t in tensors)

    @staticmethod
    def backward(ctx, *grads):
        return grads


class _Gradients:
    """The gradients of one call of a module: of its outputs, then of its inputs."""

    def __init__(self, module, hooks, before):
        self.module = ref(module)
        self.hooks, self.before = [entry.hook for entry in hooks], [entry.hook for entry in before]
        self.grad_outputs = None
        self.input_places = self.input_count = None

    def pass_inputs(self, args):
        args, places, node = self._through_gate(args)
        if node is not None and self.hooks:
            self.input_places, self.input_count = places, len(args)
            node.register_prehook(self._at_inputs)
        return args

    def pass_outputs(self, result):
        if not isinstance(result, (Tensor, tuple)):
            warnings.warn("For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received "
                          f"{type(result)}", stacklevel=5)  # fmt: skip
            return result
        outputs, places, node = self._through_gate((result,) if isinstance(result, Tensor) else result)
        if node is not None:
            count = len(outputs)
            node.register_prehook(lambda grads: self._at_outputs(grads, places, count))
        if isinstance(result, Tensor):
            return outputs[0]
        return type(result)(*outputs) if hasattr(result, "_fields") else outputs

    @staticmethod
    def _through_gate(values):
        """The values with their tensors gone through a gate, where tensors are, and the gate's node (or None)."""
        places = [i for i, v in enumerate(values) if isinstance(v, Tensor)]
        if not any(values[i].requires_grad for i in places):
            return values, places, None
        passed = list(values)
        node = None
        for i, t in zip(places, _Gate.apply(*(values[i] for i in places))):
            passed[i] = t
            node = node or t.grad_fn
        return tuple(passed), places, node

    @staticmethod
    def _spread(grads, places, count):
        spread = [None] * count
        for i, grad in zip(places, grads):
            spread[i] = grad
        return tuple(spread)

    def _at_outputs(self, grads, places, count):
        grad_outputs = self._spread(grads, places, count)
        for hook in self.before:
            replaced = hook(self.module(), grad_outputs)
            if replaced is not None:
                grad_outputs = self._checked(replaced, count, "Backward pre hook")
        self.grad_outputs = grad_outputs
        if self.input_places is None:  # no input has a gradient, so this is the end of the module's backward
            for hook in self.hooks:
                if hook(self.module(), (), grad_outputs) not in (None, ()):
                    raise RuntimeError("Backward hook for Modules where no input requires gradient should always return None or "
                                       "None for all gradients.")  # fmt: skip
        return tuple(grad_outputs[i] for i in places)

    def _at_inputs(self, grads):
        grad_inputs = self._spread(grads, self.input_places, self.input_count)
        for hook in self.hooks:
            replaced = hook(self.module(), grad_inputs, self.grad_outputs)
            if replaced is not None:
                grad_inputs = self._checked(replaced, self.input_count, "Backward hook")
        return tuple(grad_inputs[i] for i in self.input_places)

    @staticmethod
    def _checked(replaced, count, what):
        replaced = replaced if isinstance(replaced, tuple) else (replaced,)
        if len(replaced) != count:
            raise RuntimeError(
                f"{what} returned an invalid number of grad_input, got {len(replaced)}, but expected {count}"
            )
        return replaced
