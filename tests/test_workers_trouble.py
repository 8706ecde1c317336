"""DataLoader's workers in trouble: an error that says where, soon, and nothing left behind."""

import multiprocessing
import os
import signal
import struct
import sys
import threading
import time
from multiprocessing.connection import Connection

import pytest

import wisp
from tests import fresh
from tests.datasets import Random, Trouble, lists
from wisp import _shared_memory
from wisp.utils.data import DataLoader, IterableDataset, Subset, TensorDataset
from wisp.utils.data._utils import processes, transport

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


# Two seconds are promised. This process is that of all tests: it forks slowly, and shares the processors.
SOON = 6


def fails_soon(loader, error, match):
    start = time.monotonic()
    with pytest.raises(error, match=match) as caught:
        list(loader)
    assert time.monotonic() - start < SOON
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


class SaysLittle(Exception):
    def __init__(self, *args):
        super().__init__("always the same")


class CannotSay(Exception):
    def __init__(self, code):
        self.code = code

    def __str__(self):
        return f"code {self.code + 1}"


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
    check(SaysLittle(1), SaysLittle, "SaysLittle")
    check(CannotSay(3), CannotSay, "CannotSay")
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


@BOTH
def test_a_dataset_that_fails_before_the_first_sample(kind):
    class Empty(Subset):
        def __init__(self):
            """Forgets the attributes that a Subset has."""

        def __len__(self):
            return 4

    fails_soon(DataLoader(Empty(), num_workers=2, worker_type=kind), AttributeError, "0, at the start of an epoch")


def test_too_many_threads(monkeypatch):
    start, left = threading.Thread.start, [2]

    def limited(thread):
        left[0] -= 1
        if left[0] < 0:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", limited)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        iter(DataLoader(Trouble(), num_workers=3, worker_type="thread"))
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("wisp-loader")]


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
    assert time.monotonic() - start < SOON
    with pytest.raises(StopIteration):
        next(iterator)


def test_a_dead_worker_whose_children_live():
    """They have its pipes open still."""

    def die():
        sleeping_child()
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
    assert time.monotonic() - start < SOON


def sleeping_child():
    """Has all that its parent had open, for twelve seconds."""
    if os.fork() == 0:
        time.sleep(12)
        os._exit(0)


@pytest.mark.parametrize("ending", ["timed out after 0.5 seconds", "ended with exit code 1"])
def test_a_worker_that_stops_in_the_middle_of_a_message(monkeypatch, ending):
    def send(connection, *message):
        os.write(connection.fileno(), b"\x00\x00\x10\x00" + b"some of 4096 bytes")
        if "timed out" in ending:
            os.kill(os.getpid(), signal.SIGSTOP)
        sleeping_child()
        os._exit(1)

    monkeypatch.setattr(transport, "send", send)
    fails_soon(
        DataLoader(Trouble(), 2, num_workers=1, timeout=0.5 if "timed out" in ending else 0), RuntimeError, ending
    )


def test_messages_that_arrive_in_pieces(monkeypatch):
    def send_bytes(connection, data):
        for byte in struct.pack("!i", len(data)) + data:
            os.write(connection.fileno(), bytes([byte]))

    monkeypatch.setattr(Connection, "send_bytes", send_bytes)
    assert lists(DataLoader(Trouble(20), 3, num_workers=2)) == lists(DataLoader(Trouble(20), 3))


def test_messages_of_any_size():
    """Beyond 2 GiB the size is written in another way."""
    process = object.__new__(processes._Process)
    process.arrived = bytearray(struct.pack("!iQ", -1, 3) + b"abc" + struct.pack("!i", 2) + b"de" + b"\xff\xff")
    assert [process._next_message() for _ in range(3)] == [b"abc", b"de", None]


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


def test_persistent_workers_that_die_between_epochs():
    loader = DataLoader(Trouble(20), 4, num_workers=2, persistent_workers=True)
    list(loader)
    os.kill(loader._iterator._pool.pids()[1], signal.SIGKILL)
    fails_soon(loader, RuntimeError, "worker 1 was killed by SIGKILL at sample 4")
    assert len(list(loader)) == 5
    loader._iterator.close()


@BOTH
def test_timeout(kind):
    loader = DataLoader(Trouble(20, lambda: time.sleep(4)), 4, num_workers=2, timeout=0.3, worker_type=kind)
    said = "DataLoader timed out after 0.3 seconds waiting for worker 1 at sample 7"
    fails_soon(loader, RuntimeError, said)


def test_leaving_a_loop_does_not_wait_for_slow_samples():
    for _ in DataLoader(Trouble(20, lambda: time.sleep(60)), 4, num_workers=2):
        start = time.monotonic()
        break
    assert time.monotonic() - start < SOON and multiprocessing.active_children() == []


def test_workers_that_do_not_want_to_end():
    def stubborn(_):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    loader = DataLoader(Trouble(20, lambda: time.sleep(60), at=0), num_workers=2, worker_init_fn=stubborn)
    iterator = iter(loader)
    time.sleep(0.2)
    start = time.monotonic()
    del iterator
    assert time.monotonic() - start < SOON and multiprocessing.active_children() == []


def test_ctrl_c_while_workers_are_ended_is_not_lost():
    """Python drops exceptions of what is called when an object goes."""
    iterator = iter(DataLoader(Trouble(20, lambda: time.sleep(60), at=0), num_workers=2))
    time.sleep(0.2)
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        del iterator
        time.sleep(5)
    assert time.monotonic() - start < SOON and multiprocessing.active_children() == []


def test_nothing_of_pythons_runs_when_a_batch_goes():
    """A Ctrl-C at that moment would be lost, too."""
    (batch,) = next(iter(DataLoader(TensorDataset(wisp.zeros(2, 50_000)), 2, num_workers=1)))
    called = []
    sys.setprofile(lambda frame, event, _: called.append(frame.f_code.co_name) if event == "call" else None)
    try:
        del batch
    finally:
        sys.setprofile(None)
    assert called == []


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


@BOTH
def test_an_iterator_in_a_forked_process(kind):
    """Threads do not exist there, and worker processes are the parent's."""
    iterator = iter(DataLoader(Trouble(20, lambda: time.sleep(0.5)), 4, num_workers=2, worker_type=kind))
    next(iterator)
    child = os.fork()
    if child == 0:
        signal.alarm(3)
        try:
            list(iterator)
        except (RuntimeError, OSError, ValueError):
            os._exit(7)
        os._exit(0)
    assert len(list(iterator)) == 4
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_two_loaders_at_once():
    first, second = (DataLoader(Trouble(), 2, num_workers=2) for _ in range(2))
    assert [(a.tolist(), b.tolist()) for a, b in zip(first, second)] == [(x, x) for x in lists(first)]


def test_a_loader_inside_a_thread():
    found = []
    thread = threading.Thread(target=lambda: found.extend(lists(DataLoader(Trouble(), 5, num_workers=2))))
    thread.start()
    thread.join()
    assert found == lists(DataLoader(Trouble(), 5))
