"""A module as ``wisp.compile`` returns it."""

from wisp import _C
from wisp._lazy import _LARGE
from wisp.nn.modules.module import Module


class OptimizedModule(Module):
    """The module it was made of, with calls on many elements fused. Whatever else is asked of it, that module answers."""

    def __init__(self, module):
        super().__init__()
        self._orig_mod = module
        self.training = module.training
        self.__dict__["_collecting"] = _C._Collected(module, _LARGE, True)

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
