"""What programs find as torch.distributed.fsdp while wisp does not divide models among processes: the class, which they
ask modules whether they are."""

__all__ = ["FullyShardedDataParallel"]


class FullyShardedDataParallel:
    """A model whose parameters are divided among processes. There are none here: nothing is one."""

    def __new__(cls, *args, **kwargs):
        raise TypeError(
            "FullyShardedDataParallel: models are not divided among processes while wisp stands in for torch"
        )


def __getattr__(name):
    from wisp._missing import MissingName

    raise MissingName("torch.distributed.fsdp", name)
