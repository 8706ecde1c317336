"""Batches made from a dataset, in whichever process or thread."""

import sys
from functools import partial
from itertools import islice

from wisp import _C
from wisp._C import Tensor
from wisp.utils.data._utils.collate import default_collate, default_convert
from wisp.utils.data.dataset import ConcatDataset, StackDataset, Subset, TensorDataset

_SampleKeys = _C._SampleKeys
END = object()  # what an IterableDataset's fetcher gives when there are no more samples
_NESTS = {StackDataset: lambda d: d._parts(), Subset: lambda d: [d.dataset], ConcatDataset: lambda d: d.datasets}


def _uses(dataset, kind):
    """Whether samples are taken as this class takes them, not by a method of a subclass."""
    cls = type(dataset)
    return all(getattr(cls, name, None) is getattr(kind, name, None) for name in ("__getitem__", "__getitems__"))


def draws_nothing(dataset):
    """Whether taking a sample runs no code but Python's and ours, and so draws no random numbers."""
    if type(dataset) in (list, tuple, range, str, bytes, dict, Tensor) or _uses(dataset, TensorDataset):
        return True
    numpy = sys.modules.get("numpy")
    if numpy is not None and type(dataset) is numpy.ndarray:
        return True
    for kind, parts in _NESTS.items():
        if _uses(dataset, kind):
            return all(map(draws_nothing, parts(dataset)))
    return False


def sized(keys):
    """The keys of a batch, which may be any iterable, as something with a length."""
    return keys if hasattr(keys, "__len__") else list(keys)


def _whole_batches(dataset):
    """A function of a list of keys that gives what default_collate would make of their samples, or None."""
    if _uses(dataset, TensorDataset) and all(type(t) is Tensor for t in dataset.tensors):
        return lambda keys: _rows(dataset.tensors, keys)
    if _uses(dataset, Subset):
        inner, chosen = _whole_batches(dataset.dataset), dataset.indices
        return inner and (lambda keys: inner([chosen[key] for key in keys]))
    return None


def _rows(tensors, keys):
    rows = _C.tensor(keys)
    return [tensor[rows] for tensor in tensors]


def _fetches_many(dataset):
    """Whether several samples are fetched by one call of the user's ``__getitems__``."""
    for kind in (Subset, StackDataset):  # theirs only pass it on
        if _uses(dataset, kind):
            return any(map(_fetches_many, _NESTS[kind](dataset)))
    return callable(getattr(dataset, "__getitems__", None))


class Plan:
    """What fetching needs to know of a loader: this much is sent to its workers."""

    def __init__(self, loader):
        self.dataset, self.collate, self.batched = loader.dataset, loader.collate_fn, loader._auto_collation
        self.batch_size, self.drop_last = loader.batch_size, loader.drop_last
        self.iterable = loader._iterable

    def fetcher(self, seeding, progress, slot=0):
        """A fetcher for one epoch. ``seeding(repeatable)`` makes what seeds its samples."""
        return (IterableFetcher if self.iterable else MapFetcher)(self, seeding, progress, slot)


class MapFetcher:
    """Batches of the samples of some keys.

    ``progress[slot]`` is the place, among the keys, of the sample being fetched; behind the last one while the batch is
    put together.
    """

    def __init__(self, plan, seeding, progress, slot):
        self.dataset, self.collate, self.batched = plan.dataset, plan.collate, plan.batched
        self.progress, self.slot = progress, slot
        known = self.collate in (default_collate, default_convert)
        self._draws_nothing = draws_nothing(self.dataset)
        self._seeding = None if self._draws_nothing and known else seeding(repeatable=True)
        self._whole = _whole_batches(self.dataset) if self.batched and self.collate is default_collate else None
        self._many = _fetches_many(self.dataset)

    def fetch(self, keys, seed, skip=False):
        """The batch of some keys. (There is nothing to ``skip``: keys that are not wanted do not come.)"""
        if self._whole is not None and type(keys) is list and keys and type(keys[0]) is int:
            try:
                return self._whole(keys)
            except (IndexError, TypeError, ValueError, RuntimeError):  # (one by one, the error is that of the sample)
                pass
        if self._seeding is None:
            return self._fetch(keys, None)
        return self._seeding.run(partial(self._fetch, keys), seed)

    def _fetch(self, keys, before, seed=None, twister=None):
        try:
            return self._batch(keys, before, seed, twister) if self.batched else self._one(keys, before)
        except StopIteration as stop:  # it would end the loop over the loader
            raise RuntimeError("the dataset raised StopIteration") from stop

    def _one(self, key, before):
        self.progress[self.slot] = 0
        if before is not None:
            before(key)
        return self.collate(self.dataset[key])

    def _batch(self, keys, before, seed, twister):
        if self._many or self._draws_nothing:
            samples = self._together(keys, before)
        else:
            samples = self._each(keys, before, seed, twister)
        self.progress[self.slot] = len(keys)
        return self.collate(samples)

    def _each(self, keys, before, seed=None, twister=None):
        dataset = self.dataset
        return [dataset[key] for key in _SampleKeys(keys, self.progress, self.slot, before, seed, twister)]

    def _together(self, keys, before):
        """Samples that are fetched by one call, or that draw nothing: one seed for the batch will do."""
        self.progress[self.slot] = 0
        if before is not None:
            before(keys[0] if keys else 0)
        return self.dataset.__getitems__(keys) if self._many else self._each(keys, None)


class IterableFetcher:
    """Batches of the samples that an iterable dataset gives. ``progress[slot]`` counts the samples taken."""

    def __init__(self, plan, seeding, progress, slot):
        self.collate, self.batched = plan.collate, plan.batched
        self.size, self.drop_last = plan.batch_size, plan.drop_last
        self.progress, self.slot = progress, slot
        self._seeding = seeding(repeatable=False)
        self._dataset, self._samples, self._batches, self._ended = plan.dataset, None, 0, False

    def fetch(self, _, seed, skip=False):
        """The next batch, or END. ``skip`` takes its samples and leaves it at that."""
        if self._ended:
            return END
        # Every worker has a stream of its own.
        batch = self._seeding.run(partial(self._fetch, skip), seed + self.slot)
        self._batches += 1
        self._ended = batch is END
        return batch

    def _fetch(self, skip, before, seed=None, twister=None):
        before(self._batches)
        if self._samples is None:
            self.progress[self.slot] = 0
            self._samples = iter(self._dataset)
        found, progress, slot = [], self.progress, self.slot
        for taken, sample in enumerate(
            islice(self._samples, self.size if self.batched else 1), start=progress[slot] + 1
        ):
            progress[slot] = taken
            found.append(sample)
        if not found or (self.batched and self.drop_last and len(found) < self.size):
            return END
        if skip:
            return None
        return self.collate(found if self.batched else found[0])
