"""Module: what neural networks are made of."""

from weakref import ref

from wisp import _C
from wisp._C import Tensor
from wisp.nn.modules._hooks import (
    ModuleHooks,
    everywhere,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
    registered,
)
from wisp.nn.modules._state_dict import StateDict
from wisp.nn.parameter import Buffer, Parameter

__all__ = [
    "Module", "register_module_backward_hook", "register_module_buffer_registration_hook",
    "register_module_forward_hook", "register_module_forward_pre_hook", "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook", "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]  # fmt: skip


class _Members(dict):
    """Parameters, buffers or children by name.

    What is put here becomes an attribute of the module as well: reading ``module.weight``, which every forward() does,
    then takes no detour.
    """

    __slots__ = ("_owner",)

    def __init__(self, owner, items=()):
        super().__init__()
        self._owner = ref(owner)
        self.update(items)

    def __setitem__(self, name, value):
        super().__setitem__(name, value)
        self._owner().__dict__[name] = value

    def __delitem__(self, name):
        super().__delitem__(name)
        self._owner().__dict__.pop(name, None)

    def pop(self, name, *default):
        if name in self:
            value = self[name]
            del self[name]
            return value
        return super().pop(name, *default)

    def popitem(self):
        if not self:
            raise KeyError("popitem(): there are no members")
        name = next(reversed(self))
        return name, self.pop(name)

    def clear(self):
        for name in list(self):
            del self[name]

    def update(self, items=(), **more):
        for name, value in {**dict(items), **more}.items():
            self[name] = value

    def setdefault(self, name, default=None):
        if name not in self:
            self[name] = default
        return self[name]

    def __ior__(self, items):
        self.update(items)
        return self

    def __reduce__(self):
        return dict, (dict(self),)


def _target(*targets):
    """The dtype and the device that arguments of Module.to() ask for; they may be dtypes, devices or tensors."""
    dtype = device = None
    for target in targets:
        if isinstance(target, Tensor):
            dtype, device = target.dtype, target.device
        elif isinstance(target, _C.dtype):
            dtype = target
        elif target is not None and not isinstance(target, bool):
            device = _C._usable_device(target)  # refuses what does not exist
    if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
        raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}")
    return dtype, device


_KINDS = {"_parameters": "parameter", "_buffers": "buffer", "_modules": "child module"}


