"""What a dataset can know of the worker it runs in."""

import threading

_process = None  # the WorkerInfo of this process, if it is a worker
_thread = threading.local()


class WorkerInfo:
    """Who fetches: ``id`` of ``num_workers``, the ``seed`` of this worker in this epoch, its copy of the ``dataset``.

    ``rng`` has generators of the sample that is being fetched, see SampleGenerators. ``worker_method`` is
    "multiprocessing" or "thread".
    """

    def __init__(self, id, num_workers, seed, dataset, rng=None, worker_method="multiprocessing"):
        self.id, self.num_workers, self.seed, self.dataset = id, num_workers, seed, dataset
        self.rng, self.worker_method = rng, worker_method

    def __repr__(self):
        inside = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"WorkerInfo({inside})"


def get_worker_info():
    """The WorkerInfo of the worker that calls it; None in the main process."""
    return getattr(_thread, "info", _process)
