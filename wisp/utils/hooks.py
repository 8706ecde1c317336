"""Handles that remove hooks."""

import warnings
import weakref
from itertools import count

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]

_ids = count()


class RemovableHandle:
    """Removes an entry of a dict of hooks: by remove(), or at the end of a with block.

    Args:
        hooks_dict: where the hook is, or will be put under ``handle.id``. It is not kept alive.
        extra_dict: one or several more dicts that have an entry of the same key.
    """

    next_id = property(lambda self: self.id + 1)

    def __init__(self, hooks_dict, *, extra_dict=None):
        self.id = next(_ids)
        extra = () if extra_dict is None else extra_dict if isinstance(extra_dict, (list, tuple)) else (extra_dict,)
        self._dicts = tuple(weakref.ref(d) for d in (hooks_dict, *extra))

    def remove(self):
        """Removes the hook; once is enough."""
        for ref in self._dicts:
            hooks = ref()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()

    def __getstate__(self):
        return [ref() for ref in self._dicts], self.id

    def __setstate__(self, state):
        dicts, self.id = state
        self._dicts = tuple(weakref.ref(d if d is not None else Hooks()) for d in dicts)


class Hooks(dict):
    """A dict of hooks by number, in the order they were registered. (Plain dicts have no weak references.)"""

    __slots__ = ("__weakref__",)


def add_hook(hooks, hook, prepend=False, marks=()):
    """Puts a hook into a dict, and its number into the dicts that say how it wants to be called; returns a handle."""
    handle = RemovableHandle(hooks, extra_dict=marks)
    others = dict(hooks) if prepend else {}
    if prepend:
        hooks.clear()
    hooks[handle.id] = hook
    hooks.update(others)
    for marked in marks:
        marked[handle.id] = True
    return handle


def unserializable_hook(f):
    """Marks a hook that is meant to be left out when its tensor is pickled: no warning is given for it."""
    f.__torch_unserializable__ = True
    return f


def warn_if_has_hooks(tensor):
    """Warns of hooks that will not be pickled with the tensor."""
    for handle in tensor.__dict__.get("_backward_hooks", {}).values():
        hook = handle.hook
        if hook is not None and not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(f"backward hook {hook!r} on tensor will not be serialized. If this is expected, you can decorate the "
                          "function with @wisp.utils.hooks.unserializable_hook to suppress this warning", stacklevel=3)  # fmt: skip
