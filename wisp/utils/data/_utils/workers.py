"""An epoch whose batches are fetched by workers."""

import os
import signal
import threading
import time
import weakref

from wisp.utils.data._utils import failure
from wisp.utils.data._utils.fetch import Plan
from wisp.utils.data._utils.processes import ProcessPool, WorkerDied
from wisp.utils.data._utils.serving import BATCH, ENDED, ERROR
from wisp.utils.data._utils.threads import ThreadPool
from wisp.utils.data.dataloader import _BaseDataLoaderIter


class WorkersIter(_BaseDataLoaderIter):
    """Hands out tasks, a number to each, and gives their results in the order of the numbers."""

    def __init__(self, loader):
        self._num_workers, self._prefetch_factor = loader.num_workers, loader.prefetch_factor
        self._in_order, self._timeout = loader.in_order, loader.timeout
        self._persistent_workers = loader.persistent_workers
        kind = ThreadPool if loader.worker_type == "thread" else ProcessPool
        self._pool = kind(Plan(loader), loader.num_workers, loader.worker_init_fn, loader.multiprocessing_context)
        self._end = weakref.finalize(self, _end, self._pool)
        self._next_task, self.closed = 0, False
        try:
            super().__init__(loader)
        except BaseException:
            self.close()
            raise

    def begin(self, epoch):
        super().begin(epoch)
        self._first = self._next_task  # results of tasks before it are of an epoch that was left
        self._tasks, self._results = {}, {}  # by number: (worker, keys) of what is not given yet; what has arrived
        self._active = list(range(self._num_workers))
        self._to_skip = self._skips_to_send = epoch.to_skip
        self._keys_left = True
        self._pool.begin(epoch.seed)
        self._hand_out()

    def close(self):
        """Ends the workers."""
        self.closed = True
        self._tasks, self._results = {}, {}
        self._end()

    # --- tasks

    def _hand_out(self):
        """Gives the workers tasks until each has enough in hand."""
        while self._keys_left and len(self._tasks) < self._prefetch_factor * len(self._active):
            try:
                keys = next(self._epoch.keys)
            except StopIteration:
                self._keys_left = False
                return
            skip = self._skips_to_send > 0
            self._skips_to_send -= skip
            worker = self._next_worker()
            self._tasks[self._next_task] = worker, keys
            self._pool.send(worker, self._next_task, keys, skip)
            self._next_task += 1

    def _next_worker(self):
        """In turn, or, where the order does not matter, the one with the least to do."""
        if self._in_order:
            self._active.append(self._active.pop(0))
            return self._active[-1]
        busy = [worker for worker, _ in self._tasks.values()]
        return min(self._active, key=busy.count)

    # --- results

    def _next_data(self):
        if self.closed:
            raise StopIteration
        try:
            return self._next_batch()
        except StopIteration:
            if not self._persistent_workers:
                self.close()
            raise
        except BaseException:
            self.close()
            raise

    def _next_batch(self):
        while self._tasks:
            result = self._next_in_order()
            worker, _ = self._tasks.pop(result.number)
            if result.kind == ERROR:
                raise result.value().error()
            if result.kind == ENDED and worker in self._active:
                self._active.remove(worker)
            self._hand_out()
            if result.kind == BATCH and not self._to_skip:
                return result.value()
            if result.kind != ENDED:
                self._to_skip -= 1
        raise StopIteration

    def _next_in_order(self):
        """The result of the next task, or, where the order does not matter, any; waits for it."""
        limit = self._timeout
        deadline = time.monotonic() + limit if limit else None
        while True:
            number = self._wanted()
            if number in self._results:
                return self._results.pop(number)
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                raise RuntimeError(f"DataLoader timed out after {limit} seconds waiting for {self._busy(number)}")
            self._receive(left)

    def _wanted(self):
        if self._in_order:
            return next(iter(self._tasks))
        return next(iter(self._results), None)

    def _receive(self, timeout):
        try:
            arrived = self._pool.receive(timeout)
        except WorkerDied as event:
            mine = (number for number, (worker, _) in self._tasks.items() if worker == event.worker)
            waiting = (number for number in mine if number not in self._results)
            raise RuntimeError(
                f"DataLoader worker (pid(s) {event.pid}) exited unexpectedly: worker {event.worker} {event.how} "
                f"{self._place(next(waiting, None))}"
            ) from None
        self._results.update((result.number, result) for result in arrived if result.number >= self._first)

    def _place(self, number):
        """At which sample the worker of a task is."""
        if number is None:
            return "with nothing to do"
        worker, keys = self._tasks[number]
        return failure.place(keys, self._pool.progress[worker], self._plan)

    def _busy(self, number):
        number = next(iter(self._tasks)) if number is None else number
        return f"worker {self._tasks[number][0]} {self._place(number)}"


def _end(pool):
    """Closes a pool. Where this is called because nobody uses it any more, exceptions are lost, but Ctrl-C must not be: it
    comes again a moment later."""
    try:
        pool.close()
    except KeyboardInterrupt:
        threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGINT)).start()
