"""A module as ``wisp.compile`` returns it."""

from wisp import _C
from wisp.nn.modules.module import Module


class OptimizedModule(Module, _C._CalledStraight):
    """The module it was made of, with calls on many elements fused. Whatever else is asked of it, that module answers;
    attributes that are set or deleted are those of that module."""

    def __init__(self, module, how):
        super().__init__()
        self._modules["_orig_mod"] = module
        self.__dict__["_how"] = how
        self._start_collecting()

    def _start_collecting(self):
        self.__dict__.pop("training", None)
        self.__dict__["_collecting"] = _C._Collected(self._orig_mod, *self._how)

    @property
    def training(self):
        """That of the module."""
        return self._orig_mod.training

    @property
    def _torchdynamo_orig_callable(self):
        return self._orig_mod

    def __call__(self, *args, **kwargs):
        """What calls do, which go the short way of _C._set_called_straight()."""
        return super().__call__(*args, **kwargs) if self._hooked else self._collecting(*args, **kwargs)

    def forward(self, *args, **kwargs):
        return self._collecting(*args, **kwargs)

    def explain(self, *args, **kwargs):
        """Runs the module and tells what was recorded, what was fused, and which plans were new."""
        return self._collecting.explain(*args, **kwargs)

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("_orig_mod"), name)

    def __setattr__(self, name, value):
        if hasattr(Module, name) or name == "_orig_mod":
            return super().__setattr__(name, value)
        setattr(self._orig_mod, name, value)

    def __delattr__(self, name):
        delattr(self._orig_mod, name)

    def __dir__(self):
        return sorted({*super().__dir__(), *dir(self._orig_mod)})

    def __len__(self):
        return len(self._orig_mod)

    def __bool__(self):
        return bool(self._orig_mod)

    def __getstate__(self):
        state = super().__getstate__()
        del state["_collecting"]
        return state

    def __setstate__(self, state):
        super().__setstate__(state)
        self._start_collecting()


# Without hooks of its own, a call goes straight to `_collecting` and on to the module, whose hooks are met there.
_C._set_called_straight(OptimizedModule)
call_with_hooks = Module.__call__
