"""utils.data: the random numbers of samples, and epochs that are resumed."""

import pickle
import random

import numpy as np
import pytest

import wisp
from tests import fresh
from tests.datasets import Count, Random, Squares, lists, same
from wisp.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    Sampler,
    Subset,
    SubsetRandomSampler,
    WeightedRandomSampler,
    random_split,
)
from wisp.utils.data._utils import generators

FIVE = list(range(5))


# --- random numbers


def by_key(loader):
    return {key: values for batch in loader for key, *values in zip(*(column.tolist() for column in batch))}


def test_a_sample_sees_the_same_random_numbers_in_any_order_and_batch():
    found = []
    for options in (
        {"batch_size": 4},
        {"batch_size": 7, "shuffle": True},
        {"batch_size": 40, "sampler": range(39, -1, -1)},
    ):
        wisp.manual_seed(9)
        found.append(by_key(DataLoader(Random(), **options)))
    assert found[0] == found[1] == found[2]
    assert len({tuple(values) for values in found[0].values()}) == 40
    wisp.manual_seed(9)
    first, second = by_key(loader := DataLoader(Random(), 4)), by_key(loader)
    assert first == found[0] and all(first[key] != second[key] for key in first)


class Seeds(Dataset):
    """What wisp's generator was seeded with for each sample."""

    def __getitem__(self, key):
        return wisp.initial_seed()


def test_the_seed_of_a_sample_depends_on_any_kind_of_key():
    keys = [0, 5, -1, -(2**63), 2**63 - 1, 2**63, -(2**70), True, np.int32(3), "name", (1, "a"), 2.5] * 8
    loader = DataLoader(Seeds(), batch_size=12, sampler=keys, collate_fn=list)
    iterator = iter(loader)
    epoch = loader._epoch.seed
    for batch in iterator:  # the first ones are watched, and seeded in another way
        assert batch == [generators.seed_of(epoch, key) for key in keys[:12]]


def test_keys_of_a_batch():
    progress, seen = [None, None], []
    keys = wisp._C._SampleKeys([7, 8, "x"], progress, 1, lambda key: seen.append((key, progress[1])), None)
    assert iter(keys) is keys and list(keys) == [7, 8, "x"] and list(keys) == []
    assert seen == [(7, 0), (8, 1), ("x", 2)] and progress == [None, 2]
    assert list(wisp._C._SampleKeys((key for key in "ab"), progress, 0, None, None)) == ["a", "b"]
    with pytest.raises(TypeError, match="not iterable"):
        wisp._C._SampleKeys(3, progress, 0, None, None)
    with pytest.raises(TypeError):
        wisp._C._SampleKeys([3], progress, 0, None, "seed")
    with pytest.raises(TypeError):
        next(wisp._C._SampleKeys([3], (), 0, None, None))
    with pytest.raises(IndexError):
        next(wisp._C._SampleKeys([3], [], 0, None, 1))
    with pytest.raises(ZeroDivisionError):
        next(wisp._C._SampleKeys([3], progress, 0, lambda key: key / 0, None))


def test_a_sample_of_a_subset_sees_its_own_random_numbers():
    found = []
    for size in (4, 7):
        wisp.manual_seed(9)
        (part,) = random_split(Random(), [40], wisp.Generator().manual_seed(1))
        found.append(by_key(DataLoader(Subset(part, range(30)), size)))
    assert found[0] == found[1] and len({tuple(values) for values in found[0].values()}) == 30


def states():
    return random.random(), np.random.rand(), np.random.randn(), random.gauss(0, 1), wisp.rand(()).item()


@pytest.mark.parametrize("dataset", [Random(), Squares(), Count(40)], ids=["draws", "quiet", "stream"])
def test_the_loops_own_random_numbers_are_left_alone(dataset):
    def run(loop):
        random.seed(3)
        np.random.seed(3)
        wisp.manual_seed(3)
        generator = wisp.Generator().manual_seed(1)
        found = [states()]  # leaves cached numbers of random.gauss and numpy.random.randn behind
        for _ in DataLoader(dataset, 1, generator=generator) if loop else range(len(list(DataLoader(dataset, 1)))):
            found.append(states())
        return found

    random_numbers = run(loop=True)
    random.seed(3), np.random.seed(3), wisp.manual_seed(3)
    assert random_numbers == [states() for _ in random_numbers]


