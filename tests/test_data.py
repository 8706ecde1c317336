"""utils.data without workers: datasets, samplers, collating, the loader, seeds, resuming."""

import collections
import copy
import doctest
import pathlib
import pickle
import random
import warnings

import numpy as np
import pytest

import wisp
from tests import fresh
from tests.datasets import Count, Squares, forking, lists, same
from wisp.utils import data
from wisp.utils.data import (
    BatchSampler,
    ChainDataset,
    ConcatDataset,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    Sampler,
    SequentialSampler,
    StackDataset,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    default_convert,
    random_split,
)

FIVE = list(range(5))


class Sized(Count):
    def __len__(self):
        return self.count


# --- datasets


def test_datasets_must_say_what_their_samples_are():
    with pytest.raises(NotImplementedError, match="Subclasses of Dataset should implement __getitem__"):
        Dataset()[0]
    with pytest.raises(NotImplementedError):
        iter(IterableDataset())
    with pytest.raises(NotImplementedError):
        iter(Sampler())
    for empty in (Dataset(), Sampler(), IterableDataset()):
        with pytest.raises(TypeError, match="has no len"):
            len(empty)


def test_classes_can_be_subscripted():
    class Typed(Dataset[int]):
        pass

    class Order(Sampler[int]):
        pass

    assert issubclass(Typed, Dataset) and issubclass(Order, Sampler)
    assert isinstance(TensorDataset[wisp.Tensor](wisp.ones(1)), TensorDataset)


def test_tensor_dataset():
    x, y = wisp.arange(6).reshape(3, 2), wisp.tensor([7, 8, 9])
    dataset = TensorDataset(x, y)
    assert len(dataset) == 3 and dataset.tensors[0] is x
    first, second = dataset[2]
    assert first.tolist() == [4, 5] and second.item() == 9
    assert dataset[:2][1].tolist() == [7, 8]
    with pytest.raises(AssertionError, match="Size mismatch between tensors"):
        TensorDataset(wisp.ones(2), wisp.ones(3))
    with pytest.raises(IndexError):
        dataset[3]


def test_stack_dataset():
    assert StackDataset("abc", FIVE[:3])[1] == ("b", 1)
    named = StackDataset(text="abc", number=FIVE[:3])
    assert named[2] == {"text": "c", "number": 2} and len(named) == 3
    assert named.__getitems__([0, 2]) == [{"text": "a", "number": 0}, {"text": "c", "number": 2}]
    nested = StackDataset(Subset(FIVE, [4, 3]), "ab")
    assert nested.__getitems__([1, 0]) == [(3, "b"), (4, "a")]
    with pytest.raises(ValueError, match="At least one dataset"):
        StackDataset()
    with pytest.raises(ValueError, match="both types are given"):
        StackDataset(FIVE, a=FIVE)
    for bad in (lambda: StackDataset(FIVE, "ab"), lambda: StackDataset(a=FIVE, b="ab")):
        with pytest.raises(ValueError, match="Size mismatch between datasets"):
            bad()

    class Short(Dataset):
        def __len__(self):
            return 2

        def __getitems__(self, indices):
            return [0]

    with pytest.raises(ValueError, match="output size mismatch. Expected 2, got 1"):
        StackDataset(Short()).__getitems__([0, 1])


def test_concat_dataset():
    both = ConcatDataset([FIVE, "abc"])
    assert [both[i] for i in range(8)] == [0, 1, 2, 3, 4, "a", "b", "c"]
    assert both[-1] == "c" and both[-8] == 0 and len(both) == 8 and both.cumulative_sizes == [5, 8]
    assert [(Squares() + Squares())[i] for i in (6, 7)] == [36, 0]
    with pytest.raises(ValueError, match="absolute value of index should not exceed dataset length"):
        both[-9]
    with pytest.raises(IndexError):
        both[8]
    with pytest.raises(AssertionError, match="datasets should not be an empty iterable"):
        ConcatDataset([])
    with pytest.raises(AssertionError, match="ConcatDataset does not support IterableDataset"):
        ConcatDataset([Count()])
    with pytest.warns(FutureWarning, match="renamed"):
        assert both.cummulative_sizes == [5, 8]


