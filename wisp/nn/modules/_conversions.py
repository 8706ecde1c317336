"""Changing all tensors of a module: their dtype, their memory."""

from wisp import _C
from wisp._C import Tensor


def _parse_to(*args, device=None, dtype=None, non_blocking=False, copy=False, memory_format=None, tensor=None):
    """Arguments of Module.to() as PyTorch hands them to modules that have one of their own."""
    dtype, device = _target(*args, tensor, device, dtype)
    return device, dtype, any(arg is True for arg in args) or non_blocking, memory_format


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
    return dtype, device


class Conversions:
    """The part of Module that changes all its tensors."""

    def _apply(self, fn, recurse=True):
        """Replaces the data of all parameters, gradients and buffers by what ``fn`` makes of it."""
        if recurse:
            for child in self.children():
                child._apply(fn)
        for param in self._parameters.values():
            if param is not None:
                grad = param.grad
                changed = fn(param.data)
                if grad is not None and (changed.dtype is not grad.dtype or changed.device != grad.device):
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

    def to(self, *args, **kwargs):
        """Converts parameters and buffers: ``to(dtype)``, ``to(device)``, ``to(tensor)``, or keywords; returns the module.

        Only floating-point and complex tensors change their dtype.
        """
        place, wanted, _, memory_format = _parse_to(*args, **kwargs)
        if wanted is not None and not (wanted.is_floating_point or wanted.is_complex):
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={wanted}"
            )

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
        """The module itself, unless it has no values (device "meta")."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device=None):
        """Fails: there is no such device."""
        return self._apply(lambda t: t.cuda(device))

    def to_empty(self, *, device, recurse=True):
        """Gives all parameters and buffers fresh, uninitialised memory."""
        from wisp import empty_like

        return self._apply(lambda t: empty_like(t, device=device), recurse)
