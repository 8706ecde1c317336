"""DataLoader without workers: batches, arguments, errors."""

import copy
import pickle
import random
import warnings

import numpy as np
import pytest

import wisp
from tests.datasets import Count, Squares, lists, same
from wisp.utils import data
from wisp.utils.data import (
    DataLoader,
    Subset,
    TensorDataset,
    default_collate,
    default_convert,
)

FIVE = list(range(5))


class Sized(Count):
    def __len__(self):
        return self.count


# --- batches


def test_batches():
    assert lists(DataLoader(FIVE)) == [[0], [1], [2], [3], [4]]
    assert lists(DataLoader(FIVE, 2)) == [[0, 1], [2, 3], [4]]
    assert lists(DataLoader(FIVE, 2, drop_last=True)) == [[0, 1], [2, 3]]
    assert list(DataLoader(FIVE, None)) == FIVE
    assert lists(DataLoader(Squares(), 4)) == [[0, 1, 4, 9], [16, 25, 36]]
    assert lists(DataLoader(FIVE, sampler=[4, 0])) == [[4], [0]]
    assert lists(DataLoader(FIVE, batch_sampler=[[4, 0], (1,), iter([2, 3])])) == [[4, 0], [1], [2, 3]]
    assert lists(DataLoader({"a": 1, "b": 2}, 2, sampler=["b", "a"])) == [[2, 1]]
    assert list(DataLoader(FIVE, 2, collate_fn=sum)) == [1, 5, 4]
    assert list(DataLoader([])) == []
    assert lists(DataLoader(wisp.arange(4), 2)) == [[0, 1], [2, 3]]
    assert lists(DataLoader(np.arange(4), 2)) == [[0, 1], [2, 3]]
    assert sorted(n for batch in lists(DataLoader(FIVE, 2, shuffle=True)) for n in batch) == FIVE


def test_lengths():
    assert [len(DataLoader(FIVE, size)) for size in (1, 2, 5, 7, None)] == [5, 3, 1, 1, 5]
    assert len(DataLoader(FIVE, 2, drop_last=True)) == 2
    assert len(iter(DataLoader(FIVE, 2))) == 3
    assert [len(DataLoader(Sized(5), size)) for size in (2, 5, None)] == [3, 1, 5]
    assert len(DataLoader(Sized(5), 2, drop_last=True)) == 2
    with pytest.raises(TypeError, match="has no len"):
        len(DataLoader(Count()))


def test_streams():
    assert lists(DataLoader(Count(), 2)) == [[0, 1], [2, 3], [4]]
    assert lists(DataLoader(Count(), 2, drop_last=True)) == [[0, 1], [2, 3]]
    assert list(DataLoader(Count(), None)) == FIVE
    assert list(DataLoader(Count(0), 2)) == []
    iterator = iter(DataLoader(Count(1)))
    next(iterator)
    for _ in range(2):
        with pytest.raises(StopIteration):
            next(iterator)

    class Longer(Sized):
        def __iter__(self):
            return iter(range(7))

    loader = DataLoader(Longer(5), 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(loader)) == 7
    assert len(loader) == 5
    with pytest.warns(UserWarning, match="was reported to be 5"):
        list(loader)


def test_whole_batches_are_what_samples_one_by_one_give():
    class OneByOne(TensorDataset):
        def __getitem__(self, index):
            return super().__getitem__(index)

    tensors = wisp.rand(20, 3), wisp.arange(20), wisp.rand(20, 2, 2, requires_grad=True)
    for wrap in (lambda d: d, lambda d: Subset(d, range(19, 0, -2)), lambda d: Subset(Subset(d, range(9)), [3, 1, 2])):
        fast, slow = (list(DataLoader(wrap(kind(*tensors)), 4)) for kind in (TensorDataset, OneByOne))
        assert same(fast, slow) and type(fast[0]) is type(slow[0])
        assert fast[0][2].requires_grad
    loader = DataLoader(TensorDataset(wisp.arange(5)), batch_sampler=[[0, -1], [wisp.tensor(2), 1]])
    assert [batch.tolist() for (batch,) in loader] == [[0, 4], [2, 1]]
    with pytest.raises(IndexError):
        list(DataLoader(TensorDataset(wisp.arange(5)), sampler=[7]))


def test_getitems_is_used():
    class Many(Squares):
        def __getitem__(self, index):
            raise AssertionError("one by one")

        def __getitems__(self, indices):
            return [index**2 for index in indices]

    assert lists(DataLoader(Many(), 4)) == [[0, 1, 4, 9], [16, 25, 36]]
    assert lists(DataLoader(Subset(Many(), [3, 2]), 2)) == [[9, 4]]


def test_stop_iteration_of_a_sample_is_not_the_end():
    class Stops(Squares):
        def __getitem__(self, index):
            raise StopIteration

    with pytest.raises(RuntimeError, match="StopIteration"):
        list(DataLoader(Stops()))