def test_chain_dataset():
    assert list(ChainDataset([Count(2), Count(3)])) == [0, 1, 0, 1, 2]
    assert list(Count(2) + Count(1)) == [0, 1, 0]
    assert len(ChainDataset([Sized(2), Sized(3)])) == 5
    assert lists(DataLoader(ChainDataset([Count(2), Count(3)]), batch_size=3)) == [[0, 1, 0], [1, 2]]
    with pytest.raises(AssertionError, match="ChainDataset only supports IterableDataset"):
        list(ChainDataset([FIVE]))


def test_subset():
    subset = Subset(Squares(), [6, 2])
    assert [subset[0], subset[1]] == [36, 4] and len(subset) == 2
    assert subset.__getitems__([1, 0]) == [4, 36]
    rows = Subset(TensorDataset(wisp.arange(5)), [4, 2, 0])
    assert rows[[0, 2]][0].tolist() == [4, 0]
    with pytest.raises(IndexError):
        subset[2]


def test_random_split():
    parts = random_split(range(10), [3, 7], wisp.Generator().manual_seed(1))
    again = random_split(range(10), [3, 7], generator=wisp.Generator().manual_seed(1))
    assert [part.indices for part in parts] == [part.indices for part in again]
    assert sorted(parts[0].indices + parts[1].indices) == list(range(10))
    assert [len(part) for part in random_split(range(10), [0.3, 0.3, 0.4])] == [3, 3, 4]
    assert [len(part) for part in random_split(range(11), [0.5, 0.25, 0.25])] == [6, 3, 2]
    with pytest.warns(UserWarning, match="Length of split at index 1 is 0"):
        random_split(FIVE, [0.9, 0.1])
    for lengths in ([2, 2], [0.5, 0.6], [-0.5, 0.5], [0.1, 0.1]):
        with pytest.raises(ValueError, match="Sum of input lengths does not equal"):
            random_split(FIVE, lengths)
    with pytest.raises(ValueError, match="Fraction at index 0 is not between 0 and 1"):
        random_split(FIVE, [1.5, -0.5])


# --- samplers


def test_sequential_and_batch_samplers():
    assert list(SequentialSampler("abc")) == [0, 1, 2] and len(SequentialSampler("abc")) == 3
    for drop_last, want in ((False, [[0, 1], [2, 3], [4]]), (True, [[0, 1], [2, 3]])):
        sampler = BatchSampler(SequentialSampler(FIVE), 2, drop_last)
        assert list(sampler) == want and len(sampler) == len(want)
    assert list(BatchSampler(iter("abc"), 2, False)) == [["a", "b"], ["c"]]
    for size in (0, -1, 1.5, True, "2"):
        with pytest.raises(ValueError, match="batch_size should be a positive integer value"):
            BatchSampler(FIVE, size, False)
    with pytest.raises(ValueError, match="drop_last should be a boolean value"):
        BatchSampler(FIVE, 2, 1)


def test_random_sampler():
    sampler = RandomSampler(range(100))
    first, second = list(sampler), list(sampler)
    assert sorted(first) == sorted(second) == list(range(100)) and first != second
    wisp.manual_seed(3)
    first = list(sampler)
    wisp.manual_seed(3)
    assert list(sampler) == first
    assert len(RandomSampler(FIVE, num_samples=12)) == 12
    many = list(RandomSampler(FIVE, num_samples=12))
    assert sorted(many[:5]) == sorted(many[5:10]) == FIVE and len(many) == 12
    drawn = list(RandomSampler(FIVE, replacement=True, num_samples=10_000))
    assert len(drawn) == 10_000 and min(collections.Counter(drawn).values()) > 1800
    own = [list(RandomSampler(FIVE, generator=wisp.Generator().manual_seed(7))) for _ in range(2)]
    assert own[0] == own[1]
    with pytest.raises(TypeError, match="replacement should be a boolean value"):
        RandomSampler(FIVE, replacement=1)
    for bad in (0, -1, 1.5):
        with pytest.raises(ValueError, match="num_samples should be a positive integer value"):
            RandomSampler(FIVE, num_samples=bad)
    with pytest.raises(ValueError, match="num_samples=0"):
        RandomSampler([])


def test_subset_random_sampler():
    sampler = SubsetRandomSampler("abcdefgh", wisp.Generator().manual_seed(1))
    first, second = list(sampler), list(sampler)
    assert sorted(first) == sorted(second) == list("abcdefgh") and first != second and len(sampler) == 8


