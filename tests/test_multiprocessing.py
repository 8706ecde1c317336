"""wisp.multiprocessing: tensors in shared memory, sent to other processes by name."""

import gc
import multiprocessing
import os
import pickle
import signal
import time

import pytest

import wisp
import wisp.multiprocessing as mp
from tests import fresh
from tests.datasets import forking, nothing_left
from wisp import _shared_memory, nn

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def files():
    gc.collect()
    return [name for name in os.listdir(_shared_memory.folder()) if name != "lock"]


@pytest.fixture(autouse=True)
def forked_and_gone():
    with forking(), nothing_left():
        yield


def in_child(function, *args):
    """Runs a function in a forked process."""
    process = mp.get_context("fork").Process(target=function, args=args)
    process.start()
    process.join(20)
    assert process.exitcode == 0


# --- memory


def test_shared_memory_is_the_same_for_all_views():
    x = wisp.arange(6.0)
    view, same = x[2:4], x.view(2, 3)
    assert not x.is_shared()
    assert x.share_memory_() is x
    assert x.is_shared() and view.is_shared() and same.is_shared() and x.storage().is_shared()
    x[3] = 9
    assert view.tolist() == [2, 9] and same[1, 0] == 9
    address = x.data_ptr()
    assert x.share_memory_().data_ptr() == address
    assert not x.clone().is_shared() and x.detach().is_shared()


def test_forked_processes_see_what_is_written():
    x, private = wisp.zeros(3).share_memory_(), wisp.zeros(3)

    def write():
        x[1] = 5
        private[1] = 5

    in_child(write)
    assert x.tolist() == [0, 5, 0] and private.tolist() == [0, 0, 0]


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "complex128", "bool", "int8"])
def test_all_kinds_of_tensors(kind):
    x = wisp.ones(2, 3, dtype=getattr(wisp, kind))[:, ::2]
    want = x.clone()
    assert x.share_memory_().equal(want) and x.stride() == (3, 2)


def test_tensors_with_gradients_and_history():
    x = wisp.ones(3, requires_grad=True)
    y = (x * 2).share_memory_()
    x.share_memory_()
    y.sum().backward()
    assert x.grad.tolist() == [2, 2, 2] and x.is_leaf and x.is_shared()
    assert not x.grad.is_shared()


def test_storages():
    storage = wisp.arange(3).untyped_storage()
    assert storage.share_memory_() is storage and storage.is_shared()
    typed = wisp.arange(3).storage()
    assert typed.share_memory_() is typed and typed.is_shared() and typed.tolist() == [0, 1, 2]


def test_empty_tensors():
    x = wisp.empty(0, 3).share_memory_()
    assert x.is_shared() and x.shape == (0, 3)


def test_what_shares_memory_with_numpy_leaves_it():
    import numpy as np

    array = np.zeros(3)
    x = wisp.from_numpy(array).share_memory_()
    x[0] = 1
    assert array[0] == 0 and x[0] == 1


def test_modules():
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    assert model.share_memory() is model
    assert all(tensor.is_shared() for tensor in model.state_dict().values())
    with pytest.raises(RuntimeError, match="share memory on an uninitialized parameter"):
        nn.LazyLinear(3).share_memory()


def test_plain_pickles_and_copies_are_not_shared():
    x = wisp.arange(3.0).share_memory_()
    for other in (pickle.loads(pickle.dumps(x)), x.clone(), __import__("copy").deepcopy(x)):
        other[0] = 9
        assert not other.is_shared() and x[0] == 0


def test_shared_memory_goes_with_the_last_tensor_on_it():
    x = wisp.zeros(10).share_memory_()
    view = x[3:]
    assert len(files()) == 1
    del x
    assert len(files()) == 1
    del view
    assert files() == []


def test_a_process_that_ends_does_not_take_shared_memory_away():
    x = wisp.zeros(3).share_memory_()

    def end():
        nonlocal x
        x[0] = 1
        x = None
        gc.collect()

    in_child(end)
    assert len(files()) == 1
    in_child(lambda: x.add_(1))
    assert x.tolist() == [2, 1, 1]


def test_full_shared_memory_is_an_error(monkeypatch):
    import errno

    def full(file, start, size):
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "posix_fallocate", full)
    x = wisp.ones(3)
    with pytest.raises(RuntimeError, match=r"share_memory_\(\): 12 bytes of shared memory do not fit into"):
        x.share_memory_()
    assert x.tolist() == [1, 1, 1] and not x.is_shared()


def test_no_file_descriptors_are_kept():
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("needs /proc")
    before = len(os.listdir("/proc/self/fd"))
    many = [wisp.ones(2).share_memory_() for _ in range(2000)]
    assert len(os.listdir("/proc/self/fd")) == before and many[-1].is_shared()


# --- sending


