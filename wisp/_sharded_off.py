"""What programs find as torch.distributed.fsdp, .optim, .tensor and .device_mesh and in torch.nn.parallel while wisp does not train with several
processes: classes, which they ask objects whether they are."""

__all__ = [
    "DTensor",
    "DeviceMesh",
    "DistributedDataParallel",
    "FullyShardedDataParallel",
    "ProcessGroup",
    "ZeroRedundancyOptimizer",
]

__path__ = []  # torch.distributed.fsdp.fully_sharded_data_parallel is this module too


class _Absent:
    def __new__(cls, *args, **kwargs):
        raise TypeError(f"{cls.__name__}: there is no training with several processes while wisp stands in for torch")


class DTensor(_Absent):
    """A tensor whose parts lie in several processes. There are none here: nothing is one."""


class DeviceMesh(_Absent):
    """Processes in rows and columns. There are none here: nothing is one."""


class DistributedDataParallel(_Absent):
    """A model that processes train together. There are none here: nothing is one."""


class FullyShardedDataParallel(_Absent):
    """A model whose parameters are divided among processes. There are none here: nothing is one."""


class ProcessGroup(_Absent):
    """Processes that know of each other. There are none here: nothing is one."""


class ZeroRedundancyOptimizer(_Absent):
    """An optimiser whose state is divided among processes. There are none here: nothing is one."""


def __getattr__(name):
    from wisp._missing import MissingName

    raise MissingName(__name__, name)
