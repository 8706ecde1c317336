"""DataLoader's workers: the same batches as without them, and no hanging, whatever happens."""

import gc
import multiprocessing
import os
import random
import threading
import time

import numpy as np
import pytest

import wisp
from tests import fresh
from tests.datasets import Random, Squares, lists, same
from wisp.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset, get_worker_info

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
    pytest.mark.usefixtures("forked_and_gone"),
]
BOTH = pytest.mark.parametrize("kind", ["process", "thread"])


class Stream(IterableDataset):
    """Every worker has its share; ``lengths`` are those of the shares."""

    def __init__(self, *lengths):
        self.lengths = lengths

    def __iter__(self):
        info = get_worker_info()
        worker = 0 if info is None else info.id
        for i in range(self.lengths[worker]):
            yield worker * 100 + i


# --- batches


@BOTH
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_batches_are_those_of_the_loop(kind, workers):
    want = lists(DataLoader(Squares(), batch_size=3))
    assert lists(DataLoader(Squares(), batch_size=3, num_workers=workers, worker_type=kind)) == want


def test_random_numbers_do_not_depend_on_the_number_of_workers():
    found = []
    for workers in (0, 1, 2, 3):
        wisp.manual_seed(5)
        loader = DataLoader(Random(), batch_size=4, shuffle=True, num_workers=workers)
        found.append([list(loader), list(loader)])
    assert all(same(a, b) for other in found[1:] for a, b in zip(other, found[0]))
    assert not same(*found[0])


class NoisyStream(Stream):
    def __iter__(self):
        for _ in super().__iter__():
            yield random.random()


def test_streams_of_workers_have_different_random_numbers():
    wisp.manual_seed(5)
    drawn = list(DataLoader(NoisyStream(4, 4), batch_size=None, num_workers=2))
    assert len({*drawn}) == 8
    wisp.manual_seed(5)
    alone = list(DataLoader(NoisyStream(4), batch_size=None))
    assert alone == drawn[::2]  # one worker gives what none gives


class DrawsRarely(Dataset):
    def __len__(self):
        return 60

    def __getitem__(self, index):
        return (index, random.random()) if index in (40, 41) else (index, 0.0)


def test_samples_that_draw_after_many_that_did_not():
    found = []
    for workers in (0, 2):
        wisp.manual_seed(5)
        random.seed(workers)
        found.append(list(DataLoader(DrawsRarely(), batch_size=4, num_workers=workers)))
    assert same(*found)
    drawn = wisp.cat([values for _, values in found[0]])
    assert drawn[40] != drawn[41] and drawn.count_nonzero() == 2


class FromWorker(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, index):
        rng = get_worker_info().rng
        return rng.random_generator.random(), rng.numpy_generator.random(), wisp.rand(1, generator=rng.torch_generator)


def test_workers_have_generators_of_their_own():
    found = []
    for workers, kind in ((1, "thread"), (3, "thread"), (2, "process")):
        wisp.manual_seed(5)
        found.append(list(DataLoader(FromWorker(), batch_size=2, num_workers=workers, worker_type=kind)))
    assert same(*found[:2]) and same(*found[1:])
    assert len({x for batch in found[0] for x in batch[0].tolist()}) == 12


@BOTH
def test_batches_can_be_kept_and_written(kind):
    images = TensorDataset(wisp.arange(40.0)[:, None].expand(40, 5000))
    batches = [batch for (batch,) in DataLoader(images, batch_size=4, num_workers=2, worker_type=kind)]
    assert [batch[0, 0].item() for batch in batches] == [0, 4, 8, 12, 16, 20, 24, 28, 32, 36]
    batches[0].add_(1)
    assert batches[0][:, 7].tolist() == [1, 2, 3, 4]
    assert batches[1][:, 7].tolist() == [4, 5, 6, 7]


class Mixed(Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, index):
        image = wisp.arange(2 * 3 * 50 * 50.0).reshape(2, 3, 50, 50).to(memory_format=wisp.channels_last)
        leaf = wisp.ones(3, requires_grad=True)
        wide = wisp.zeros(100_000)[::2]
        return {"image": image, "leaf": leaf, "wide": wide, "array": np.ones(9000), "none": None, "empty": wisp.ones(0, 3),
                "half": wisp.ones((), dtype=wisp.bfloat16), "complex": wisp.ones(2, dtype=wisp.complex128),
                "twice": [leaf, leaf], "parameter": wisp.nn.Parameter(wisp.ones(2)), "text": "a" * 10}  # fmt: skip


