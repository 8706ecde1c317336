"""What worker processes and worker threads have in common: they fetch what they are asked for."""

from wisp.utils.data._utils import failure
from wisp.utils.data._utils.fetch import END

BATCH, SKIPPED, ENDED, ERROR = range(4)  # kinds of results


def next_task(waiting):
    """Takes the next out of a list of tasks. Those before the latest that is no fetching are of an epoch that was left, or of
    a loader that was closed: they are dropped."""
    first = max((i for i, task in enumerate(waiting) if task[0] != "fetch"), default=0)
    task = waiting[first]
    del waiting[: first + 1]
    return task


def serve(server, receive, fetch):
    """Does what a worker is asked for until it is told to stop.

    Args:
        server: its Server.
        receive: called with a list, to add tasks to it that have come; waits for one if the list is empty.
        fetch: called with each task of fetching.
    """
    waiting = []
    while True:
        receive(waiting)
        what, *task = next_task(waiting)
        if what == "stop":
            return
        if what == "epoch":
            server.begin(*task)
        else:
            fetch(*task)


class Server:
    """Fetches for one worker.

    Args:
        info: its WorkerInfo.
        plan: what to fetch, and how.
        init_fn: the user's function to call at the start, or None.
        progress: where to note, at the worker's number, which sample it is at.
        seed_worker: called with the worker's seed when an epoch begins.
        seeding: makes what seeds samples; see Plan.fetcher().
    """

    def __init__(self, info, plan, init_fn, progress, seed_worker, seeding):
        self._info, self._plan, self._init_fn, self._progress = info, plan, init_fn, progress
        self._seed_worker, self._seeding = seed_worker, seeding
        self._fetcher = self._failed = None

    def begin(self, seed):
        """Starts on an epoch."""
        self._seed, self._info.seed = seed, seed + self._info.id
        self._progress[self._info.id] = 0
        self._seed_worker(self._info.seed)
        doing = "in worker_init_fn"
        try:
            if self._fetcher is None and self._init_fn is not None:
                self._init_fn(self._info.id)
            doing = "at the start of an epoch"
            self._fetcher = self._plan.fetcher(self._seeding, self._progress, self._info.id)
        except BaseException as error:  # noqa: BLE001  (raised where the batches are used)
            self._failed = self._failure(error, doing)

    def result(self, keys, skip):
        """(kind, value) of what came of a task. With ``skip`` a batch is only passed over."""
        if self._failed is not None:
            return ERROR, self._failed
        try:
            batch = self._fetcher.fetch(keys, self._seed, skip)
        except BaseException as error:  # noqa: BLE001  (raised where the batches are used)
            return self.error(error, keys)
        if batch is END:
            return ENDED, None
        return (SKIPPED, None) if skip else (BATCH, batch)

    def error(self, error, keys, doing="put together"):
        """(ERROR, value) of an exception."""
        at = failure.place(keys, self._progress[self._info.id], self._plan, doing)
        return ERROR, self._failure(error, at)

    def _failure(self, error, at):
        kind = "thread" if self._info.worker_method == "thread" else "process"
        return failure.Failure(error, f"DataLoader worker {kind} {self._info.id}", at)