def test_weighted_random_sampler():
    drawn = collections.Counter(WeightedRandomSampler([0.0, 1.0, 3.0], 4000))
    assert drawn[0] == 0 and 2.6 < drawn[2] / drawn[1] < 3.5
    assert sorted(WeightedRandomSampler([1.0, 2.0, 3.0], 3, replacement=False)) == [0, 1, 2]
    assert len(WeightedRandomSampler([1.0], 7)) == 7
    assert WeightedRandomSampler([1, 2], 1).weights.dtype is wisp.float64
    with pytest.raises(ValueError, match=r"weights should be a 1d sequence but given weights have shape \(1, 2\)"):
        WeightedRandomSampler([[1, 2]], 1)
    with pytest.raises(ValueError, match="num_samples should be a positive"):
        WeightedRandomSampler([1, 2], 0)
    with pytest.raises(ValueError, match="replacement should be a boolean"):
        WeightedRandomSampler([1, 2], 1, replacement=3)
    with pytest.raises(RuntimeError, match="without replacement"):
        list(WeightedRandomSampler([1.0, 2.0], 5, replacement=False))


def test_distributed_sampler():
    def shares(n, count, **options):
        return [list(DistributedSampler(range(n), count, rank, **options)) for rank in range(count)]

    assert shares(5, 2, shuffle=False) == [[0, 2, 4], [1, 3, 0]]
    assert shares(5, 2, shuffle=False, drop_last=True) == [[0, 2], [1, 3]]
    assert shares(1, 3, shuffle=False) == [[0], [0], [0]]
    assert shares(6, 3, shuffle=False) == [[0, 3], [1, 4], [2, 5]]
    assert sorted(n for share in shares(10, 2) for n in share) == list(range(10))
    sampler = DistributedSampler(range(50), 2, 0, seed=3)
    first = list(sampler)
    assert list(sampler) == first and len(sampler) == 25
    sampler.set_epoch(1)
    assert list(sampler) != first
    sampler.set_epoch(0)
    assert list(sampler) == first
    for rank in (-1, 2):
        with pytest.raises(ValueError, match=rf"Invalid rank {rank}, rank should be in the interval \[0, 1\]"):
            DistributedSampler(FIVE, 2, rank)
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        DistributedSampler(FIVE)
    assert data.distributed.DistributedSampler is DistributedSampler


# --- collating

Pair = collections.namedtuple("Pair", "x y")


class Word(str):
    __slots__ = ()


class Odd(collections.abc.Sequence):
    """A sequence that cannot be made of a list."""

    def __init__(self, x, y):
        self.items = x, y

    def __getitem__(self, i):
        return self.items[i]

    def __len__(self):
        return 2


def test_collate():
    def check(batch, want, dtype=None):
        got = default_collate(batch)
        assert type(got) is type(want) or isinstance(got, wisp.Tensor)
        assert (got.tolist() if isinstance(got, wisp.Tensor) else plain(got)) == want
        assert dtype is None or got.dtype is dtype

    def plain(nest):
        if isinstance(nest, wisp.Tensor):
            return nest.tolist()
        if isinstance(nest, dict):
            return {key: plain(value) for key, value in nest.items()}
        if isinstance(nest, Pair):
            return Pair(*map(plain, nest))
        return type(nest)(map(plain, nest)) if isinstance(nest, (list, collections.deque)) else nest

    check([1, 2], [1, 2], wisp.int64)
    check([1.5, 2], [1.5, 2.0], wisp.float64)
    check([1, 2.5], [1, 2.5], wisp.float32)
    check([True, False], [True, False], wisp.bool)
    check([wisp.ones(2), wisp.zeros(2)], [[1, 1], [0, 0]], wisp.float32)
    check(["a", "b"], ["a", "b"])
    check([b"a", b"b"], [b"a", b"b"])
    check([Word("a")], ["a"])
    check([(1, "a"), (2, "b")], [[1, 2], ("a", "b")])
    check([[1, 2], [3, 4]], [[1, 3], [2, 4]])
    check([{"a": 1, "b": [2]}, {"a": 3, "b": [4]}], {"a": [1, 3], "b": [[2, 4]]})
    check([Pair(1, 2), Pair(3, 4)], Pair([1, 3], [2, 4]))
    check([collections.deque([1, 2])] * 2, collections.deque([[1, 1], [2, 2]]))
    check([range(2), range(2)], [[0, 0], [1, 1]])
    check([np.float32(1), np.float32(2)], [1, 2], wisp.float32)
    check([np.int16(1)], [1], wisp.int16)
    check([np.bool_(1)], [True], wisp.bool)
    check([np.float64(1.5)], [1.5], wisp.float64)
    check([np.zeros(2), np.ones(2)], [[0, 0], [1, 1]], wisp.float64)
    check([np.array(3.0), np.array(4.0)], [3, 4], wisp.float64)
    check([np.str_("a")], ["a"])
    ordered = default_collate([collections.OrderedDict(b=1, a=2)] * 2)
    assert type(ordered) is collections.OrderedDict and list(ordered) == ["b", "a"]
    made = default_collate([collections.defaultdict(list, a=1)])
    assert made.default_factory is list and made["a"].tolist() == [1]
    assert [c.tolist() for c in default_collate([Odd(1, 2), Odd(3, 4)])] == [[1, 3], [2, 4]]
    assert default_collate([wisp.ones(2, requires_grad=True)]).requires_grad


