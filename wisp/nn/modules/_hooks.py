"""How hooks of modules are registered. Calls of modules that have some go through _hook_calls."""

from wisp.utils.hooks import Hooks, add_hook

# Hooks of all modules, by kind: the names of the dicts that modules have too.
everywhere = {}


def hook_dict(kind, of_calls=True):
    """An attribute for the hooks of one kind, by number: where other code looks for them.

    Looking creates the dict. From then on calls look there too, if it is one ``of_calls``.
    """

    def get(module):
        if of_calls:
            module.__dict__["_hooked"] = True
        return module.__dict__.setdefault(kind, Hooks())

    def exchange(module, hooks):
        module.__dict__[kind] = Hooks(hooks)
        get(module)

    return property(get, exchange)


class ModuleHooks:
    """The part of Module that registers hooks."""

    _hooked = False  # whether a call has to look for hooks
    _is_full_backward_hook = None  # which of the two kinds of backward hooks there are

    _forward_pre_hooks = hook_dict("_forward_pre_hooks")
    _forward_pre_hooks_with_kwargs = hook_dict("_forward_pre_hooks_with_kwargs")
    _forward_hooks = hook_dict("_forward_hooks")
    _forward_hooks_with_kwargs = hook_dict("_forward_hooks_with_kwargs")
    _forward_hooks_always_called = hook_dict("_forward_hooks_always_called")
    _backward_pre_hooks = hook_dict("_backward_pre_hooks")
    _backward_hooks = hook_dict("_backward_hooks")

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """Calls ``hook(module, args)`` before forward(); what it returns, if not None, replaces the arguments.

        With ``with_kwargs`` it is ``hook(module, args, kwargs)``, which returns None or both. ``prepend`` puts it before
        the hooks there are. Returns a handle with remove().
        """
        marks = (self._forward_pre_hooks_with_kwargs,) if with_kwargs else ()
        return add_hook(self._forward_pre_hooks, hook, prepend, marks)

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """Calls ``hook(module, args, output)`` after forward(); what it returns, if not None, replaces the output.

        With ``with_kwargs`` it is ``hook(module, args, kwargs, output)``. With ``always_call`` it runs also when
        forward() has failed, with None as output. Returns a handle with remove().
        """
        marks = [self._forward_hooks_with_kwargs] if with_kwargs else []
        marks += [self._forward_hooks_always_called] if always_call else []
        return add_hook(self._forward_hooks, hook, prepend, marks)

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """Calls ``hook(module, grad_output)`` before the gradients of the module's inputs are computed.

        What it returns, if not None, replaces the gradients of the outputs. Returns a handle with remove().
        """
        return add_hook(self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(self, hook, prepend=False):
        """Calls ``hook(module, grad_input, grad_output)`` when the gradients of the module's inputs are known.

        What it returns, if not None, replaces the gradients of the inputs. Returns a handle with remove().
        """
        self._choose_backward_hooks(full=True)
        return add_hook(self._backward_hooks, hook, prepend)

    def register_backward_hook(self, hook):
        """A hook on the last operation of the module only: use register_full_backward_hook() instead."""
        self._choose_backward_hooks(full=False)
        return add_hook(self._backward_hooks, hook)

    def _choose_backward_hooks(self, full):
        if self._is_full_backward_hook is (not full):
            raise RuntimeError("Cannot use both regular backward hooks and full backward hooks on a single Module. Please use "
                               "only one of them.")  # fmt: skip
        self.__dict__["_is_full_backward_hook"] = full


# --- hooks on all modules


def _register_everywhere(kind, hook, marks=()):
    ModuleHooks._hooked = True
    return add_hook(_everywhere(kind), hook, marks=[_everywhere(f"{kind}_{mark}") for mark in marks])


def _everywhere(kind):
    return everywhere.setdefault(kind, Hooks())


def register_module_forward_pre_hook(hook):
    """register_forward_pre_hook() on all modules, before their own hooks."""
    return _register_everywhere("_forward_pre_hooks", hook)


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    """register_forward_hook() on all modules, before their own hooks."""
    marks = ["with_kwargs"] * with_kwargs + ["always_called"] * always_call
    return _register_everywhere("_forward_hooks", hook, marks)


def register_module_full_backward_pre_hook(hook):
    """register_full_backward_pre_hook() on all modules, before their own hooks."""
    return _register_everywhere("_backward_pre_hooks", hook)


def register_module_full_backward_hook(hook):
    """register_full_backward_hook() on all modules, before their own hooks."""
    return _register_everywhere("_full_backward_hooks", hook)


def register_module_backward_hook(hook):
    """A hook on the last operation of all modules: use register_module_full_backward_hook() instead."""
    return _register_everywhere("_backward_hooks", hook)


# --- hooks on what modules are made of


def register_module_parameter_registration_hook(hook):
    """Calls ``hook(module, name, parameter)`` when a module gets a parameter; may return another one."""
    return add_hook(_everywhere("parameter"), hook)


def register_module_buffer_registration_hook(hook):
    """Calls ``hook(module, name, buffer)`` when a module gets a buffer; may return another one."""
    return add_hook(_everywhere("buffer"), hook)


def register_module_module_registration_hook(hook):
    """Calls ``hook(module, name, child)`` when a module gets a child; may return another one."""
    return add_hook(_everywhere("module"), hook)


def registered(kind, module, name, value):
    """The parameter, buffer or child that a module is to get, after the hooks on it."""
    for hook in list(everywhere.get(kind, {}).values()):
        replaced = hook(module, name, value)
        value = value if replaced is None else replaced
    return value
