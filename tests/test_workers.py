"""DataLoader's workers: the same batches as without them, and no hanging, whatever happens."""

import gc
import multiprocessing
import os
import random
import signal
import sys
import threading
import time

import numpy as np
import pytest

import wisp
from tests import fresh
from wisp import _shared_memory
from wisp.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset, get_worker_info

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
]
BOTH = pytest.mark.parametrize("kind", ["process", "thread"])


@pytest.fixture(autouse=True)
def nothing_is_left():
    """After every test no process is left, and no file in shared memory."""
    yield
    gc.collect()
    assert multiprocessing.active_children() == []
    assert os.listdir(_shared_memory.folder()) == ["lock"]


class Numbers(Dataset):
    """Squares; one of them is trouble."""

    def __init__(self, count=20, trouble=None, at=7):
        self.count, self.trouble, self.at = count, trouble, at

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if index == self.at and self.trouble is not None:
            self.trouble()
        return index**2


class Random(Dataset):
    def __len__(self):
        return 30

    def __getitem__(self, index):
        return index, random.random(), np.random.rand(), wisp.rand(2)


class Stream(IterableDataset):
    """Every worker has its share; ``lengths`` are those of the shares."""

    def __init__(self, *lengths):
        self.lengths = lengths

    def __iter__(self):
        info = get_worker_info()
        worker = 0 if info is None else info.id
        for i in range(self.lengths[worker]):
            yield worker * 100 + i


def lists(batches):
    return [batch.tolist() for batch in batches]


def same(first, second):
    return len(first) == len(second) and all(x.equal(y) for a, b in zip(first, second) for x, y in zip(a, b))


# --- batches


@BOTH
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_batches_are_those_of_the_loop(kind, workers):
    want = lists(DataLoader(Numbers(), batch_size=3))
    assert lists(DataLoader(Numbers(), batch_size=3, num_workers=workers, worker_type=kind)) == want


def test_random_numbers_do_not_depend_on_the_number_of_workers():
    found = []
    for workers in (0, 1, 2, 3):
        wisp.manual_seed(5)
        loader = DataLoader(Random(), batch_size=4, shuffle=True, num_workers=workers)
        found.append([list(loader), list(loader)])
    assert all(same(a, b) for other in found[1:] for a, b in zip(other, found[0]))
    assert not same(*found[0])


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

    loader = DataLoader(Numbers(), num_workers=2, worker_init_fn=init, persistent_workers=True, worker_type=kind)
    for _ in range(3):
        list(loader)
    assert calls.tolist() == [1, 1]
    loader._iterator.close()


def test_the_generator_of_a_worker_starts_at_its_seed():
    seeds = wisp.zeros(2, dtype=wisp.int64).share_memory_()

    def init(worker):
        seeds[worker] = wisp.initial_seed()
        assert get_worker_info().seed == wisp.initial_seed()

    list(DataLoader(Numbers(), num_workers=2, worker_init_fn=init))
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


def test_persistent_workers_end_with_their_loader():
    loader = DataLoader(Numbers(), num_workers=2, persistent_workers=True)
    list(loader)
    assert len(multiprocessing.active_children()) == 2
    del loader
    gc.collect()
    assert multiprocessing.active_children() == []


@BOTH
@pytest.mark.parametrize("factor", [1, 2, 5])
def test_workers_fetch_ahead_as_far_as_they_are_told(kind, factor):
    fetched = wisp.zeros(40, dtype=wisp.int64).share_memory_()

    class Marks(Numbers):
        def __getitem__(self, index):
            fetched[index] = 1
            return index

    loader = DataLoader(Marks(40), num_workers=2, prefetch_factor=factor, worker_type=kind)
    iterator = iter(loader)
    time.sleep(0.3)
    assert fetched.sum() == 2 * factor
    next(iterator)
    time.sleep(0.2)
    assert fetched.sum() == 2 * factor + 1
    del iterator


