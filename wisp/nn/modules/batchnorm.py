"""Batch normalisation."""

from wisp import _C
from wisp.nn import functional as F
from wisp.nn.modules.lazy import LazyModuleMixin
from wisp.nn.modules.module import Module
from wisp.nn.parameter import Parameter, UninitializedBuffer, UninitializedParameter

__all__ = [
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d",
    "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "LazyInstanceNorm1d", "LazyInstanceNorm2d",
    "LazyInstanceNorm3d", "SyncBatchNorm",
]  # fmt: skip

_ones, _zeros = _C._functions["ones"], _C._functions["zeros"]


class _NormBase(Module):
    """What normalisations of channels have in common: weights, and running statistics.

    Args:
        num_features: the number of channels.
        eps: added to the variance.
        momentum: how much of every batch goes into the running statistics; None means their plain average.
        affine: whether to have a weight and a bias that are learnt.
        track_running_stats: whether to keep running statistics, which are used in evaluation.
        bias: whether to have the bias.
    """

    _version = 2

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None,
                 dtype=None, *, bias=True):  # fmt: skip
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        how = {"device": device, "dtype": dtype}
        self.register_parameter("weight", Parameter(_ones(num_features, **how)) if affine else None)
        self.register_parameter("bias", Parameter(_zeros(num_features, **how)) if affine and bias else None)
        self.register_buffer("running_mean", _zeros(num_features, **how) if track_running_stats else None)
        self.register_buffer("running_var", _ones(num_features, **how) if track_running_stats else None)
        self.register_buffer("num_batches_tracked", _C.tensor(0) if track_running_stats else None)

    def reset_running_stats(self):
        """Sets the running mean to zero and the running variance to one."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self):
        """Sets the weight to one and the bias to zero, and resets the running statistics."""
        self.reset_running_stats()
        with _C.no_grad():
            if self.weight is not None:
                self.weight.fill_(1)
            if self.bias is not None:
                self.bias.zero_()

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *rest):
        """The first files have no count of batches."""
        if (local_metadata.get("version") or 0) < 2 and self.num_batches_tracked is not None:
            state_dict.setdefault(prefix + "num_batches_tracked", self.num_batches_tracked.clone())
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    def extra_repr(self):
        return (f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
                f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}")  # fmt: skip


def _check_dims(input, *allowed):
    if input.dim() not in allowed:
        expected = " or ".join(f"{n}D" for n in allowed)
        raise ValueError(f"expected {expected} input (got {input.dim()}D input)")


class _BatchNorm(_NormBase):
    """Shifts and scales channels to mean 0 and variance 1 over the batch, then by learnt numbers."""

    _dims = ()

    def _check_input(self, input):
        _check_dims(input, *self._dims)

    def forward(self, input):
        self._check_input(input)
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                momentum = self._share_of_batch()
        from_batch = self.training or self.running_mean is None
        use_running = not self.training or self.track_running_stats
        mean, var = (self.running_mean, self.running_var) if use_running else (None, None)
        return F.batch_norm(input, mean, var, self.weight, self.bias, from_batch, momentum, self.eps)

    def _share_of_batch(self):
        """The momentum of a plain average."""
        return 1.0 / self.num_batches_tracked.item()


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of inputs (N, C) or (N, C, L)."""

    _dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of inputs (N, C, H, W)."""

    _dims = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of inputs (N, C, D, H, W)."""

    _dims = (5,)


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation of any inputs (N, C, ...). Here all of a batch is in one process: there is nothing to sync.

    Args:
        num_features, eps, momentum, affine, track_running_stats: as of the other batch norms.
        process_group: accepted and ignored.
    """

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, process_group=None,
                 device=None, dtype=None, *, bias=True):  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input(self, input):
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.shape[1] == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    @classmethod
    def convert_sync_batchnorm(cls, module, process_group=None):
        """Replaces all batch norms of a network, and returns it (or what replaces it)."""
        found = module
        if isinstance(module, _BatchNorm):
            found = SyncBatchNorm(module.num_features, module.eps, module.momentum, module.affine,
                                  module.track_running_stats, process_group, bias=module.bias is not None)  # fmt: skip
            for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked", "training"):
                setattr(found, name, getattr(module, name))
        for name, child in module.named_children():
            found.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return found


class _InstanceNorm(_NormBase):
    """Shifts and scales channels of every sample on its own to mean 0 and variance 1."""

    _dims = ()

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=False, track_running_stats=False, device=None,
                 dtype=None, *, bias=True):  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input):
        unbatched, batched = self._dims
        _check_dims(input, unbatched, batched)
        samples = input.unsqueeze(0) if input.dim() == unbatched else input
        own = self.training or not self.track_running_stats
        momentum = 0.0 if self.momentum is None else self.momentum
        stats = (self.running_mean, self.running_var)
        result = F.instance_norm(samples, *stats, self.weight, self.bias, own, momentum, self.eps)
        return result.squeeze(0) if samples is not input else result


class InstanceNorm1d(_InstanceNorm):
    """Instance normalisation of inputs (N, C, L) or (C, L)."""

    _dims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Instance normalisation of inputs (N, C, H, W) or (C, H, W)."""

    _dims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Instance normalisation of inputs (N, C, D, H, W) or (C, D, H, W)."""

    _dims = (4, 5)


# --- the same, with num_features taken from the first input


class _LazyNormBase(LazyModuleMixin, _NormBase):
    """A normalisation whose number of channels is that of the first input."""

    def __init__(self, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None, *,
                 bias=True):  # fmt: skip
        # Of no channels: what it is to have is set afterwards, to avoid memory that would be given up at once.
        super().__init__(0, eps, momentum, False, False, device, dtype)
        self.affine, self.track_running_stats = affine, track_running_stats
        how = {"device": device, "dtype": dtype}
        if affine:
            self.weight = UninitializedParameter(**how)
            if bias:
                self.bias = UninitializedParameter(**how)
        if track_running_stats:
            self.running_mean, self.running_var = UninitializedBuffer(**how), UninitializedBuffer(**how)
            self.num_batches_tracked = _C.tensor(0)

    def reset_parameters(self):
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input):
        """Takes the number of channels from the input."""
        if not self.has_uninitialized_params():
            return
        self.num_features = input.shape[1]
        for tensor in (self.weight, self.bias, self.running_mean, self.running_var):
            if tensor is not None:
                tensor.materialize((self.num_features,))
        self.reset_parameters()


class LazyBatchNorm1d(_LazyNormBase, BatchNorm1d):
    """A BatchNorm1d that takes num_features from its first input."""

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNormBase, BatchNorm2d):
    """A BatchNorm2d that takes num_features from its first input."""

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNormBase, BatchNorm3d):
    """A BatchNorm3d that takes num_features from its first input."""

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyNormBase, InstanceNorm1d):
    """An InstanceNorm1d that takes num_features from its first input."""

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNormBase, InstanceNorm2d):
    """An InstanceNorm2d that takes num_features from its first input."""

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNormBase, InstanceNorm3d):
    """An InstanceNorm3d that takes num_features from its first input."""

    cls_to_become = InstanceNorm3d