def test_anything_can_be_a_sample():
    first, _ = DataLoader(Mixed(), batch_size=None, num_workers=1, collate_fn=lambda sample: sample)
    here = Mixed()[0]
    for name in ("image", "leaf", "wide", "empty", "half", "complex", "parameter"):
        assert first[name].equal(here[name]) and first[name].dtype is here[name].dtype, name
    assert first["image"].is_contiguous(memory_format=wisp.channels_last)
    assert first["leaf"].requires_grad and first["twice"][0] is first["leaf"]
    assert type(first["parameter"]) is wisp.nn.Parameter
    assert (first["array"] == 1).all() and first["array"].flags.writeable
    assert first["none"] is None and first["text"] == "aaaaaaaaaa"


class Constant(Dataset):
    """All samples are one tensor in shared memory."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __len__(self):
        return 4

    def __getitem__(self, index):
        self.tensor[index] += 1
        return self.tensor


def test_shared_tensors_stay_shared():
    dataset = Constant(wisp.zeros(4).share_memory_())
    batches = list(DataLoader(dataset, batch_size=None, num_workers=2))
    assert dataset.tensor.tolist() == [1, 1, 1, 1]
    batches[0][0] = 9
    assert dataset.tensor[0] == 9 and batches[-1][0] == 9


# --- arguments


@BOTH
def test_every_worker_is_told_who_it_is(kind):
    class Who(Dataset):
        def __len__(self):
            return 6

        def __getitem__(self, index):
            info = get_worker_info()
            return info.id, info.num_workers, info.dataset is self, info.seed

    assert get_worker_info() is None
    rows = list(DataLoader(Who(), batch_size=None, num_workers=2, worker_type=kind))
    assert [row[:3] for row in rows] == [[0, 2, True], [1, 2, True]] * 3
    assert rows[1][3] == rows[0][3] + 1
    assert get_worker_info() is None


def test_worker_info_prints():
    info = DataLoader(Info(), batch_size=None, num_workers=1)
    text = next(iter(info))
    assert text.startswith("WorkerInfo(id=0, num_workers=1, seed=") and "worker_method='multiprocessing'" in text


class Info(Dataset):
    def __len__(self):
        return 1

    def __getitem__(self, index):
        return repr(get_worker_info())


@BOTH
def test_worker_init_fn_is_called_once_in_each_worker(kind):
    calls = wisp.zeros(2, dtype=wisp.int64).share_memory_()

    def init(worker):
        calls[worker] += 1
        assert get_worker_info().id == worker

    loader = DataLoader(Squares(), num_workers=2, worker_init_fn=init, persistent_workers=True, worker_type=kind)
    for _ in range(3):
        list(loader)
    assert calls.tolist() == [1, 1]
    loader._iterator.close()


def test_the_generator_of_a_worker_starts_at_its_seed():
    seeds = wisp.zeros(2, dtype=wisp.int64).share_memory_()

    def init(worker):
        seeds[worker] = wisp.initial_seed()
        assert get_worker_info().seed == wisp.initial_seed()

    list(DataLoader(Squares(), num_workers=2, worker_init_fn=init))
    assert seeds[1] == seeds[0] + 1


@BOTH
def test_persistent_workers_live_on(kind):
    loader = DataLoader(Ids(), batch_size=None, num_workers=2, persistent_workers=True, worker_type=kind)
    first, second = list(loader), list(loader)
    assert first == second and len(set(first)) == 2
    iterator = iter(loader)
    next(iterator)
    assert list(loader) == first  # an epoch that was left does not disturb the next one
    loader._iterator.close()


class Ids(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return f"{os.getpid()} {threading.get_ident()}"


@BOTH
def test_what_is_left_of_an_epoch_is_not_fetched(kind):
    class Slow(Squares):
        def __getitem__(self, index):
            time.sleep(0.5)
            return index

    loader = DataLoader(Slow(), num_workers=1, prefetch_factor=20, persistent_workers=True, worker_type=kind)
    next(iter(loader))
    start = time.monotonic()
    assert next(iter(loader)).tolist() == [0]
    assert time.monotonic() - start < 4  # the sample in hand, and the one that is wanted, not all 20
    loader._iterator.close()


def test_persistent_workers_end_with_their_loader_without_a_collection():
    gc.collect()
    gc.disable()
    try:
        for _ in DataLoader(Squares(), num_workers=2, persistent_workers=True):
            pass
        assert multiprocessing.active_children() == []
        iterator = iter(DataLoader(Squares(), num_workers=1, persistent_workers=True))
        assert lists(iterator) == lists(DataLoader(Squares())) and len(iterator) == 7  # (its loader is gone)
    finally:
        gc.enable()


def test_persistent_workers_end_with_their_loader():
    loader = DataLoader(Squares(), num_workers=2, persistent_workers=True)
    list(loader)
    assert len(multiprocessing.active_children()) == 2
    del loader
    gc.collect()
    assert multiprocessing.active_children() == []


@BOTH
@pytest.mark.parametrize("factor", [1, 2, 5])
def test_workers_fetch_ahead_as_far_as_they_are_told(kind, factor):
    fetched = wisp.zeros(40, dtype=wisp.int64).share_memory_()

    class Marks(Squares):
        def __getitem__(self, index):
            fetched[index] = 1
            return index

    loader = DataLoader(Marks(40), num_workers=2, prefetch_factor=factor, worker_type=kind)

    def settles_at(count):
        deadline = time.monotonic() + 5
        while fetched.sum() < count and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.1)
        return fetched.sum() == count

    iterator = iter(loader)
    assert settles_at(2 * factor)
    next(iterator)
    assert settles_at(2 * factor + 1)
    del iterator


class SlowFirst(Squares):
    def __getitem__(self, index):
        if index == 0:
            time.sleep(0.3)
        return index


@BOTH
def test_order_may_be_that_of_arrival(kind):
    loader = DataLoader(
        SlowFirst(8), batch_size=None, num_workers=2, prefetch_factor=1, in_order=False, worker_type=kind
    )
    found = list(loader)
    assert sorted(found) == list(range(8)) and found[0] != 0
    assert list(DataLoader(SlowFirst(8), batch_size=None, num_workers=2, worker_type=kind)) == list(range(8))


@BOTH
def test_iterable_datasets_take_turns(kind):
    loader = DataLoader(Stream(5, 2), batch_size=2, num_workers=2, worker_type=kind)
    assert lists(loader) == [[0, 1], [100, 101], [2, 3], [4]]
    loader = DataLoader(Stream(5, 2), batch_size=2, num_workers=2, drop_last=True, worker_type=kind)
    assert lists(loader) == [[0, 1], [100, 101], [2, 3]]
    assert sorted(DataLoader(Stream(3, 3, 3), batch_size=None, num_workers=3, in_order=False, worker_type=kind)) == [
        0, 1, 2, 100, 101, 102, 200, 201, 202]  # fmt: skip
    assert list(DataLoader(Stream(0, 0), num_workers=2, worker_type=kind)) == []


@BOTH
@pytest.mark.parametrize("after", [0, 1, 4, 9])
def test_epochs_are_resumed(kind, after):
    def make():
        return DataLoader(Squares(40), batch_size=3, shuffle=True, num_workers=2, worker_type=kind)

    loader = make()
    iterator = iter(loader)
    for _ in range(after):
        next(iterator)
    state = loader.state_dict()
    want = lists(iterator), lists(loader)
    other = make()
    other.load_state_dict(state)
    assert (lists(other), lists(other)) == want


def test_epochs_are_resumed_with_other_numbers_of_workers():
    def make(workers, **options):
        return DataLoader(Random(), batch_size=3, shuffle=True, num_workers=workers, **options)

    loader = make(2, persistent_workers=True)
    list(loader)
    iterator = iter(loader)
    for _ in range(4):
        next(iterator)
    state = loader.state_dict()
    want = list(iterator), list(loader)
    for other in (make(0), make(1), make(3), loader):
        other.load_state_dict(state)
        assert same(list(other), want[0]) and same(list(other), want[1])
    loader._iterator.close()


@pytest.mark.parametrize("after", [1, 3, 5])
def test_epochs_of_streams_are_resumed(after):
    loader = DataLoader(Stream(9, 3), batch_size=2, num_workers=2)
    iterator = iter(loader)
    for _ in range(after):
        next(iterator)
    state = loader.state_dict()
    want = lists(iterator)
    other = DataLoader(Stream(9, 3), batch_size=2, num_workers=2)
    other.load_state_dict(state)
    assert lists(other) == want


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_other_ways_to_start_processes(method, tmp_path):
    code = f"""
