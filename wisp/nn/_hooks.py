"""Hooks of modules. Modules without hooks never come here: their calls go straight to forward()."""

import warnings
from weakref import ref

from wisp._C import Tensor
from wisp.autograd import Function
from wisp.utils.hooks import Hooks, RemovableHandle

# Hooks of all modules, by kind; the kinds are those of _KINDS below.
_everywhere = {}

_KINDS = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks", "_full_backward_hooks")


class _Entry:
    """A hook and how it wants to be called."""

    __slots__ = ("always_call", "hook", "with_kwargs")

    def __init__(self, hook, with_kwargs=False, always_call=False):
        self.hook, self.with_kwargs, self.always_call = hook, with_kwargs, always_call


def _add(hooks, entry, prepend=False):
    handle = RemovableHandle(hooks)
    hooks[handle.id] = entry
    if prepend:
        others = [(key, value) for key, value in hooks.items() if key != handle.id]
        hooks.clear()
        hooks[handle.id] = entry
        hooks.update(others)
    return handle


class ModuleHooks:
    """The part of Module that registers hooks."""

    _hooked = False  # whether a call has to look for hooks

    def _hooks(self, kind):
        """The hooks of one kind, by number; made when first asked for."""
        found = self.__dict__.get(kind)
        if found is None:
            found = self.__dict__[kind] = Hooks()
            self.__dict__["_hooked"] = True
        return found

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """Calls ``hook(module, args)`` before forward(); what it returns, if not None, replaces the arguments.

        With ``with_kwargs`` it is ``hook(module, args, kwargs)``, which returns None or both. ``prepend`` puts it before
        the hooks there are. Returns a handle with remove().
        """
        return _add(self._hooks("_forward_pre_hooks"), _Entry(hook, with_kwargs), prepend)

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """Calls ``hook(module, args, output)`` after forward(); what it returns, if not None, replaces the output.

        With ``with_kwargs`` it is ``hook(module, args, kwargs, output)``. With ``always_call`` it runs also when
        forward() has failed, with None as output. Returns a handle with remove().
        """
        return _add(self._hooks("_forward_hooks"), _Entry(hook, with_kwargs, always_call), prepend)

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """Calls ``hook(module, grad_output)`` before the gradients of the module's inputs are computed.

        What it returns, if not None, replaces the gradients of the outputs. Returns a handle with remove().
        """
        return _add(self._hooks("_backward_pre_hooks"), _Entry(hook), prepend)

    def register_full_backward_hook(self, hook, prepend=False):
        """Calls ``hook(module, grad_input, grad_output)`` when the gradients of the module's inputs are known.

        What it returns, if not None, replaces the gradients of the inputs. Returns a handle with remove().
        """
        if self.__dict__.get("_backward_hooks"):
            raise RuntimeError("Cannot use both regular backward hooks and full backward hooks on a single Module. Please use "
                               "only one of them.")  # fmt: skip
        return _add(self._hooks("_full_backward_hooks"), _Entry(hook), prepend)

    def register_backward_hook(self, hook):
        """A hook on the last operation of the module only: use register_full_backward_hook() instead."""
        if self.__dict__.get("_full_backward_hooks"):
            raise RuntimeError("Cannot use both regular backward hooks and full backward hooks on a single Module. Please use "
                               "only one of them.")  # fmt: skip
        return _add(self._hooks("_backward_hooks"), _Entry(hook))

    # Where other code looks for hooks. Looking creates the dict, and from then on calls look there too.
    _forward_pre_hooks = property(lambda self: self._hooks("_forward_pre_hooks"))
    _forward_hooks = property(lambda self: self._hooks("_forward_hooks"))
    _backward_pre_hooks = property(lambda self: self._hooks("_backward_pre_hooks"))
    _backward_hooks = property(lambda self: self._hooks("_backward_hooks"))


def _register_everywhere(kind, hook, **how):
    ModuleHooks._hooked = True
    return _add(_everywhere.setdefault(kind, Hooks()), _Entry(hook, **how))


def register_module_forward_pre_hook(hook):
    """register_forward_pre_hook() on all modules, before their own hooks."""
    return _register_everywhere("_forward_pre_hooks", hook)


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    """register_forward_hook() on all modules, before their own hooks."""
    return _register_everywhere("_forward_hooks", hook, with_kwargs=with_kwargs, always_call=always_call)


def register_module_full_backward_pre_hook(hook):
    """register_full_backward_pre_hook() on all modules, before their own hooks."""
    return _register_everywhere("_backward_pre_hooks", hook)


def register_module_full_backward_hook(hook):
    """register_full_backward_hook() on all modules, before their own hooks."""
    return _register_everywhere("_full_backward_hooks", hook)


# --- a call with hooks


def _entries(module, kind):
    """The hooks of a kind that concern a module, as a list: a hook may remove itself."""
    found = [*_everywhere.get(kind, {}).values(), *module.__dict__.get(kind, {}).values()]
    return [entry if isinstance(entry, _Entry) else _Entry(entry) for entry in found]


def call_with_hooks(module, args, kwargs):
    """forward() with everything around it."""
    if not any(_everywhere.values()):
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
        raise RuntimeError(f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {replaced}.")
    replaced = entry.hook(module, args)
    if replaced is None:
        return args, kwargs
    return (replaced if isinstance(replaced, tuple) else (replaced,)), kwargs


def _call_after_failure(module, entry, args, kwargs):
    try:
        entry.hook(*((module, args, kwargs, None) if entry.with_kwargs else (module, args, None)))
    except Exception as error:  # the first failure is what the caller is to see
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
            raise RuntimeError(f"{what} returned an invalid number of grad_input, got {len(replaced)}, but expected {count}")
        return replaced