class DrawsRarely(Squares):
    def __getitem__(self, index):
        return random.random() if index in (35, 50) else np.random.rand() if index == 51 else 0.0


def test_samples_that_draw_rarely():
    found = []
    for seed in (1, 2):
        random.seed(seed)
        np.random.seed(seed)
        wisp.manual_seed(5)
        before = random.getstate(), np.random.get_state()[1].tolist()
        found.append([x for batch in DataLoader(DrawsRarely(60), 4) for x in batch.tolist()])
        assert before == (random.getstate(), np.random.get_state()[1].tolist())
    assert found[0] == found[1] and len({*found[0]}) == 4


class DrawsNormalsLate(Squares):
    def __getitem__(self, index):
        return np.random.randn() if index > 30 else 0.0


@pytest.mark.parametrize("kept", [False, True])
def test_a_normal_number_that_numpy_keeps_is_nobody_elses(kept):
    """NumPy draws normal numbers in pairs."""
    found = []
    for seed in (1, 2):
        np.random.seed(seed)
        np.random.randn(1 if kept else 2)
        before = np.random.get_state()
        wisp.manual_seed(5)
        found.append([x for batch in DataLoader(DrawsNormalsLate(60), 4) for x in batch.tolist()])
        assert str(np.random.get_state()) == str(before) and before[3] == kept
    assert found[0] == found[1] and len({*found[0]}) == 30


class DrawsLate(Count):
    def __iter__(self):
        for i in range(self.count):
            yield random.random() + np.random.rand() if i > 30 else 0.0


def test_streams_that_draw_late():
    found = []
    for seed in (1, 2):
        random.seed(seed)
        np.random.seed(seed)
        wisp.manual_seed(5)
        found.append(list(DataLoader(DrawsLate(40), None)))
    assert found[0] == found[1] and len({*found[0]}) == 10


@pytest.mark.parametrize("at", [0, 30])
def test_samples_that_import_numpy(at):
    """Its generator starts anywhere then."""
    code = f"""
import sys, wisp
from wisp.utils.data import DataLoader, Dataset

class Late(Dataset):
    def __len__(self):
        return 40
    def __getitem__(self, index):
        if index < {at}:
            return 0.0
        import numpy
        return numpy.random.rand()

wisp.manual_seed(1)
assert "numpy" not in sys.modules
print([x for batch in DataLoader(Late(), 4) for x in batch.tolist()])
"""
    assert fresh.python(code) == fresh.python(code)


def test_samples_that_draw_and_fail():
    class Fails(Squares):
        def __getitem__(self, index):
            if index == 50:
                random.random(), np.random.rand(), wisp.rand(1)
                raise ValueError("bad sample")
            return index

    before = random.getstate(), np.random.get_state()[1].tolist(), wisp.get_rng_state().tolist()
    with pytest.raises(ValueError, match="bad sample"):
        list(DataLoader(Fails(60), 4, generator=wisp.Generator()))
    assert before == (random.getstate(), np.random.get_state()[1].tolist(), wisp.get_rng_state().tolist())


def test_collating_may_draw():
    def noisy(batch):
        return random.random(), wisp.rand(1).item()

    found = []
    for seed in (1, 2):
        random.seed(seed)
        wisp.manual_seed(5)
        found.append(list(DataLoader(FIVE, 2, collate_fn=noisy)))
    assert found[0] == found[1] and len({*found[0]}) == 3


def test_a_loader_with_a_generator_depends_on_it_alone():
    def run(seed):
        wisp.manual_seed(seed)
        return by_key(DataLoader(Random(), 4, shuffle=True, generator=wisp.Generator().manual_seed(8)))

    first, second = run(1), run(2)
    assert first == second and list(first) == list(second)


# --- resuming


def shuffled(dataset=None, **options):
    return DataLoader(Random() if dataset is None else dataset, 4, shuffle=True, **options)


@pytest.mark.parametrize("after", [0, 1, 5, 10])
def test_an_epoch_is_resumed(after):
    loader = shuffled()
    list(loader)
    iterator = iter(loader)
    for _ in range(after):
        next(iterator)
    state = pickle.loads(pickle.dumps(loader.state_dict()))
    want = list(iterator), list(loader)
    wisp.manual_seed(77)
    other = shuffled()
    other.load_state_dict(state)
    got = list(other), list(other)
    assert same(got[0], want[0]) and same(got[1], want[1]) and len(want[0]) == 10 - after
    assert other.state_dict()["epoch"] == loader.state_dict()["epoch"] == 3


