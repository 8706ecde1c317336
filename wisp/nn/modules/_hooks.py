"""How hooks of modules are registered. Calls of modules that have some go through _hook_calls."""

from wisp.utils.hooks import Hooks, RemovableHandle

# Hooks of all modules, by kind: the names of the dicts that modules have too.
everywhere = {}


class Entry:
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
        return _add(self._hooks("_forward_pre_hooks"), Entry(hook, with_kwargs), prepend)

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """Calls ``hook(module, args, output)`` after forward(); what it returns, if not None, replaces the output.

        With ``with_kwargs`` it is ``hook(module, args, kwargs, output)``. With ``always_call`` it runs also when
        forward() has failed, with None as output. Returns a handle with remove().
        """
        return _add(self._hooks("_forward_hooks"), Entry(hook, with_kwargs, always_call), prepend)

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """Calls ``hook(module, grad_output)`` before the gradients of the module's inputs are computed.

        What it returns, if not None, replaces the gradients of the outputs. Returns a handle with remove().
        """
        return _add(self._hooks("_backward_pre_hooks"), Entry(hook), prepend)

    def register_full_backward_hook(self, hook, prepend=False):
        """Calls ``hook(module, grad_input, grad_output)`` when the gradients of the module's inputs are known.

        What it returns, if not None, replaces the gradients of the inputs. Returns a handle with remove().
        """
        if self.__dict__.get("_backward_hooks"):
            raise RuntimeError("Cannot use both regular backward hooks and full backward hooks on a single Module. Please use "
                               "only one of them.")  # fmt: skip
        return _add(self._hooks("_full_backward_hooks"), Entry(hook), prepend)

    def register_backward_hook(self, hook):
        """A hook on the last operation of the module only: use register_full_backward_hook() instead."""
        if self.__dict__.get("_full_backward_hooks"):
            raise RuntimeError("Cannot use both regular backward hooks and full backward hooks on a single Module. Please use "
                               "only one of them.")  # fmt: skip
        return _add(self._hooks("_backward_hooks"), Entry(hook))

    # Where other code looks for hooks. Looking creates the dict, and from then on calls look there too.
    _forward_pre_hooks = property(lambda self: self._hooks("_forward_pre_hooks"))
    _forward_hooks = property(lambda self: self._hooks("_forward_hooks"))
    _backward_pre_hooks = property(lambda self: self._hooks("_backward_pre_hooks"))
    _backward_hooks = property(lambda self: self._hooks("_backward_hooks"))


def _register_everywhere(kind, hook, **how):
    ModuleHooks._hooked = True
    return _add(everywhere.setdefault(kind, Hooks()), Entry(hook, **how))


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


def register_module_backward_hook(hook):
    """A hook on the last operation of all modules: use register_module_full_backward_hook() instead."""
    return _register_everywhere("_backward_hooks", hook)


# --- hooks on what modules are made of


def register_module_parameter_registration_hook(hook):
    """Calls ``hook(module, name, parameter)`` when a module gets a parameter; may return another one."""
    return _add(everywhere.setdefault("parameter", Hooks()), hook)


def register_module_buffer_registration_hook(hook):
    """Calls ``hook(module, name, buffer)`` when a module gets a buffer; may return another one."""
    return _add(everywhere.setdefault("buffer", Hooks()), hook)


def register_module_module_registration_hook(hook):
    """Calls ``hook(module, name, child)`` when a module gets a child; may return another one."""
    return _add(everywhere.setdefault("module", Hooks()), hook)


def registered(kind, module, name, value):
    """The parameter, buffer or child that a module is to get, after the hooks on it."""
    for hook in list(everywhere.get(kind, {}).values()):
        replaced = hook(module, name, value)
        value = value if replaced is None else replaced
    return value
