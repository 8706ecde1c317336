"""The random numbers a sample sees depend on the epoch's seed and on its key, not on who fetches it or when.

Before a sample is fetched, the generators that its code may draw from are seeded: wisp's (almost free), Python's and, if
it is imported, NumPy's (several microseconds). Most datasets draw nothing from one of the latter two, or from both. So
the first samples are watched, and a generator that none has drawn from is only compared before and after a batch. If that
drew unexpectedly, it is fetched again, and from then on every sample is seeded.
"""

from wisp import _C
from wisp.utils.data._utils.generators import others, seed_of, twister_to_seed

_WATCHED = 16  # so many samples (or whole batches of ``__getitems__``) decide what a dataset draws from
_wisp = _C.default_generator


class Seeding:
    """How the samples of one dataset are seeded.

    Args:
        put_back: whether the generators are to be left as they were: not in a process that only fetches.
        repeatable: whether a batch can be fetched again; else every one is seeded.
    """

    def __init__(self, put_back, repeatable):
        self._put_back, self._repeatable = put_back, repeatable
        self._to_watch, self._drawn_from = _WATCHED, set()
        self._marks = {}  # where the generators stood when the sample that is being watched began

    def run(self, fetch, seed):
        """``fetch(before, seed, twister)``, which calls ``before(key)`` before every sample. Unless ``seed`` is None, it
        may seed wisp's generator by it and the key instead, and Python's if its twister is given: there is no other."""
        state = _wisp.get_state()
        try:
            return self._run(fetch, seed)
        finally:
            _wisp.set_state(state)

    def _run(self, fetch, seed):
        generators, all_of_them = others(), self._to_watch > 0 or not self._repeatable
        seeded = [generator for generator in generators if all_of_them or generator in self._drawn_from]
        saved = {generator: generator.saved() for generator in generators if self._put_back or generator not in seeded}
        try:
            twister = None if self._to_watch > 0 else twister_to_seed(seeded)
            by_itself = seed if twister is not None or not seeded else None
            result = fetch(lambda key: self._begin_sample(seeded, seed_of(seed, key)), by_itself, twister)
            self._end_sample()
        finally:
            moved = [generator for generator in saved if generator in seeded or not generator.is_at(saved[generator])]
            for generator in moved:
                generator.put_back(saved[generator])
        unexpected = set(moved).difference(seeded)
        self._drawn_from |= unexpected
        if unexpected or (self._repeatable and len(others()) > len(generators)):  # (the batch has imported NumPy)
            return self._run(fetch, seed)
        return result

    def _begin_sample(self, seeded, seed):
        self._end_sample()
        _wisp.manual_seed(seed)
        for generator in seeded:
            generator.seed(seed)
        if self._to_watch > 0:
            self._to_watch -= 1
            self._marks = {generator: generator.saved() for generator in seeded}

    def _end_sample(self):
        """Notes which generators the sample that is being watched has drawn from."""
        if self._marks:
            self._drawn_from.update(generator for generator, place in self._marks.items() if not generator.is_at(place))
            self._marks = {}