class SlowFirst(Numbers):
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
    assert sorted(found) == list(range(8)) and found[-1] == 0
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
        return DataLoader(Numbers(40), batch_size=3, shuffle=True, num_workers=2, worker_type=kind)

    loader = make()
    iterator = iter(loader)
    for _ in range(after):
        next(iterator)
    state = loader.state_dict()
    want = lists(iterator), lists(loader)
    other = make()
    other.load_state_dict(state)
    assert (lists(other), lists(other)) == want


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
    loader = DataLoader(Numbers(), num_workers=2, multiprocessing_context="spawn", collate_fn=lambda batch: batch)
    with pytest.raises(Exception, match="pickle"):
        iter(loader)


# --- trouble


def raising(error):
    def trouble():
        raise error

    return trouble


def fails_soon(loader, error, match):
    start = time.monotonic()
    with pytest.raises(error, match=match) as caught:
        list(loader)
    assert time.monotonic() - start < 2
    assert multiprocessing.active_children() == []
    return str(caught.value)


@BOTH
@pytest.mark.parametrize("batch_size", [4, None])
def test_exceptions_are_raised_again(kind, batch_size):
    loader = DataLoader(Numbers(20, raising(KeyError("lost"))), batch_size, num_workers=2, worker_type=kind)
    text = fails_soon(loader, KeyError, f"Caught KeyError in DataLoader worker {kind} 1, at sample 7")
    assert "Original Traceback" in text and "in trouble" in text and "KeyError: 'lost'" in text
    assert "fetch.py" not in text  # the user's lines only
    assert list(DataLoader(Numbers(), num_workers=2, worker_type=kind))  # and one can go on


class NeedsTwo(Exception):
    def __init__(self, one, two):
        super().__init__(one, two)


@BOTH
def test_exceptions_keep_their_class(kind):
    class Local(ValueError):
        pass

    def check(error, kind_raised, said):
        loader = DataLoader(Numbers(20, raising(error)), 4, num_workers=1, worker_type=kind)
        fails_soon(loader, kind_raised, f"Caught {said} in DataLoader worker {kind} 0, at sample 7")

    check(OSError(2, "gone"), FileNotFoundError, "FileNotFoundError")
    check(ConnectionResetError("network"), ConnectionResetError, "ConnectionResetError")
    check(EOFError("file"), EOFError, "EOFError")
    check(NeedsTwo(1, 2), NeedsTwo, "NeedsTwo")
    check(UnicodeDecodeError("utf8", b"x", 0, 1, "no"), UnicodeDecodeError, "UnicodeDecodeError")
    check(Local("x"), ValueError, "Local")
    check(StopIteration(), RuntimeError, "RuntimeError")


@BOTH
def test_errors_elsewhere_say_where(kind):
    def bad(_):
        raise ValueError("bad")

    where = f"DataLoader worker {kind} 0, "
    with_bad_start = DataLoader(Numbers(), num_workers=2, worker_init_fn=bad, worker_type=kind)
    fails_soon(with_bad_start, ValueError, where + "in worker_init_fn")
    with_bad_batches = DataLoader(Numbers(), 3, num_workers=2, collate_fn=bad, worker_type=kind)
    fails_soon(with_bad_batches, ValueError, where + r"when the batch of the samples \[0, 1, 2\] was put together")

    class Broken(IterableDataset):
        def __iter__(self):
            yield from (1, 2)
            raise ValueError("broken")

    fails_soon(
        DataLoader(Broken(), num_workers=1, worker_type=kind), ValueError, where + "after sample 2 of its stream"
    )