def test_what_cannot_be_collated():
    for bad in (None, 1j, {1}, object()):
        with pytest.raises(
            TypeError, match="default_collate: batch must contain tensors, numpy arrays, numbers, dicts or"
        ):
            default_collate([bad])
    for bad, found in ((np.array("a"), "<U1"), (np.array([object()]), "object")):
        with pytest.raises(TypeError, match=f"found {found}"):
            default_collate([bad])
    with pytest.raises(RuntimeError, match="each element in list of batch should be of equal size"):
        default_collate([[1], [1, 2]])
    with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size"):
        default_collate([wisp.ones(2), wisp.ones(3)])
    with pytest.raises(KeyError):
        default_collate([{"a": 1}, {"b": 2}])
    with pytest.raises(IndexError):
        default_collate([])


def test_convert():
    assert default_convert(np.zeros(2)).dtype is wisp.float64
    assert default_convert(np.float32(3)).item() == 3
    for same_object in (1, 1.5, "a", b"x", None, {1}, np.array("a"), wisp.ones(1)):
        assert default_convert(same_object) is same_object
    nest = default_convert({"a": np.ones(1), "b": (np.ones(1), 2), "c": Pair(np.ones(1), "x"), "d": [np.ones(1)]})
    assert isinstance(nest["a"], wisp.Tensor) and isinstance(nest["b"][0], wisp.Tensor) and type(nest["b"]) is list
    assert type(nest["c"]) is Pair and isinstance(nest["c"].x, wisp.Tensor) and isinstance(nest["d"][0], wisp.Tensor)


def test_classes_can_be_taught_to_collate():
    from wisp.utils.data._utils.collate import collate, default_collate_fn_map

    class Box:
        def __init__(self, value):
            self.value = value

    def boxes(batch, *, collate_fn_map=None):
        return Box(collate([box.value for box in batch], collate_fn_map=collate_fn_map))

    with_boxes = {Box: boxes, **default_collate_fn_map}
    assert collate([(Box(1), 2)] * 2, collate_fn_map=with_boxes)[0].value.tolist() == [1, 1]
    default_collate_fn_map[Box] = boxes
    try:
        assert next(iter(DataLoader([Box(3), Box(4)], 2))).value.tolist() == [3, 4]
    finally:
        del default_collate_fn_map[Box]


# --- the loader


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


# --- the rest


def test_examples_in_the_documentation():
    from wisp.utils.data import dataloader, dataset, distributed, sampler
    from wisp.utils.data._utils import collate

    for module in (dataloader, dataset, distributed, sampler, collate):
        assert doctest.testmod(module, extraglobs={"wisp": wisp}).failed == 0


def test_the_guide(tmp_path):
    page = pathlib.Path(__file__).parent.parent / "docs" / "data.md"
    if not page.exists():
        pytest.skip("needs the source tree")
    code = tmp_path / "data.md"
    code.write_text(page.read_text().replace("```", ""))
    with forking():
        assert doctest.testfile(str(code), module_relative=False).failed == 0


def test_importing_it_imports_little():
    loaded = fresh.python("import wisp.utils.data, sys; print(*sys.modules)", "-S").split()
    assert not {"numpy", "typing", "multiprocessing", "ctypes", "wisp.nn", "wisp.multiprocessing"} & {*loaded}


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