def test_errors_of_samples_are_raised_as_they_are():
    with pytest.raises(KeyError, match="^0") as caught:
        list(DataLoader({1: 2}))
    with pytest.raises(KeyError, match="^8") as in_a_batch:
        list(DataLoader({1: 2}, batch_sampler=[[1, 1], iter([1, 8, 1])]))
    if hasattr(caught.value, "__notes__"):
        assert caught.value.__notes__ == ["DataLoader: at sample 0"]
        assert in_a_batch.value.__notes__ == ["DataLoader: at sample 8"]


ERRORS = {
    "num_workers option should be non-negative": lambda: DataLoader(FIVE, num_workers=-1),
    "timeout option should be non-negative": lambda: DataLoader(FIVE, timeout=-1),
    "prefetch_factor option could only be specified in multiprocessing": lambda: DataLoader(FIVE, prefetch_factor=2),
    "prefetch_factor option should be positive": lambda: DataLoader(FIVE, num_workers=1, prefetch_factor=0),
    "persistent_workers option needs num_workers > 0": lambda: DataLoader(FIVE, persistent_workers=True),
    "expected unspecified shuffle option, but got shuffle=True": lambda: DataLoader(Count(), shuffle=True),
    r"expected unspecified sampler option, but got sampler=\[1\]": lambda: DataLoader(Count(), sampler=[1]),
    "expected unspecified batch_sampler option": lambda: DataLoader(Count(), batch_sampler=[[1]]),
    "sampler option is mutually exclusive with shuffle": lambda: DataLoader(FIVE, sampler=[1], shuffle=True),
    "batch_sampler option is mutually exclusive": lambda: DataLoader(FIVE, batch_sampler=[[1]], batch_size=2),
    "batch_size=None option disables auto-batching": lambda: DataLoader(FIVE, None, drop_last=True),
    "batch_size should be a positive integer value, but got batch_size=0": lambda: DataLoader(FIVE, 0),
    "multiprocessing_context can only be used with": lambda: DataLoader(FIVE, multiprocessing_context="fork"),
    "should specify a valid start method in": lambda: DataLoader(FIVE, num_workers=1, multiprocessing_context="x"),
    'worker_type should be "process" or "thread"': lambda: DataLoader(FIVE, worker_type="fibre"),
}


@pytest.mark.parametrize("message", ERRORS)
def test_wrong_arguments(message):
    with pytest.raises(ValueError, match=message):
        ERRORS[message]()


def test_contexts():
    with pytest.raises(TypeError, match="should be a valid context object"):
        DataLoader(FIVE, num_workers=1, multiprocessing_context=3)
    loader = DataLoader(FIVE, num_workers=1, multiprocessing_context="spawn")
    assert loader.multiprocessing_context.get_start_method() == "spawn"
    loader.multiprocessing_context = None
    assert loader.multiprocessing_context is None


@pytest.mark.parametrize(
    "name", ["batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"]
)
def test_what_cannot_change(name):
    loader = DataLoader(FIVE)
    with pytest.raises(ValueError, match=f"{name} attribute should not be set after DataLoader is initialized"):
        setattr(loader, name, 1)
    loader.num_workers = 0


def test_accepted_and_remembered():
    loader = DataLoader(FIVE, 2, pin_memory=True, pin_memory_device="cuda", num_workers=1)
    assert loader.pin_memory and loader.pin_memory_device == "cuda"
    assert loader.prefetch_factor == 2 and DataLoader(FIVE).prefetch_factor is None
    assert loader.collate_fn is default_collate and DataLoader(FIVE, None).collate_fn is default_convert
    assert loader.batch_sampler.sampler is loader.sampler and loader.in_order and loader.timeout == 0


def test_too_many_workers_are_warned_of():
    with pytest.warns(UserWarning, match="This DataLoader will create 10000 worker processes"):
        DataLoader(FIVE, num_workers=10_000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DataLoader(FIVE, num_workers=10_000, worker_type="thread")


def test_loaders_are_copied_and_pickled():
    loader = DataLoader(Squares(), 3, shuffle=True)
    next(iter(loader))
    for other in (copy.deepcopy(loader), pickle.loads(pickle.dumps(loader))):
        wisp.manual_seed(1)
        want = lists(loader)
        wisp.manual_seed(1)
        assert lists(other) == want


@pytest.mark.parametrize("seed", [0, 1])
def test_orders_agree_with_pytorch_where_nothing_is_random(seed):
    torch = pytest.importorskip("torch")
    ours, theirs = data, torch.utils.data
    rng = random.Random(seed)
    for _ in range(20):
        n, size = rng.randrange(1, 30), rng.randrange(1, 8)
        drop, ranks = rng.random() < 0.5, rng.randrange(1, 5)
        for rank in range(ranks):
            made = [lib.DistributedSampler(range(n), ranks, rank, False, 0, drop) for lib in (ours, theirs)]
            assert list(made[0]) == list(made[1]) and len(made[0]) == len(made[1])
        batches = [[b.tolist() for b in lib.DataLoader(range(n), size, drop_last=drop)] for lib in (ours, theirs)]
        assert batches[0] == batches[1]
        fractions = [0.2, 0.3, 0.5]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert [len(p) for p in ours.random_split(range(n), fractions)] == [
                len(p) for p in theirs.random_split(range(n), fractions)]  # fmt: skip