def test_results_that_cannot_be_pickled():
    loader = DataLoader(Numbers(), 2, num_workers=2, collate_fn=lambda batch: lambda: batch)
    said = r"worker process 0, when the batch of the samples \[0, 1\] was sent to the main process"
    fails_soon(loader, Exception, said)
    history = DataLoader(Numbers(), 2, num_workers=1, collate_fn=lambda batch: wisp.ones(1, requires_grad=True) * 2)
    fails_soon(history, RuntimeError, "non-leaf tensor which requires_grad")


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("how", ["SIGKILL", "SIGSEGV", "exit code 3"])
def test_workers_that_die(how, large):
    def die():
        if how == "exit code 3":
            os._exit(3)
        if how == "SIGSEGV":
            signal.signal(signal.SIGSEGV, signal.SIG_DFL)  # pytest's handler would write about it
        os.kill(os.getpid(), getattr(signal, how))

    collate = (lambda batch: wisp.ones(100_000)) if large else None
    loader = DataLoader(Numbers(20, die), 4, num_workers=2, collate_fn=collate)
    said = rf"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly: worker 1 .*{how} at sample 7"
    fails_soon(loader, RuntimeError, said)


def test_a_worker_that_is_killed_from_outside():
    loader = DataLoader(Numbers(100, lambda: time.sleep(60)), 4, num_workers=2)
    iterator = iter(loader)
    next(iterator)
    while iterator._pool.progress[1] != 3:  # of the samples 4, 5, 6, 7
        time.sleep(0.01)
    os.kill(iterator._pool.pids()[1], signal.SIGKILL)
    start = time.monotonic()
    with pytest.raises(RuntimeError, match="worker 1 was killed by SIGKILL at sample 7"):
        list(iterator)
    assert time.monotonic() - start < 2
    with pytest.raises(StopIteration):
        next(iterator)


def test_a_dead_worker_whose_children_live():
    """They have its pipes open still."""

    def die():
        if os.fork() == 0:
            time.sleep(3)
            os._exit(0)
        os._exit(1)

    fails_soon(
        DataLoader(Numbers(20, die), 4, num_workers=2), RuntimeError, "worker 1 ended with exit code 1 at sample 7"
    )


def test_a_worker_that_loses_its_pipes():
    def close_everything():
        os.closerange(3, 1000)
        time.sleep(60)

    loader = DataLoader(Numbers(20, close_everything), 4, num_workers=2)
    start = time.monotonic()
    with pytest.raises(RuntimeError, match="worker 1 was killed by SIGKILL at sample 7"):
        list(loader)
    assert time.monotonic() - start < 3


def test_samplers_that_fail():
    def keys(bad):
        yield from range(bad)
        raise ValueError("no more")

    class Order:
        def __init__(self, bad):
            self.bad = bad

        def __iter__(self):
            return keys(self.bad)

    for bad in (0, 2, 10):
        with pytest.raises(ValueError, match="no more"):
            list(DataLoader(Numbers(), num_workers=2, sampler=Order(bad)))
        assert multiprocessing.active_children() == []


def test_persistent_workers_are_replaced_after_an_error():
    dataset = Numbers(20, raising(ValueError("once")))
    loader = DataLoader(dataset, 4, num_workers=2, persistent_workers=True)
    fails_soon(loader, ValueError, "once")
    dataset.trouble = None
    assert len(list(loader)) == 5
    loader._iterator.close()


@BOTH
def test_timeout(kind):
    loader = DataLoader(Numbers(20, lambda: time.sleep(4)), 4, num_workers=2, timeout=0.3, worker_type=kind)
    said = "DataLoader timed out after 0.3 seconds waiting for worker 1 at sample 7"
    fails_soon(loader, RuntimeError, said)


def test_leaving_a_loop_does_not_wait_for_slow_samples():
    start = time.monotonic()
    for _ in DataLoader(Numbers(20, lambda: time.sleep(60)), 4, num_workers=2):
        break
    gc.collect()
    assert time.monotonic() - start < 2.5 and multiprocessing.active_children() == []


def test_workers_that_do_not_want_to_end():
    def stubborn(_):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    start = time.monotonic()
    loader = DataLoader(Numbers(20, lambda: time.sleep(60), at=0), num_workers=2, worker_init_fn=stubborn)
    iterator = iter(loader)
    time.sleep(0.2)
    del iterator
    gc.collect()
    assert time.monotonic() - start < 3 and multiprocessing.active_children() == []


