"""Datasets that several tests of loading use, and how they look at batches."""

import gc
import multiprocessing
import os
import random
from contextlib import contextmanager

import numpy as np

import wisp
from wisp import _shared_memory
from wisp.utils.data import Dataset, IterableDataset


class Squares(Dataset):
    def __init__(self, count=7):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return index**2


class Count(IterableDataset):
    def __init__(self, count=5):
        self.count = count

    def __iter__(self):
        return iter(range(self.count))


class Random(Dataset):
    """Keys, and numbers from all generators."""

    def __len__(self):
        return 40

    def __getitem__(self, index):
        return index, random.random(), np.random.rand(), wisp.rand(())


class Trouble(Squares):
    """Squares, but the sample ``at`` is trouble."""

    def __init__(self, count=20, trouble=None, at=7):
        super().__init__(count)
        self.trouble, self.at = trouble, at

    def __getitem__(self, index):
        if index == self.at and self.trouble is not None:
            self.trouble()
        return index**2


def lists(batches):
    return [batch.tolist() for batch in batches]


def same(first, second):
    return len(first) == len(second) and all(x.equal(y) for a, b in zip(first, second) for x, y in zip(a, b))


@contextmanager
def forking():
    """Processes are forked, whatever Python's default is: tests send them functions that have no name."""
    before = multiprocessing.get_start_method(allow_none=True)
    multiprocessing.set_start_method("fork", force=True)
    try:
        yield
    finally:
        multiprocessing.set_start_method(before, force=True)


@contextmanager
def nothing_left():
    """Afterwards no process is left, and no file in shared memory."""
    yield
    if multiprocessing.active_children() or os.listdir(_shared_memory.folder()) != ["lock"]:
        gc.collect()  # takes its time
    assert multiprocessing.active_children() == []
    assert os.listdir(_shared_memory.folder()) == ["lock"]