def test_tensors_through_queues():
    queue = mp.SimpleQueue()
    x, parameter = wisp.arange(4.0), nn.Parameter(wisp.ones(2))
    queue.put((x, x[1:3], parameter, "text", wisp.ones(0, 2)))
    got, view, other, text, empty = queue.get()
    assert x.is_shared() and got.is_shared() and other.is_shared() and text == "text" and empty.shape == (0, 2)
    got[1] = 7
    assert x[1] == 7 and view.tolist() == [7, 2]
    assert type(other) is nn.Parameter and other.requires_grad and other.is_leaf
    with wisp.no_grad():
        other.zero_()
    assert parameter.tolist() == [0, 0]


def test_subclasses_strides_and_attributes_are_sent():
    queue = mp.SimpleQueue()

    class Own(wisp.Tensor):
        pass

    globals()["Own"] = Own
    Own.__qualname__ = "Own"
    x = wisp.arange(6.0).reshape(2, 3).t().as_subclass(Own)
    x.tag = "mine"
    queue.put(x)
    got = queue.get()
    assert type(got) is Own and got.tag == "mine" and got.stride() == (1, 3) and got.equal(x)


def test_history_is_not_sent():
    x = wisp.ones(1, requires_grad=True)
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor which requires_grad"):
        mp.SimpleQueue().put(x * 2)


def test_what_was_sent_outlives_the_sender():
    queue = mp.SimpleQueue()
    in_child(lambda: queue.put(wisp.full((1000,), 3.0)))  # the process has ended, and its tensor with it
    got = queue.get()
    assert got.eq(3).all() and len(files()) == 1


def test_what_the_sharing_process_has_dropped_cannot_be_sent_on():
    kept = [wisp.zeros(3).share_memory_()]
    ready, queue = mp.SimpleQueue(), mp.SimpleQueue()

    def send():
        ready.get()
        try:
            queue.put(kept[0])
        except RuntimeError as error:
            queue.put(str(error))

    process = mp.Process(target=send)
    process.start()
    kept.clear()
    ready.put("dropped")
    assert "which has dropped it" in queue.get()
    process.join()


def test_a_message_is_received_once():
    message = multiprocessing.reduction.ForkingPickler.dumps(wisp.ones(3))
    assert pickle.loads(message).tolist() == [1, 1, 1]
    gc.collect()
    with pytest.raises(RuntimeError, match="the shared memory of a tensor is gone"):
        pickle.loads(message)


def test_queues_with_threads_and_pools():
    queue = mp.Queue()
    context = mp.get_context("fork")
    process = context.Process(target=lambda: [queue.put(wisp.full((100,), float(i))) for i in range(50)])
    process.start()
    assert [queue.get(timeout=20)[7].item() for _ in range(50)] == list(range(50))
    process.join()
    with context.Pool(2) as pool:
        results = pool.map(doubled, [wisp.full((3,), float(i)) for i in range(6)])
        pool.close()
        pool.join()
    assert [r[0].item() for r in results] == [0, 2, 4, 6, 8, 10]
    receiving, sending = mp.Pipe()
    sending.send(wisp.ones(2))
    assert receiving.recv().tolist() == [1, 1]
    queue.close()
    queue.join_thread()


def doubled(x):
    return x * 2


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_processes_started_anew(method, tmp_path):
    code = f"""
import gc, os, wisp
import wisp.multiprocessing as mp
from wisp import _shared_memory

def work(rank, shared, model, queue):
    shared[rank] = rank + 1
    with wisp.no_grad():
        model.weight.add_(1)
    queue.put(wisp.full((1000,), float(rank)))

if __name__ == "__main__":
    shared, model = wisp.zeros(3), wisp.nn.Linear(2, 2).share_memory()
    before = model.weight.detach().clone()
    queue = mp.get_context("{method}").SimpleQueue()
    mp.start_processes(work, (shared, model, queue), nprocs=2, start_method="{method}")
    assert shared.tolist() == [1, 2, 0] and shared.is_shared()
    assert wisp.allclose(model.weight.detach(), before + 2)
    got = sorted(queue.get()[0].item() for _ in range(2))
    assert got == [0, 1]
    del shared, model
    gc.collect()
    print(os.listdir(_shared_memory.folder()))
"""
    assert fresh.program(tmp_path / "program.py", code) == "['lock']\n"


def train(rank, model, data):
    optimizer = wisp.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(50):
        optimizer.zero_grad()
        (model(data[0]) - data[1]).square().mean().backward()
        optimizer.step()


def test_hogwild():
    """Processes train one model at the same time, without locks."""
    model = nn.Linear(3, 1).share_memory()
    x = wisp.randn(64, 3)
    y = x @ wisp.tensor([[1.0], [-2.0], [3.0]]) + 0.5
    mp.start_processes(train, (model, (x, y)), nprocs=2, start_method="fork")
    assert (model(x) - y).square().mean() < 1e-2


