"""Worker processes, as their parent sees them.

Each has a pipe for tasks and one for results, and shares nothing else with anybody: no locks, no queues. Whoever dies, the
other side finds its pipe closed.
"""

import gc
import os
import selectors
import signal
import struct
import time
import weakref
from contextlib import contextmanager, suppress
from multiprocessing.reduction import ForkingPickler

from wisp import _shared_memory
from wisp.multiprocessing._parent import expected_parent
from wisp.utils.data._utils import process_worker, transport

_PATIENCE = 1.0  # seconds: for a worker to end by itself, and between two looks at whether all are alive

_LOST = (
    object()
)  # the exit code of a process that somebody else has waited for, or that nobody may (SIGCHLD is ignored)

_own_ends = weakref.WeakSet()  # of pipes to workers: processes forked later must not keep them open


def _close_inherited_ends():
    for end in list(_own_ends):
        end.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_inherited_ends)


@contextmanager
def _frozen():
    """Keeps the garbage collector of forked processes off the objects that exist now: visiting them would copy the
    memory they lie in."""
    if gc.get_freeze_count():  # the program does so itself
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


class WorkerDied(Exception):
    """A worker process has ended unasked."""

    def __init__(self, worker, pid, code):
        super().__init__(worker)
        self.worker, self.pid, self.how = worker, pid, _how(code)


def _how(code):
    if code is _LOST:
        return "ended, nobody knows how,"
    try:
        return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
    except ValueError:
        return f"was killed by signal {-code}"


def _exists(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


class _Process:
    """One of them."""

    def __init__(self, context, number, *arguments):
        tasks, self.tasks = context.Pipe(duplex=False)
        self.results, results = context.Pipe(duplex=False)
        _own_ends.update((self.tasks, self.results))
        for end in (self.tasks, self.results):
            os.set_blocking(end.fileno(), False)
        self.unsent, self.arrived = bytearray(), bytearray()
        self.process = context.Process(
            target=process_worker.run, args=(number, tasks, results, *arguments), daemon=True
        )
        try:
            self.process.start()
        except BaseException:
            self.close_ends()
            raise
        finally:
            tasks.close()
            results.close()

    def send(self, task):
        data = ForkingPickler.dumps(task)
        self.unsent += struct.pack("!i", len(data))  # as Connection.recv_bytes() reads it
        self.unsent += data
        self.flush()

    def flush(self):
        """Writes what the pipe takes: the parent never waits for a worker to read, which may be waiting for it."""
        try:
            while self.unsent:
                del self.unsent[: os.write(self.tasks.fileno(), self.unsent[:65536])]
        except BlockingIOError:
            pass
        except OSError:  # the worker is dead: whoever looks for its results finds out
            self.unsent.clear()

    def receive(self):
        """The messages that have arrived whole. The parent does not wait for the rest of another either: whoever sends it may
        have been stopped. EOFError if there is none and none will come."""
        ended = False
        try:
            while data := os.read(self.results.fileno(), 1 << 20):
                self.arrived += data
            ended = True
        except BlockingIOError:
            pass
        messages = list(iter(self._next_message, None))
        if ended and not messages:
            raise EOFError
        return messages

    def _next_message(self):
        """The first message, as Connection.send_bytes() writes it: its size and its bytes; None if there is no whole one."""
        form, begin = ("!xxxxQ", 12) if self.arrived[:4] == b"\xff" * 4 else ("!i", 4)
        if len(self.arrived) < begin:
            return None
        end = begin + struct.unpack_from(form, self.arrived)[0]
        if len(self.arrived) < end:
            return None
        message = self.arrived[begin:end]
        del self.arrived[:end]
        return message

    def close_ends(self):
        self.tasks.close()
        self.results.close()

    def exit_code(self):
        """The exit code, perhaps _LOST, of a process that has ended; None as long as it lives."""
        code = self.process.exitcode
        if code is not None or _exists(self.process.pid):
            return code
        time.sleep(0.05)  # a fork server tells a moment later
        code = self.process.exitcode
        return _LOST if code is None else code

    def ended_within(self, seconds):
        """Whether the process ends in time. (Its join() waits for ever if it has only closed its files.)"""
        deadline = time.monotonic() + seconds
        while self.exit_code() is None and time.monotonic() < deadline:
            time.sleep(0.002)
        return self.exit_code() is not None

    def release(self):
        """Gives back what the parent keeps of a process that has ended."""
        self.process.join()
        with suppress(ValueError):  # raised where the exit code is lost
            self.process.close()


class ProcessPool:
    """The worker processes of a loader."""

    def __init__(self, plan, count, init_fn, context):
        import multiprocessing

        context = context or multiprocessing.get_context()
        self.progress = context.RawArray("q", count)
        self._prefix = f"batch-{os.urandom(4).hex()}-"
        _shared_memory.prepare_folder()  # the same for all
        arguments = count, plan, init_fn, self.progress, self._prefix, expected_parent(context)
        self._owner, self._workers = os.getpid(), []
        try:
            with _frozen():
                for number in range(count):
                    self._workers.append(_Process(context, number, *arguments))
        except BaseException:
            self.close()
            raise

    def pids(self):
        """The ids of the processes."""
        return [worker.process.pid for worker in self._workers]

    def begin(self, seed):
        """Tells all workers that an epoch begins."""
        self.progress[:] = [0] * len(self._workers)
        for worker in self._workers:
            worker.send(("epoch", seed))

    def send(self, worker, number, keys, skip):
        """Gives a worker a task."""
        self._workers[worker].send(("fetch", number, keys, skip))

    def receive(self, timeout):
        """The results that have arrived, after waiting for at most so many seconds for one; WorkerDied if a worker has."""
        with getattr(selectors, "PollSelector", selectors.SelectSelector)() as selector:
            for number, worker in enumerate(self._workers):
                selector.register(worker.results, selectors.EVENT_READ, number)
                selector.register(worker.process.sentinel, selectors.EVENT_READ)
                if worker.unsent:
                    selector.register(worker.tasks, selectors.EVENT_WRITE)
            ready = selector.select(_PATIENCE if timeout is None else min(timeout, _PATIENCE))
        numbers = [key.data for key, _ in ready if key.data is not None]
        found = [result for number in numbers for result in self._read(self._workers[number])]
        for worker in self._workers:
            worker.flush()
        if not found:
            self._check_alive()
        return found

    def _read(self, worker):
        try:
            yield from map(transport.Result, worker.receive())
        except EOFError:
            if not worker.ended_within(_PATIENCE / 2):  # it has only lost its pipe
                worker.process.kill()
                worker.process.join()

    def _check_alive(self):
        for number, worker in enumerate(self._workers):
            code = worker.exit_code()
            if code is not None:
                raise WorkerDied(number, worker.process.pid, code)

    def close(self):
        """Ends all workers: by word, and those that do not listen by force. Only in the process that started them."""
        if self._owner != os.getpid():
            return
        left, self._workers = self._workers, []
        try:
            for worker in left:
                worker.send(("stop",))
                worker.close_ends()
            for force in (lambda process: None, lambda process: process.terminate()):
                self._end(left, force)
        finally:  # also if it is interrupted
            self._end(left, lambda process: process.kill())
            _shared_memory.remove_files(self._prefix)

    @staticmethod
    def _end(workers, force):
        """Waits a moment for workers to end, after this is done to each; those that have are taken out of the list."""
        for worker in workers:
            force(worker.process)
        deadline = time.monotonic() + _PATIENCE / 2
        for worker in [worker for worker in workers if worker.ended_within(deadline - time.monotonic())]:
            workers.remove(worker)
            worker.release()
