"""What a dataset can know of the worker it runs in."""

import random
import threading

from wisp import _C
from wisp.utils.data._utils.generators import seed_of

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


def become_worker(info):
    """Makes this process, or this thread, the worker that get_worker_info() tells of."""
    global _process
    if info.worker_method == "thread":
        _thread.info = info
    else:
        _process = info


def get_worker_info():
    """The WorkerInfo of the worker that calls it; None in the main process."""
    return getattr(_thread, "info", _process)


class SampleGenerators:
    """Random generators for the sample that is being fetched, seeded by the epoch and the sample's key when first used."""

    def __init__(self):
        self._made, self._seeded_with = {}, None

    @property
    def seed(self):
        """What the generators are seeded with. The process's own are, too."""
        return _C.default_generator.initial_seed()

    def _one(self, name, make):
        if self._seeded_with != self.seed:
            self._made, self._seeded_with = {}, self.seed
        if name not in self._made:
            self._made[name] = make(self.seed)
        return self._made[name]

    @property
    def random_generator(self):
        """A random.Random."""
        return self._one("random", random.Random)

    @property
    def torch_generator(self):
        """A wisp.Generator."""
        return self._one("wisp", lambda seed: _C.Generator().manual_seed(seed))

    @property
    def numpy_generator(self):
        """A numpy.random.Generator; needs NumPy."""
        import numpy

        return self._one("numpy", numpy.random.default_rng)


class ThreadGenerators(SampleGenerators):
    """The same in a worker thread. Threads share the process's generators with everybody else, so these are the only ones
    that a dataset can draw the same numbers from in any number of threads."""

    seed = 0
    stopped = False  # set by the thread that uses the batches, when it wants no more

    def set_seed(self, seed):
        """Says what the generators are seeded with from now on."""
        self.seed = seed

    def run(self, fetch, seed):
        """``fetch(before, None)``, which calls ``before(key)`` before every sample."""

        def before(key):
            if self.stopped:
                raise RuntimeError("the loader was closed")
            self.seed = seed_of(seed, key)

        return fetch(before, None)
