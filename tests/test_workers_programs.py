"""Programs that end, are interrupted or are killed while workers run: all of them are gone soon after."""

import contextlib
import os
import signal
import sys
import time

import pytest

from tests import fresh
from wisp import _shared_memory

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
    pytest.mark.usefixtures("forked_and_gone"),
]
SLOW = """
import os, sys, time, warnings, wisp
from wisp import _shared_memory
from wisp.utils.data import DataLoader, Dataset

warnings.filterwarnings("ignore", "This DataLoader will create")  # where there is one processor

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
            with contextlib.suppress(ProcessLookupError):  # the program may have ended its workers by now
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
@pytest.mark.parametrize(
    "taken", ["signal.signal(signal.SIGCHLD, signal.SIG_IGN)", "threading.Thread(target=reap, daemon=True).start()"]
)
def test_programs_that_lose_exit_codes(taken):
    """Python's multiprocessing takes a process for alive as long as it was not told that it has ended."""
    code = f"""
import os, signal, threading, time, wisp
from wisp.utils.data import DataLoader

def reap():
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            time.sleep(0.01)

def collate(batch):
    if 5 in batch:
        os._exit(1)
    return batch

{taken}
start = time.monotonic()
assert len(list(DataLoader(range(20), num_workers=2))) == 20
try:
    list(DataLoader(range(20), num_workers=2, collate_fn=collate, multiprocessing_context="fork"))
except RuntimeError as error:
    assert "worker 1 ended" in str(error) and "when the batch of the samples [5] was put together" in str(error), error
    print(time.monotonic() - start)
"""
    assert float(fresh.python(code, timeout=60)) < 6


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


def test_folders_that_were_not_finished(tmp_path, monkeypatch):
    old, new = tmp_path / ".wisp-old", tmp_path / ".wisp-new"
    for folder in (old, new):
        folder.mkdir()
    os.utime(old, (0, 0))
    monkeypatch.setattr(os, "rename", lambda *paths: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        _shared_memory._make_folder([str(tmp_path)])
    assert os.listdir(tmp_path) == [".wisp-new"]  # which somebody may be about to finish


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