def test_between_epochs():
    loader = shuffled()
    fresh_state = loader.state_dict()
    first = list(loader)
    state = loader.state_dict()
    second = list(loader)
    for saved, want in ((state, second), (fresh_state, first)):
        other = shuffled()
        other.load_state_dict(saved)
        assert same(list(other), want)


def test_a_state_that_was_loaded_can_be_saved_again():
    loader = shuffled()
    iterator = iter(loader)
    next(iterator)
    state = loader.state_dict()
    want = list(iterator)
    for _ in range(2):
        other = shuffled()
        other.load_state_dict(state)
        state = other.state_dict()
    assert same(list(other), want)
    other.load_state_dict(state)
    iterator = iter(other)
    next(iterator)
    later = other.state_dict()
    assert later["batches"] == 2
    other.load_state_dict(later)
    assert same(list(other), want[1:])


class Shuffles(Sampler):
    """A sampler that uses Python's random numbers, and one with a state of its own."""

    def __init__(self, stateful=False):
        self.rounds = 0
        if stateful:
            self.state_dict = lambda: {"rounds": self.rounds}
            self.load_state_dict = lambda state: vars(self).update(state)

    def __iter__(self):
        self.rounds += 1
        order = list(range(40))
        random.shuffle(order)
        np.random.shuffle(order)
        yield from order[: 30 + self.rounds]

    def __len__(self):
        return 30


@pytest.mark.parametrize("stateful", [False, True])
def test_samplers_of_the_user_are_resumed(stateful):
    loader = DataLoader(Random(), 4, sampler=Shuffles(stateful))
    list(loader)
    iterator = iter(loader)
    next(iterator), next(iterator)
    state = loader.state_dict()
    want = list(iterator)
    other = DataLoader(Random(), 4, sampler=Shuffles(stateful))
    if not stateful:
        other.sampler.rounds = 1
    random.seed(99)
    other.load_state_dict(state)
    assert same(list(other), want)


@pytest.mark.parametrize("make", [
    lambda g: {"sampler": RandomSampler(range(40), generator=g)},
    lambda g: {"sampler": RandomSampler(range(40), True, 500, generator=g)},
    lambda g: {"sampler": SubsetRandomSampler(range(40), generator=g)},
    lambda g: {"sampler": WeightedRandomSampler([1.0] * 40, 50, generator=g)},
    lambda g: {"batch_sampler": BatchSampler(RandomSampler(range(40), generator=g), 4, True), "batch_size": 1},
    lambda g: {"shuffle": True, "generator": g},
], ids=["random", "replacement", "subset", "weighted", "batch", "shuffle"])  # fmt: skip
def test_samplers_with_generators_are_resumed(make):
    def loader(seed):
        return DataLoader(Squares(40), **{"batch_size": 4, **make(wisp.Generator().manual_seed(seed))})

    first = loader(1)
    iterator = iter(first)
    next(iterator), next(iterator)
    state = first.state_dict()
    want = lists(iterator), lists(first)
    other = loader(2)
    other.load_state_dict(state)
    assert (lists(other), lists(other)) == want


def test_distributed_samplers_are_resumed():
    def loader():
        return DataLoader(Squares(40), 4, sampler=DistributedSampler(range(40), 2, 1))

    first = loader()
    first.sampler.set_epoch(5)
    iterator = iter(first)
    next(iterator)
    state = first.state_dict()
    want = lists(iterator)
    other = loader()
    other.load_state_dict(state)
    assert lists(other) == want and other.sampler.epoch == 5


class Noise(IterableDataset):
    def __iter__(self):
        for i in range(50):
            yield i, random.random(), wisp.rand(())


def test_streams_are_resumed():
    loader = DataLoader(Noise(), 4)
    iterator = iter(loader)
    for _ in range(3):
        next(iterator)
    state = loader.state_dict()
    want = list(iterator)
    other = DataLoader(Noise(), 4)
    other.load_state_dict(state)
    assert same(list(other), want) and len(want) == 10


def test_states_that_do_not_fit():
    with pytest.raises(ValueError, match="expected the state of a DataLoader"):
        shuffled().load_state_dict({"epoch": 1})
    with pytest.raises(ValueError, match="draws from 2 generators, this one has 1"):
        two = DataLoader(FIVE, sampler=RandomSampler(FIVE, generator=wisp.Generator()))
        shuffled().load_state_dict(two.state_dict())
