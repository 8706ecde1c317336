"""DataLoader's workers in trouble: an error that says where, soon, and nothing left behind."""

import gc
import multiprocessing
import os
import signal
import sys
import threading
import time

import pytest

import wisp
from tests import fresh
from tests.datasets import Random, Trouble, lists
from wisp import _shared_memory
from wisp.utils.data import DataLoader, IterableDataset, TensorDataset

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
    pytest.mark.usefixtures("forked_and_gone"),
]
BOTH = pytest.mark.parametrize("kind", ["process", "thread"])


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
    loader = DataLoader(Trouble(20, raising(KeyError("lost"))), batch_size, num_workers=2, worker_type=kind)
    text = fails_soon(loader, KeyError, f"Caught KeyError in DataLoader worker {kind} 1, at sample 7")
    assert "Original Traceback" in text and "in trouble" in text and "KeyError: 'lost'" in text
    assert "fetch.py" not in text  # the user's lines only
    assert list(DataLoader(Trouble(), num_workers=2, worker_type=kind))  # and one can go on


class NeedsTwo(Exception):
    def __init__(self, one, two):
        super().__init__(one, two)


@BOTH
def test_exceptions_keep_their_class(kind):
    class Local(ValueError):
        pass

    def check(error, kind_raised, said):
        loader = DataLoader(Trouble(20, raising(error)), 4, num_workers=1, worker_type=kind)
        fails_soon(loader, kind_raised, f"Caught {said} in DataLoader worker {kind} 0, at sample 7")

    check(OSError(2, "gone"), FileNotFoundError, "FileNotFoundError")
    check(ConnectionResetError("network"), ConnectionResetError, "ConnectionResetError")
    check(EOFError("file"), EOFError, "EOFError")
    check(NeedsTwo(1, 2), NeedsTwo, "NeedsTwo")
    check(UnicodeDecodeError("utf8", b"x", 0, 1, "no"), UnicodeDecodeError, "UnicodeDecodeError")
    check(Local("x"), ValueError, "Local")
    check(StopIteration(), RuntimeError, "RuntimeError")
    check(SystemExit(3), RuntimeError, "SystemExit")


@BOTH
def test_errors_elsewhere_say_where(kind):
    def bad(_):
        raise ValueError("bad")

    where = f"DataLoader worker {kind} 0, "
    with_bad_start = DataLoader(Trouble(), num_workers=2, worker_init_fn=bad, worker_type=kind)
    fails_soon(with_bad_start, ValueError, where + "in worker_init_fn")
    with_bad_batches = DataLoader(Trouble(), 3, num_workers=2, collate_fn=bad, worker_type=kind)
    fails_soon(with_bad_batches, ValueError, where + r"when the batch of the samples \[0, 1, 2\] was put together")

    class Broken(IterableDataset):
        def __iter__(self):
            yield from (1, 2)
            raise ValueError("broken")

    fails_soon(
        DataLoader(Broken(), num_workers=1, worker_type=kind), ValueError, where + "after sample 2 of its stream"
    )


def test_results_that_cannot_be_pickled():
    loader = DataLoader(Trouble(), 2, num_workers=2, collate_fn=lambda batch: lambda: batch)
    said = r"worker process 0, when the batch of the samples \[0, 1\] was sent to the main process"
    fails_soon(loader, Exception, said)
    history = DataLoader(Trouble(), 2, num_workers=1, collate_fn=lambda batch: wisp.ones(1, requires_grad=True) * 2)
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
    loader = DataLoader(Trouble(20, die), 4, num_workers=2, collate_fn=collate)
    said = rf"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly: worker 1 .*{how} at sample 7"
    fails_soon(loader, RuntimeError, said)


def test_a_worker_that_is_killed_from_outside():
    loader = DataLoader(Trouble(100, lambda: time.sleep(60)), 4, num_workers=2)
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
        DataLoader(Trouble(20, die), 4, num_workers=2), RuntimeError, "worker 1 ended with exit code 1 at sample 7"
    )


def test_a_worker_that_loses_its_pipes():
    def close_everything():
        os.closerange(3, 1000)
        time.sleep(60)

    loader = DataLoader(Trouble(20, close_everything), 4, num_workers=2)
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
            list(DataLoader(Trouble(), num_workers=2, sampler=Order(bad)))
        assert multiprocessing.active_children() == []


def test_persistent_workers_are_replaced_after_an_error():
    dataset = Trouble(20, raising(ValueError("once")))
    loader = DataLoader(dataset, 4, num_workers=2, persistent_workers=True)
    fails_soon(loader, ValueError, "once")
    dataset.trouble = None
    assert len(list(loader)) == 5
    loader._iterator.close()


@BOTH
def test_timeout(kind):
    loader = DataLoader(Trouble(20, lambda: time.sleep(4)), 4, num_workers=2, timeout=0.3, worker_type=kind)
    said = "DataLoader timed out after 0.3 seconds waiting for worker 1 at sample 7"
    fails_soon(loader, RuntimeError, said)


def test_leaving_a_loop_does_not_wait_for_slow_samples():
    start = time.monotonic()
    for _ in DataLoader(Trouble(20, lambda: time.sleep(60)), 4, num_workers=2):
        break
    gc.collect()
    assert time.monotonic() - start < 2.5 and multiprocessing.active_children() == []


def test_workers_that_do_not_want_to_end():
    def stubborn(_):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    start = time.monotonic()
    loader = DataLoader(Trouble(20, lambda: time.sleep(60), at=0), num_workers=2, worker_init_fn=stubborn)
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


def test_no_place_for_shared_memory():
    code = """
import os
can = os.access
os.access = lambda path, mode: False if mode & os.W_OK else can(path, mode)
import wisp, wisp.multiprocessing
from wisp.utils.data import DataLoader, TensorDataset
images = TensorDataset(wisp.arange(10.0)[:, None].expand(10, 50_000))
assert [batch[0, 0].item() for batch, in DataLoader(images, 2, num_workers=2)] == [0, 2, 4, 6, 8]
try:
    wisp.zeros(1).share_memory_()
except RuntimeError as error:
    print(error)
"""
    assert "share_memory_(): there is no place for shared memory" in fresh.python(code)


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
            assert len(batches) == 8
    finally:
        done.set()
        for thread in threads:
            thread.join()


def test_two_loaders_at_once():
    first, second = (DataLoader(Trouble(), 2, num_workers=2) for _ in range(2))
    assert [(a.tolist(), b.tolist()) for a, b in zip(first, second)] == [(x, x) for x in lists(first)]


def test_a_loader_inside_a_thread():
    found = []
    thread = threading.Thread(target=lambda: found.extend(lists(DataLoader(Trouble(), 5, num_workers=2))))
    thread.start()
    thread.join()
    assert found == lists(DataLoader(Trouble(), 5))


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


def test_programs_end_with_threads_running():
    code = """
import wisp
from wisp.utils.data import DataLoader, Dataset

class Products(Dataset):
    def __len__(self):
        return 10_000
    def __getitem__(self, index):
        return wisp.rand(300, 300) @ wisp.rand(300, 300)

iterator = iter(DataLoader(Products(), batch_size=100, num_workers=3, worker_type="thread"))
next(iterator)
"""
    assert fresh.python(code) == ""


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
