"""Worker threads."""

import queue
import threading
import time

from wisp.utils.data._utils import failure, transport, worker
from wisp.utils.data._utils.fetch import END

_PATIENCE = 0.5  # seconds for workers to end


class _Result:
    """What has arrived for one task."""

    def __init__(self, number, kind, value=None):
        self.number, self.kind, self._value = number, kind, value

    def value(self):
        """The value that was sent."""
        return self._value


class ThreadPool:
    """The worker threads of a loader. They share the dataset, and results need not be sent."""

    def __init__(self, plan, count, init_fn, context=None):
        self.progress, self._results = [0] * count, queue.SimpleQueue()
        self._tasks = [queue.SimpleQueue() for _ in range(count)]
        self._generators = [worker.ThreadGenerators() for _ in range(count)]
        self._threads = []
        for number, (tasks, rng) in enumerate(zip(self._tasks, self._generators)):
            args = (number, count, plan, init_fn, tasks, self._results, self.progress, rng)
            self._threads.append(threading.Thread(target=_run, args=args, name=f"wisp-loader-{number}", daemon=True))
            self._threads[-1].start()

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
    worker._thread.info = worker.WorkerInfo(number, count, None, plan.dataset, rng, "thread")
    serving = _Thread(number, plan, results, progress, rng)
    while True:
        what, *task = tasks.get()
        if what == "stop":
            return
        if what == "epoch":
            serving.begin(*task, init_fn)
        else:
            serving.fetch(*task)


class _Thread:
    def __init__(self, number, plan, results, progress, rng):
        self.number, self.plan, self.results, self.progress, self.rng = number, plan, results, progress, rng
        self.fetcher = self.failed = None

    def begin(self, seed, init_fn):
        self.seed = seed
        worker._thread.info.seed = self.rng.seed = seed + self.number
        self.progress[self.number] = 0
        if self.fetcher is None and init_fn is not None:
            try:
                init_fn(self.number)
            except BaseException as error:  # noqa: BLE001  (raised in the main thread)
                self.failed = failure.Failure(error, self._name(), "in worker_init_fn")
        self.fetcher = self.plan.fetcher(lambda repeatable: self.rng, self.progress, self.number)

    def fetch(self, number, keys, skip):
        self.results.put(self._result(number, keys, skip))

    def _result(self, number, keys, skip):
        if self.failed is not None:
            return _Result(number, transport.ERROR, self.failed)
        try:
            batch = self.fetcher.fetch(keys, self.seed, skip)
        except BaseException as error:  # noqa: BLE001  (raised in the main thread)
            at = failure.place(keys, self.progress[self.number], self.plan)
            return _Result(number, transport.ERROR, failure.Failure(error, self._name(), at))
        if batch is END:
            return _Result(number, transport.END)
        return _Result(number, transport.SKIPPED) if skip else _Result(number, transport.BATCH, batch)

    def _name(self):
        return f"DataLoader worker thread {self.number}"
