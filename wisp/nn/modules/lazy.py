"""Modules that learn the shapes of their parameters from the first input."""

from wisp._C import Tensor
from wisp.nn.parameter import is_lazy

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """The base, besides Module, of modules with uninitialised parameters.

    The first call passes its arguments to ``initialize_parameters()``, which subclasses define and which gives
    parameters their shapes. Then the module becomes one of the class ``cls_to_become``, if there is one.
    """

    cls_to_become = None

    def __call__(self, *args, **kwargs):
        if self.has_uninitialized_params() or self.cls_to_become is not None:
            self._infer_parameters(self, args, kwargs)
            return self(*args, **kwargs)
        return super().__call__(*args, **kwargs)

    def initialize_parameters(self, *args, **kwargs):
        """Gives parameters their shapes, which follow from the arguments of the first call."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self):
        """Whether any parameter or buffer of the module itself has no shape yet."""
        return any(map(is_lazy, (*self._parameters.values(), *self._buffers.values())))

    def _infer_parameters(self, module, args, kwargs=None):
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {type(module).__name__} has not been fully initialized")
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        for name, t in self._saved_tensors():
            destination[prefix + name] = t if keep_vars or is_lazy(t) else t.detach()

    def _load_tensor(self, name, t, value, key, assign):
        if is_lazy(t) and isinstance(value, Tensor):
            if is_lazy(value):
                return None
            t.materialize(value.shape)
        return super()._load_tensor(name, t, value, key, assign)

    def _apply(self, fn, recurse=True):
        shapeless = {name: buffer for name, buffer in self._buffers.items() if is_lazy(buffer)}
        for name, buffer in shapeless.items():
            self._buffers[name] = buffer.data
        super()._apply(fn, recurse)
        for name, buffer in shapeless.items():
            buffer.data = self._buffers[name]
            self._buffers[name] = buffer
        return self