class Module(StateDict, ModuleHooks):
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

    call_super_init = (
        False  # whether __init__() goes on to the next class, with its arguments: for multiple inheritance
    )

    def __init__(self, *args, **kwargs):
        if (args or kwargs) and not self.call_super_init:
            given = f"takes 1 positional argument but {len(args) + 1} were given"
            if kwargs:
                given = f"got an unexpected keyword argument '{next(iter(kwargs))}'"
            raise TypeError(f"{type(self).__name__}.__init__() {given}")
        own = self.__dict__
        own["training"] = True
        for kind in _KINDS:
            own[kind] = _Members(self)
        own["_non_persistent_buffers_set"] = set()
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
        """Accepted and ignored: modules run as they are written."""

    def forward(self, *args):
        """What the module computes; to be defined by subclasses."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    # --- members

    def _kind_of(self, value):
        """Where a value assigned as an attribute belongs, by its type; None: it is an attribute like any other."""
        if isinstance(value, Tensor):
            return "_parameters" if isinstance(value, Parameter) else "_buffers" if isinstance(value, Buffer) else None
        return "_modules" if isinstance(value, Module) else None

    def __setattr__(self, name, value):
        own, kind = self.__dict__, self._kind_of(value)
        if kind is None:
            for held in _KINDS:
                if name in own.get(held, ()):
                    return self._replace(held, name, value)
            return super().__setattr__(name, value)
        if kind not in own:
            what = {"_parameters": "parameters", "_buffers": "buffer", "_modules": "module"}[kind]
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")
        if name not in own[kind]:  # whatever the name was before, it is no more
            own.pop(name, None)
            for other in _KINDS:
                own[other].pop(name, None)
        self._non_persistent_buffers_set.discard(name)
        if kind == "_parameters":
            self.register_parameter(name, value)
        elif kind == "_modules":
            own[kind][name] = registered("module", self, name, value) if everywhere else value
        else:
            self.register_buffer(name, value, value.persistent)
        return None

    def _replace(self, kind, name, value):
        """Assigns something that is no parameter, buffer or module to the name of one."""
        if value is not None and not (kind == "_buffers" and isinstance(value, Tensor)):
            from wisp._basics import typename

            wanted = {
                "_parameters": "wisp.nn.Parameter",
                "_buffers": "wisp.nn.Buffer, wisp.Tensor",
                "_modules": "wisp.nn.Module",
            }[kind]
            raise TypeError(f"cannot assign '{typename(value)}' as {_KINDS[kind]} '{name}' ({wanted} or None expected)")
        self.__dict__[kind][name] = registered("buffer", self, name, value) if kind == "_buffers" else value

    def __delattr__(self, name):
        for kind in _KINDS:
            if name in self.__dict__.get(kind, ()):
                del self.__dict__[kind][name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def _check_name(self, kind, name):
        what = {"_modules": "module"}.get(kind, _KINDS[kind])
        if kind not in self.__dict__:
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string. Got {type(name).__name__}")
        if hasattr(self, name) and name not in self.__dict__[kind]:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'{what} name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError(f'{what} name can\'t be empty string ""')

    def register_parameter(self, name, param):
        """Adds a parameter (or None, to be set later) under a name."""
        self._check_name("_parameters", name)
        if param is not None and not isinstance(param, Parameter):
            from wisp._basics import typename

            raise TypeError(
                f"cannot assign '{typename(param)}' object to parameter '{name}' (wisp.nn.Parameter or None required)"
            )
        if param is not None and param.grad_fn is not None:
            raise ValueError(f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. To "
                             "express a parameter as a function of another Tensor, compute the value in the forward() method.")  # fmt: skip
        if param is not None and everywhere:
            param = registered("parameter", self, name, param)
        self._parameters[name] = param

    def register_buffer(self, name, tensor, persistent=True):
        """Adds a tensor that is part of the module but not trained; part of its state_dict() if persistent."""
        self._check_name("_buffers", name)
        if tensor is not None and not isinstance(tensor, Tensor):
            from wisp._basics import typename

            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' (wisp Tensor or None required)"
            )
        self._buffers[name] = registered("buffer", self, name, tensor) if everywhere else tensor
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def add_module(self, name, module):
        """Adds a child module (or None) under a name."""
        if module is not None and not isinstance(module, Module):
            from wisp._basics import typename

            raise TypeError(f"{typename(module)} is not a Module subclass")
        self._check_name("_modules", name)
        self._modules[name] = registered("module", self, name, module) if everywhere else module

    register_module = add_module

    def get_submodule(self, target):
        """The module of a dotted name, ``"layers.0.attention"``; of "" this one."""
        module = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target, module, strict=False):
        """Replaces the module of a dotted name; with ``strict`` there must have been one."""
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        if not name:
            raise ValueError("Cannot set the submodule without a target name!")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{type(parent).__name__} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target):
        """The parameter of a dotted name."""
        return self._get("_parameters", target, "an nn.Parameter")

    def get_buffer(self, target):
        """The buffer of a dotted name."""
        return self._get("_buffers", target, "a buffer")

    def _get(self, kind, target, what):
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
        if name not in module.__dict__[kind]:
            raise AttributeError(f"`{name}` is not {what}")
        return getattr(module, name)

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

    # --- changing all tensors

    def _apply(self, fn, recurse=True):
        """Replaces the data of all parameters, gradients and buffers by what ``fn`` makes of it."""
        if recurse:
            for child in self.children():
                child._apply(fn)
        for param in self._parameters.values():
            if param is not None:
                grad = param.grad
                changed = fn(param.data)
                if grad is not None and changed.dtype is not grad.dtype:
                    param.grad = None
                param.data = changed
                if grad is not None:
                    param.grad = fn(grad.data).requires_grad_(grad.requires_grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def share_memory(self):
        """Moves all parameters and buffers to where other processes can see them; see Tensor.share_memory_()."""
        for tensor in (*self.parameters(), *self.buffers()):
            tensor.share_memory_()
            if tensor.grad is not None:
                tensor.grad.share_memory_()
        return self

    def to(self, *args, device=None, dtype=None, non_blocking=False, memory_format=None, tensor=None):
        """Converts parameters and buffers: ``to(dtype)``, ``to(device)``, ``to(tensor)``, or keywords; returns the module.

        Only floating-point and complex tensors change their dtype.
        """
        wanted, place = _target(*args, tensor, device, dtype)

        def convert(t):
            form = memory_format if t.dim() in (4, 5) else None
            return t.to(place, wanted if t.is_floating_point() or t.is_complex() else None, memory_format=form)

        return self._apply(convert)

    def type(self, dst_type):
        """Converts all parameters and buffers to a dtype; returns the module."""
        return self._apply(lambda t: t.type(dst_type))

    def float(self):
        """Converts floating-point parameters and buffers to float32."""
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self):
        """Converts floating-point parameters and buffers to float64."""
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def half(self):
        """Converts floating-point parameters and buffers to float16."""
        return self._apply(lambda t: t.half() if t.is_floating_point() else t)

    def bfloat16(self):
        """Converts floating-point parameters and buffers to bfloat16."""
        return self._apply(lambda t: t.bfloat16() if t.is_floating_point() else t)

    def cpu(self):
        """The module itself."""
        return self

    def cuda(self, device=None):
        """Fails: there is no such device."""
        return self._apply(lambda t: t.cuda(device))

    def to_empty(self, *, device, recurse=True):
        """Gives all parameters and buffers fresh, uninitialised memory."""
        from wisp import empty_like

        return self._apply(lambda t: empty_like(t, device=device), recurse)

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
        held = {name for kind in _KINDS for name in self.__dict__[kind]}
        state = {name: value for name, value in self.__dict__.items() if name not in held}
        for kind in _KINDS:
            state[kind] = dict(self.__dict__[kind])
        return state

    def __setstate__(self, state):
        own = self.__dict__
        own.update(state)
        for kind in _KINDS:
            own[kind] = _Members(self, state.get(kind, {}))
        own.setdefault("_non_persistent_buffers_set", set())

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
        children = [f"({name}): " + repr(child).replace("\n", "\n  ") for name, child in self._modules.items()]
        if not children and len(lines) < 2:
            return f"{self._get_name()}({extra})"
        body = "".join(f"\n  {line}" for line in lines + children)
        return f"{self._get_name()}({body}\n)"
