"""Samples divided among processes that train together."""

import math

from wisp import _C
from wisp.utils.data.sampler import Sampler

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler):
    """The share of one process (``rank``) out of ``num_replicas``, as many samples for each.

    Call ``set_epoch(epoch)`` before every epoch, in all processes alike, for another random order. What is missing to
    equal shares is taken from the beginning again, or, with ``drop_last``, the rest is left out.

    >>> list(wisp.utils.data.DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))
    [1, 3, 0]
    """

    def __init__(self, dataset, num_replicas=None, rank=None, shuffle=True, seed=0, drop_last=False):
        num_replicas = _group().get_world_size() if num_replicas is None else num_replicas
        rank = _group().get_rank() if rank is None else rank
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.shuffle, self.seed, self.drop_last, self.epoch = shuffle, seed, drop_last, 0
        n = len(dataset)
        self.num_samples = n // num_replicas if drop_last else math.ceil(n / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def _order(self):
        n = len(self.dataset)
        if not self.shuffle:
            return list(range(n))
        generator = _C.Generator().manual_seed(self.seed + self.epoch)
        return _C._functions["randperm"](n, generator=generator).tolist()

    def __iter__(self):
        order = self._order()
        if not self.drop_last and order:
            order *= math.ceil(self.total_size / len(order))
        return iter(order[self.rank : self.total_size : self.num_replicas])

    def __len__(self):
        return self.num_samples

    def set_epoch(self, epoch):
        """Says which epoch the next pass is: each has an order of its own."""
        self.epoch = epoch


def _group():
    """The processes that train together, if wisp knows of any."""
    import wisp.distributed as group

    if not group.is_available() or not group.is_initialized():
        raise ValueError("Default process group has not been initialized: pass num_replicas and rank")
    return group
