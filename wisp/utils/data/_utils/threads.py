"""Worker threads."""

import queue
import threading
import time

from wisp.utils.data._utils.serving import Server, serve
from wisp.utils.data._utils.worker import ThreadGenerators, WorkerInfo, become_worker

_PATIENCE = 0.5  # seconds for workers to end


class _Result:
    """What has arrived for one task."""

    def __init__(self, number, kind, value):
        self.number, self.kind, self._value = number, kind, value

    def value(self):
        """The value that was sent."""
        return self._value


class ThreadPool:
    """The worker threads of a loader. They share the dataset, and results need not be sent."""

    def __init__(self, plan, count, init_fn, context=None):
        self.progress, self._results = [0] * count, queue.SimpleQueue()
        self._tasks = [queue.SimpleQueue() for _ in range(count)]
        self._generators = [ThreadGenerators() for _ in range(count)]
        self._threads = []
        try:
            for number, (tasks, rng) in enumerate(zip(self._tasks, self._generators)):
                args = (number, count, plan, init_fn, tasks, self._results, self.progress, rng)
                thread = threading.Thread(target=_run, args=args, name=f"wisp-loader-{number}", daemon=True)
                thread.start()
                self._threads.append(thread)
        except BaseException:  # there may be too many
            self.close()
            raise

    def begin(self, seed):
        """Tells all workers that an epoch begins."""
        for tasks in self._tasks:
            tasks.put(("epoch", seed))

    def send(self, worker, number, keys, skip):
        """Gives a worker a task."""
        self._tasks[worker].put(("fetch", number, keys, skip))

    def receive(self, timeout):
        """The results that have arrived, after waiting for at most so many seconds for one."""
        try:
            return [self._results.get(timeout=1.0 if timeout is None else timeout)]
        except queue.Empty:
            if not any(thread.is_alive() for thread in self._threads):
                raise RuntimeError(
                    "the worker threads are gone: a forked process has only the one that forked"
                ) from None
            return []

    def close(self):
        """Tells the workers to end. Threads cannot be forced: one that is busy ends when its sample is there."""
        for tasks, rng in zip(self._tasks, self._generators):
            rng.stopped = True
            tasks.put(("stop",))
        deadline = time.monotonic() + _PATIENCE
        for thread in self._threads:
            if thread is not threading.current_thread():  # which may be collecting garbage
                thread.join(max(0, deadline - time.monotonic()))


def _run(number, count, plan, init_fn, tasks, results, progress, rng):
    info = WorkerInfo(number, count, None, plan.dataset, rng, "thread")
    become_worker(info)
    server = Server(info, plan, init_fn, progress, rng.set_seed, lambda repeatable: rng)

    def receive(waiting):
        while not waiting or not tasks.empty():
            waiting.append(tasks.get())

    def fetch(number, *task):
        results.put(_Result(number, *server.result(*task)))

    serve(server, receive, fetch)
