"""Module: what neural networks are made of."""

from wisp.nn.modules._conversions import Conversions
from wisp.nn.modules._hooks import (
    ModuleHooks,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from wisp.nn.modules._members import KINDS, Members
from wisp.nn.modules._state_dict import (
    _EXTRA_STATE_KEY_SUFFIX,  # noqa: F401  (libraries look for it here)
    StateDict,
    _IncompatibleKeys,  # noqa: F401  (and for this)
)

__all__ = [
    "Module", "register_module_backward_hook", "register_module_buffer_registration_hook",
    "register_module_forward_hook", "register_module_forward_pre_hook", "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook", "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]  # fmt: skip


def _addindent(text, spaces):
    """A text whose lines are moved to the right, but for the first."""
    return text.replace("\n", "\n" + " " * spaces)


class Module(Members, StateDict, ModuleHooks, Conversions):
    """The base of all neural network modules.

    Subclasses create parameters and other modules in ``__init__`` (after ``super().__init__()``), assign them as
    attributes, and define ``forward()``. Calling the module calls forward(), and hooks if there are any.

    >>> class Net(wisp.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.fc = wisp.nn.Linear(2, 1)
    ...
    ...     def forward(self, x):
    ...         return self.fc(x).relu()
    >>> Net()
    Net(
      (fc): Linear(in_features=2, out_features=1, bias=True)
    )
    """

    training: bool

    call_super_init = False  # whether __init__() goes on to the next class, with its arguments: for several bases
    dump_patches = False  # of old programs; says nothing here
    _compiled_call_impl = None  # forward() as compile() has made it

    def __init__(self, *args, **kwargs):
        if (args or kwargs) and not self.call_super_init:
            given = f"takes 1 positional argument but {len(args) + 1} were given"
            if kwargs:
                given = f"got an unexpected keyword argument '{next(iter(kwargs))}'"
            raise TypeError(f"{type(self).__name__}.__init__() {given}")
        self._start_members()
        self.__dict__["training"] = True
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def __call__(self, *args, **kwargs):
        try:
            if self._hooked:
                from wisp.nn.modules._hook_calls import call_with_hooks

                return call_with_hooks(self, args, kwargs)
            return self.forward(*args, **kwargs)
        except Exception as error:
            from wisp.nn.modules._where import add_path

            add_path(error)
            raise

    def compile(self, *args, **kwargs):
        """From now on calls of this module are recorded and fused, as ``wisp.compile(module)`` does. It takes the same
        arguments. Copies of the module, and what is pickled, are without."""
        from wisp._lazy import compile

        self._compiled_call_impl = self.forward = compile(self.forward, *args, **kwargs)

    def forward(self, *input):
        """What the module computes; to be defined by subclasses."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    # --- going through a network

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        """Pairs (dotted name, module) of this module and all below it, each once."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, child in self._modules.items():
            if child is not None:
                yield from child.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self, remove_duplicate=True):
        """This module and all below it, each once unless told otherwise."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self):
        """Pairs (name, module) of the direct children, each once."""
        seen = set()
        for name, child in self._modules.items():
            if child is not None and child not in seen:
                seen.add(child)
                yield name, child

    def children(self):
        """The direct children, each once."""
        for _, child in self.named_children():
            yield child

    def _named_members(self, get_members_fn, prefix="", recurse=True, remove_duplicate=True):
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, value in get_members_fn(module):
                if value is None or value in seen:
                    continue
                if remove_duplicate:
                    seen.add(value)
                yield (f"{path}.{name}" if path else name), value

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """Pairs (dotted name, parameter), each once; only the module's own ones if not ``recurse``."""
        return self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse=True):
        """All parameters, each once."""
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        """Pairs (dotted name, buffer), each once; only the module's own ones if not ``recurse``."""
        return self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse=True):
        """All buffers, each once."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def apply(self, fn):
        """Calls ``fn(module)`` for every module below this one, then for this one; returns it."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    # --- for training

    def train(self, mode=True):
        """Puts the module and all below it in training mode; returns it."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for child in self.children():
            child.train(mode)
        return self

    def eval(self):
        """Puts the module and all below it in evaluation mode; returns it."""
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        """Sets whether the parameters are to be trained; returns the module."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        """Forgets the gradients of all parameters, or sets them to zero."""
        for param in self.parameters():
            if param.grad is None:
                continue
            if set_to_none:
                param.grad = None
            else:
                param.grad = param.grad.detach()
                param.grad.zero_()

    # --- Python's protocols

    def __getstate__(self):
        """What is pickled and copied: every tensor and child once, not as an attribute too."""
        held = {name for kind in KINDS for name in self.__dict__[kind]}
        state = {name: value for name, value in self.__dict__.items() if name not in held}
        for kind in KINDS:
            state[kind] = dict(self.__dict__[kind])
        state["_non_persistent_buffers_set"] = set(self._non_persistent_buffers_set)
        compiled = state.pop("_compiled_call_impl", None)
        if compiled is not None and state.get("forward") is compiled:
            state["forward"] = compiled.__wrapped__
            if getattr(compiled.__wrapped__, "__self__", None) is self:
                del state["forward"]
        return state

    def __setstate__(self, state):
        self._start_members()
        self.__dict__.update((name, value) for name, value in state.items() if name not in KINDS)
        for kind in KINDS:
            self.__dict__[kind].update(state.get(kind, {}))

    def __dir__(self):
        return sorted(name for name in super().__dir__() if not name[:1].isdigit())

    def _get_name(self):
        return type(self).__name__

    def extra_repr(self):
        """What repr() says of this module besides its children; to be defined by subclasses."""
        return ""

    def __repr__(self):
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): " + _addindent(repr(child), 2) for name, child in self._modules.items()]
        if not children and len(lines) < 2:
            return f"{self._get_name()}({extra})"
        body = "".join(f"\n  {line}" for line in lines + children)
        return f"{self._get_name()}({body}\n)"
