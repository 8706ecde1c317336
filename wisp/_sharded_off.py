"""What programs find as torch.distributed.fsdp, torch.distributed.optim and in torch.nn.parallel while wisp does not train with
several processes: classes, which they ask objects whether they are."""

__all__ = ["DistributedDataParallel", "FullyShardedDataParallel", "ZeroRedundancyOptimizer"]


class _Absent:
    def __new__(cls, *args, **kwargs):
        raise TypeError(f"{cls.__name__}: there is no training with several processes while wisp stands in for torch")


class DistributedDataParallel(_Absent):
    """A model that processes train together. There are none here: nothing is one."""


class FullyShardedDataParallel(_Absent):
    """A model whose parameters are divided among processes. There are none here: nothing is one."""


class ZeroRedundancyOptimizer(_Absent):
    """An optimiser whose state is divided among processes. There are none here: nothing is one."""


def __getattr__(name):
    from wisp._missing import MissingName

    raise MissingName(__name__, name)