def test_programs_end_quietly_with_tensors_in_shared_memory(tmp_path):
    code = """
import wisp, wisp.multiprocessing as mp
x = wisp.ones(3).share_memory_()
model = wisp.nn.Linear(2, 2).share_memory()
queue = mp.SimpleQueue()
queue.put(x)
y = queue.get()
x.cycle = [x, y]
print(wisp._shared_memory.folder())
"""
    with fresh.start(tmp_path / "program.py", code) as program:
        out, err = program.communicate(timeout=20)
    assert err == "" and program.returncode == 0 and not os.path.exists(out.strip())


# --- start_processes


def raises(rank):
    if rank == 1:
        raise KeyError("boom")
    time.sleep(20)


def exits(rank):
    os._exit(3)


def is_killed(rank):
    os.kill(os.getpid(), signal.SIGKILL)


def test_failures_end_all_processes():
    start = time.monotonic()
    with pytest.raises(mp.ProcessRaisedException, match="-- Process 1 terminated with the following error") as caught:
        mp.start_processes(raises, nprocs=3, start_method="fork")
    assert "KeyError: 'boom'" in str(caught.value) and caught.value.error_index == 1 and caught.value.error_pid
    with pytest.raises(mp.ProcessExitedException, match="process 0 terminated with exit code 3") as caught:
        mp.start_processes(exits, start_method="fork")
    assert caught.value.exit_code == 3 and caught.value.signal_name is None
    with pytest.raises(mp.ProcessExitedException, match="process 0 terminated with signal SIGKILL") as caught:
        mp.start_processes(is_killed, start_method="fork")
    assert caught.value.signal_name == "SIGKILL" and caught.value.exit_code == -9
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value) and again.exit_code == -9
    assert time.monotonic() - start < 15


def test_long_errors_do_not_block():
    def long(rank):
        raise ValueError("x" * 1_000_000)

    with pytest.raises(mp.ProcessRaisedException, match="xxx"):
        mp.start_processes(long, start_method="fork")


def test_joining_later():
    context = mp.start_processes(time.sleep, nprocs=2, join=False, start_method="fork")  # sleep(0) and sleep(1)
    assert len(context.pids()) == 2 and len(context.processes) == 2
    assert not context.join(timeout=0.2)
    while not context.join():
        pass
    assert context.join()


def test_spawn_starts_new_interpreters():
    assert mp.spawn(time.sleep, nprocs=1) is None  # sleep(0)
    context = mp.spawn(time.sleep, nprocs=1, join=False, daemon=True)
    assert isinstance(context, mp.SpawnContext) and context.processes[0].daemon
    assert context.join()
    with pytest.warns(FutureWarning, match="start_method"):
        mp.spawn(time.sleep, start_method="fork")


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")
def test_processes_end_with_the_program_that_started_them(tmp_path):
    code = """
import time, wisp, wisp.multiprocessing as mp
def work(rank):
    time.sleep(60)
context = mp.start_processes(work, nprocs=2, join=False, start_method="fork")
print(*context.pids(), wisp._shared_memory.folder(), flush=True)
time.sleep(60)
"""
    with fresh.start(tmp_path / "program.py", code) as program:
        *pids, folder = program.stdout.readline().split()
        assert all(map(fresh.alive, pids)) and os.path.exists(folder)
        program.kill()
        deadline = time.monotonic() + 3
        while (any(map(fresh.alive, pids)) or os.path.exists(folder)) and time.monotonic() < deadline:
            time.sleep(0.05)
    assert not any(map(fresh.alive, pids)) and not os.path.exists(folder)


# --- names


def test_everything_of_multiprocessing_is_here():
    assert all(getattr(mp, name) is getattr(multiprocessing, name) for name in multiprocessing.__all__)
    assert all(hasattr(mp, name) for name in mp.__all__)
    assert wisp.multiprocessing is mp
    from wisp.multiprocessing.spawn import ProcessException

    assert issubclass(mp.ProcessRaisedException, ProcessException)


def test_sharing_strategies():
    assert mp.get_all_sharing_strategies() == {"file_descriptor", "file_system"}
    old = mp.get_sharing_strategy()
    for name in ("file_descriptor", "file_system"):
        mp.set_sharing_strategy(name)
        assert mp.get_sharing_strategy() == name
    with pytest.raises(AssertionError):
        mp.set_sharing_strategy("telepathy")
    mp.set_sharing_strategy(old)


def test_processes_whose_exit_codes_are_lost():
    """Nobody is told of them where SIGCHLD is ignored."""
    code = """
import os, signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
import wisp.multiprocessing as mp

def run(index, how):
    if index == 1 and how == "raises":
        raise ValueError("own")
    if index == 1 and how == "dies":
        os._exit(0)

for how in ("ends", "raises", "dies"):
    try:
        print(mp.start_processes(run, (how,), nprocs=2, start_method="fork"))
    except mp.ProcessRaisedException as error:
        print("own" in str(error), error.error_index)
    except mp.ProcessExitedException as error:
        print(error.exit_code, error.error_index)
"""
    assert fresh.python(code).split() == ["None", "True", "1", "None", "1"]
