"""utils.data without workers: datasets, samplers, collating."""

import collections
import doctest
import pathlib

import numpy as np
import pytest

import wisp
from tests import fresh
from tests.datasets import Count, Squares, forking, lists
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
    with pytest.raises(RuntimeError, match="randint"):
        next(iter(RandomSampler([], replacement=True, num_samples=3)))
    generator = wisp.Generator().manual_seed(7)
    keys = iter(RandomSampler(FIVE, generator=generator))  # drawn when the first is asked for
    assert list(keys) == list(RandomSampler(FIVE, generator=generator.manual_seed(7)))
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