def test_many_large_tasks_do_not_block():
    """Tasks and results that are larger than what pipes hold, both ways at once."""
    many = list(range(50_000))
    loader = DataLoader(range(50_000), num_workers=2, prefetch_factor=8, batch_sampler=[many] * 20,
                        collate_fn=lambda batch: [str(n) for n in batch])  # fmt: skip
    assert all(batch == [str(n) for n in many] for batch in loader)


@pytest.mark.parametrize("code", ["ENOSPC", "EFBIG", "EACCES"])
def test_full_shared_memory(monkeypatch, code):
    import errno

    def full(path, parts):
        raise OSError(getattr(errno, code), "no room")

    monkeypatch.setattr(_shared_memory, "write", full)
    images = TensorDataset(wisp.arange(10.0)[:, None].expand(10, 50_000))
    assert [batch[0, 0].item() for (batch,) in DataLoader(images, 2, num_workers=2)] == [0, 2, 4, 6, 8]


def test_really_full_shared_memory():
    """The size of files is limited: writing fails half-way."""
    code = """
import os, resource, signal, wisp
from wisp import _shared_memory
from wisp.utils.data import DataLoader, TensorDataset
images = TensorDataset(wisp.arange(10.0)[:, None].expand(10, 50_000))
loader = DataLoader(images, 2, num_workers=2)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
assert [batch[0, 0].item() for batch, in loader] == [0, 2, 4, 6, 8]
assert os.listdir(_shared_memory.folder()) == ["lock"]
try:
    wisp.zeros(100_000).share_memory_()
except RuntimeError as error:
    print(error)
"""
    assert "share_memory_(): 400,000 bytes of shared memory do not fit into" in fresh.python(code)


def test_no_file_descriptors_are_kept():
    def opened():
        return len(os.listdir("/proc/self/fd"))

    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("needs /proc")
    images = TensorDataset(wisp.zeros(40, 20_000))
    list(DataLoader(images, 2, num_workers=1))
    before = opened()
    kept = list(DataLoader(images, 2, num_workers=2))
    assert len(kept) == 20 and opened() == before


