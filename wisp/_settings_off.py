"""Modules of settings of PyTorch's compiler: programs make them, they are kept, and change nothing."""

import contextlib
import sys
import types


class Settings(types.ModuleType):
    """A module, or a part of one, whose names are settings. There are no others: a name that is misspelt is an error."""

    def __setattr__(self, name, value):
        if name not in vars(self) and not name.startswith("__"):
            self.__getattr__(name)
        super().__setattr__(name, value)

    def __getattr__(self, name):
        raise AttributeError(f"{vars(self).get('_shown', self.__name__)}.{name} does not exist")

    @contextlib.contextmanager
    def patch(self, changes=None, value=None, **more):
        """Other settings for a block, or for a function that is decorated with it."""
        changes = {**({changes: value} if isinstance(changes, str) else changes or {}), **more}
        before = {name: self._get(name) for name in changes}
        try:
            for name, new in changes.items():
                self._set(name, new)
            yield
        finally:
            for name, old in before.items():
                self._set(name, old)

    def _get(self, name):
        """Also of a part: "triton.cudagraphs"."""
        found = self
        for part in name.split("."):
            found = getattr(found, part)
        return found

    def _set(self, name, value):
        part, _, last = name.rpartition(".")
        setattr(self._get(part) if part else self, last, value)


def keep(module, shown):
    """Makes a module one of settings, called so in errors."""
    module = sys.modules[module]
    vars(module)["_shown"] = shown
    module.__class__ = Settings


def part(shown, **settings):
    """Settings below a name of others."""
    made = Settings(shown)
    vars(made).update(settings)
    return made
