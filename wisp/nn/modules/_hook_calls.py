"""Calls of modules that have hooks. Modules without never come here: their calls go straight to forward()."""

import warnings
from collections import namedtuple
from weakref import ref

from wisp._C import Tensor
from wisp.autograd.function import Function
from wisp.nn.modules._hooks import ModuleHooks, everywhere

_Entry = namedtuple("_Entry", "key hook with_kwargs always_called")


def _entries(module, kind):
    """The hooks of a kind that concern a module, as a list: a hook may remove itself."""
    return [*_entries_of(everywhere, kind), *_entries_of(module.__dict__, kind)]


def _entries_of(hooks, kind):
    if not hooks.get(kind):
        return ()
    with_kwargs, always_called = hooks.get(f"{kind}_with_kwargs", ()), hooks.get(f"{kind}_always_called", ())
    return [_Entry(key, hook, key in with_kwargs, key in always_called) for key, hook in hooks[kind].items()]


def _hooks_of(hooks, kind):
    return list(hooks[kind].values()) if kind in hooks else []


def _backward_hooks(module):
    """Hooks on the gradients of all inputs, and those on the last operation only."""
    full, last = (_hooks_of(everywhere, kind) for kind in ("_full_backward_hooks", "_backward_hooks"))
    (full if module._is_full_backward_hook else last).extend(_hooks_of(module.__dict__, "_backward_hooks"))
    return full, last


def call_with_hooks(module, args, kwargs):
    """forward() with everything around it."""
    if ModuleHooks._hooked and not any(everywhere.values()):
        ModuleHooks._hooked = False  # the last hook on all modules is gone
    call = _Call(module, args, kwargs)
    try:
        return call.run()
    except BaseException:
        call.run_what_is_left()
        raise


class _Call:
    """One call of a module with hooks."""

    def __init__(self, module, args, kwargs):
        self.module, self.args, self.kwargs = module, args, kwargs
        self.result, self.called = None, set()

    def run(self):
        module = self.module
        for entry in _entries(module, "_forward_pre_hooks"):
            self._before(entry)
        full, last = _backward_hooks(module)
        before = _hooks_of(everywhere, "_backward_pre_hooks") + _hooks_of(module.__dict__, "_backward_pre_hooks")
        gate = _Gradients(module, full, before) if full or before else None
        forward = vars(module).get("__call__", module.forward)  # compiled modules may have it, with hooks of their own
        self.result = forward(*(gate.pass_inputs(self.args) if gate else self.args), **self.kwargs)
        for entry in _entries(module, "_forward_hooks"):
            self.called.add(entry.key)
            replaced = self._after(entry)
            self.result = self.result if replaced is None else replaced
        if gate:
            self.result = gate.pass_outputs(self.result)
        for hook in last:
            _watch_last_node(module, hook, self.result)
        return self.result

    def _before(self, entry):
        if not entry.with_kwargs:
            replaced = entry.hook(self.module, self.args)
            if replaced is not None:
                self.args = replaced if isinstance(replaced, tuple) else (replaced,)
            return
        replaced = entry.hook(self.module, self.args, self.kwargs)
        if replaced is None:
            return
        if not isinstance(replaced, tuple) or len(replaced) != 2:
            raise RuntimeError(
                f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {replaced}."
            )
        self.args, self.kwargs = replaced

    def _after(self, entry):
        kwargs = (self.kwargs,) if entry.with_kwargs else ()
        return entry.hook(self.module, self.args, *kwargs, self.result)

    def run_what_is_left(self):
        """The hooks that want to be called also when something has failed."""
        for entry in _entries(self.module, "_forward_hooks"):
            if entry.always_called and entry.key not in self.called:
                try:
                    self._after(entry)
                except Exception as error:  # noqa: BLE001 (the first failure is what the caller is to see)
                    warnings.warn("module forward hook with ``always_call=True`` raised an exception that was silenced as another "
                                  f"error was raised in forward: {error!r}", stacklevel=4)  # fmt: skip


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
        return tuple(t.detach() for t in tensors)

    @staticmethod
    def backward(ctx, *grads):
        return grads


class _Gradients:
    """The gradients of one call of a module: of its outputs, then of its inputs."""

    def __init__(self, module, hooks, before):
        self.module = ref(module)
        self.hooks, self.before = hooks, before
        self.grad_outputs = self.input_places = None

    def pass_inputs(self, args):
        args, places, node = self._through_gate(args)
        self.input_count = len(args)
        if node is not None and self.hooks:
            self.input_places = places
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
        """The values with those that have gradients gone through a gate, where they are, and the gate's node (or None)."""
        places = [i for i, v in enumerate(values) if isinstance(v, Tensor) and v.requires_grad]
        if not places:
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
            if self.hooks:
                warnings.warn("a full backward hook is called with the gradients of the module's outputs alone, since none of its "
                              "inputs requires grad", stacklevel=2)  # fmt: skip
            for hook in self.hooks:
                replaced = hook(self.module(), (None,) * self.input_count, grad_outputs)
                if any(grad is not None for grad in (replaced if isinstance(replaced, tuple) else (replaced,))):
                    raise RuntimeError("Backward hook for Modules where no input requires gradient should always return None or "
                                       "None for all gradients.")  # fmt: skip
        return tuple(grad_outputs[i] for i in places)

    def _at_inputs(self, grads):
        if self.grad_outputs is None:  # not a gradient of the outputs, or those are neither a tensor nor a tuple
            return grads
        grad_inputs = self._spread(grads, self.input_places, self.input_count)
        for hook in self.hooks:
            replaced = hook(self.module(), grad_inputs, self.grad_outputs)
            if replaced is not None:
                grad_inputs = self._checked(replaced, self.input_count, "Backward hook")
        self.grad_outputs = None  # a second derivative may come by here without having come by the outputs
        return tuple(grad_inputs[i] for i in self.input_places)

    @staticmethod
    def _checked(replaced, count, what):
        replaced = replaced if isinstance(replaced, tuple) else (replaced,)
        if len(replaced) != count:
            raise RuntimeError(
                f"{what} returned an invalid number of grad_input, got {len(replaced)}, but expected {count}"
            )
        return replaced