def test_fork_with_threads():
    """Other threads compute, allocate and hold locks while workers are forked."""
    done = threading.Event()

    def busy():
        while not done.is_set():
            wisp.rand(300, 300).softmax(1).sum()

    threads = [threading.Thread(target=busy) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(5):
            batches = list(
                DataLoader(
                    Random(), 5, num_workers=2, collate_fn=lambda samples: wisp.rand(400, 400) @ wisp.rand(400, 400)
                )
            )
            assert len(batches) == 6
    finally:
        done.set()
        for thread in threads:
            thread.join()


def test_two_loaders_at_once():
    first, second = (DataLoader(Numbers(), 2, num_workers=2) for _ in range(2))
    assert [(a.tolist(), b.tolist()) for a, b in zip(first, second)] == [(x, x) for x in lists(first)]


def test_a_loader_inside_a_thread():
    found = []
    thread = threading.Thread(target=lambda: found.extend(lists(DataLoader(Numbers(), 5, num_workers=2))))
    thread.start()
    thread.join()
    assert found == lists(DataLoader(Numbers(), 5))


# --- whole programs

SLOW = """
import os, sys, time, wisp
from wisp import _shared_memory
from wisp.utils.data import DataLoader, Dataset

class Images(Dataset):
    def __len__(self):
        return 1000
    def __getitem__(self, index):
        if index > 20:
            time.sleep(self.pause)
        return wisp.zeros(50_000)
    pause = 0.05

def start(pause=0.05, method="fork"):
    images = Images()
    images.pause = pause
    iterator = iter(DataLoader(images, batch_size=2, num_workers=2, multiprocessing_context=method))
    next(iterator)
    print(*iterator._pool.pids(), _shared_memory.folder(), flush=True)
    return iterator
"""


def all_gone(pids, folder, within=2.5):
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        if not any(map(fresh.alive, pids)) and not os.path.exists(folder):
            return True
        time.sleep(0.02)
    return False


needs_proc = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")


@needs_proc
@pytest.mark.parametrize(("by", "pause", "method"), [
    ("SIGKILL", 0.05, "fork"), ("SIGKILL", 60, "fork"), ("SIGTERM", 0.05, "fork"), ("SIGKILL", 60, "spawn"),
    ("SIGKILL", 0.05, "forkserver"), ("SIGKILL", 60, "forkserver")])  # fmt: skip
def test_workers_of_a_program_that_is_killed_end_too(by, pause, method, tmp_path):
    code = SLOW + f"if __name__ == '__main__':\n    for _ in start({pause}, {method!r}): pass\n"
    with fresh.start(tmp_path / "program.py", code) as program:
        *pids, folder = program.stdout.readline().split()
        assert all(map(fresh.alive, pids)) and os.path.exists(folder)
        time.sleep(0.2)
        program.send_signal(getattr(signal, by))
        program.wait(5)
        assert all_gone(pids, folder)


@needs_proc
@pytest.mark.parametrize("where", ["waiting", "in the loop"])
def test_ctrl_c(where, tmp_path):
    body = "for _ in iterator: pass" if where == "waiting" else "time.sleep(60)"
    code = (
        SLOW
        + f"""
iterator = start(60)
try:
    {body}
except KeyboardInterrupt:
    iterator.close()
    print("interrupted", flush=True)
"""
    )
    with fresh.start(tmp_path / "program.py", code) as program:
        *pids, folder = program.stdout.readline().split()
        time.sleep(0.3)
        for pid in [program.pid, *map(int, pids)]:  # as the terminal does: to all of them
            os.kill(pid, signal.SIGINT)
        out, err = program.communicate(timeout=5)
        assert out == "interrupted\n" and err == "" and program.returncode == 0
        assert all_gone(pids, folder)


@needs_proc
@pytest.mark.parametrize("ending", ["sys.exit(0)", "raise ValueError('own')", "pass"])
def test_programs_end_with_workers_running(ending, tmp_path):
    with fresh.start(tmp_path / "program.py", SLOW + f"iterator = start()\n{ending}\n") as program:
        *pids, folder = program.stdout.readline().split()
        _, err = program.communicate(timeout=5)
        assert ("own" in err) if "own" in ending else err == ""
        assert all_gone(pids, folder)


@needs_proc
def test_what_a_killed_program_leaves_is_removed_by_the_next(tmp_path):
    code = "import os, wisp, wisp.multiprocessing\nkept = wisp.ones(5).share_memory_()\nprint(wisp._shared_memory.folder(), flush=True)\n"
    with fresh.start(tmp_path / "first.py", code + "os.kill(os.getpid(), 9)") as program:
        folder = program.stdout.readline().strip()
        program.wait(5)
    assert os.path.exists(folder)
    with fresh.start(tmp_path / "second.py", code) as program:
        other = program.stdout.readline().strip()
        program.wait(5)
    assert not os.path.exists(folder) and not os.path.exists(other)
    assert os.path.exists(_shared_memory.folder())  # this one is in use


@needs_proc
@pytest.mark.skipif(sys.version_info >= (3, 14), reason="workers are not forked by default")
def test_memory_of_a_list_is_not_copied():
    """The collector of a worker does not visit, and so does not copy, what the parent has made."""
    code = """
import gc, os, wisp
from wisp.utils.data import DataLoader, Dataset

class Table(Dataset):
    def __init__(self):
        self.rows = [[i, i + 1] for i in range(300_000)]
    def __len__(self):
        return 4
    def __getitem__(self, index):
        gc.collect()
        with open("/proc/self/smaps_rollup") as file:
            sizes = dict(line.split()[:2] for line in file.readlines()[1:])
        return int(sizes["Private_Dirty:"]) / 1024

print(max(DataLoader(Table(), batch_size=None, num_workers=1)))
"""
    assert float(fresh.python(code)) < 12  # of about 40