import wisp
from wisp.utils.data import DataLoader, Dataset

class Images(Dataset):
    def __len__(self):
        return 6
    def __getitem__(self, index):
        if index == self.bad:
            raise KeyError("lost")
        return wisp.full((100, 100), float(index)), wisp.rand(1)
    bad = None

if __name__ == "__main__":
    found = []
    for workers in (0, 2):
        wisp.manual_seed(1)
        how = "{method}" if workers else None
        loader = DataLoader(Images(), batch_size=2, num_workers=workers, multiprocessing_context=how)
        found.append(list(loader))
    assert all(x.equal(y) for a, b in zip(*found) for x, y in zip(a, b)) and len(found[1]) == 3
    Images.bad = 3
    trouble = Images()
    trouble.bad = 3
    try:
        list(DataLoader(trouble, batch_size=2, num_workers=2, multiprocessing_context="{method}"))
    except KeyError as error:
        assert "worker process 1, at sample 3" in str(error), error
        print("raised")
"""
    assert fresh.program(tmp_path / "program.py", code) == "raised\n"


def test_what_cannot_be_sent_to_a_new_process_is_an_error_at_once():
    loader = DataLoader(Squares(), num_workers=2, multiprocessing_context="spawn", collate_fn=lambda batch: batch)
    with pytest.raises(Exception, match="pickle|Can't get local object"):
        iter(loader)
