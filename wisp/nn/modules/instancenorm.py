"""Instance normalisation."""

from wisp.nn.modules.batchnorm import InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from wisp.nn.modules.batchnorm import _InstanceNorm as _InstanceNorm

__all__ = ["InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"]
