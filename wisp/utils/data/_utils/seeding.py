"""The random numbers a sample sees depend on the epoch's seed and on its key, not on who fetches it or when.

Before a sample is fetched, the generators that its code may draw from are seeded: wisp's (almost free), Python's and, if
it is imported, NumPy's (several microseconds each). Most datasets draw nothing from the latter two. So the first samples
are watched; as long as none has drawn, the two are only compared before and after a batch. A batch that drew
unexpectedly is fetched again with its seeds, and from then on every sample is seeded.
"""

from wisp import _C
from wisp.utils.data._utils.generators import (
    drawn_since,
    fingerprint,
    others_state,
    put_back,
    put_others_back,
    seed_all,
    seed_of,
)

_WATCHED = 16  # so many samples (or whole batches of ``__getitems__``) decide whether a dataset draws
_wisp = _C.default_generator


class Seeding:
    """How the samples of one dataset are seeded.

    Args:
        put_back: whether the generators are to be left as they were: not in a process that only fetches.
        repeatable: whether a batch can be fetched again.
    """

    def __init__(self, put_back, repeatable):
        self._put_back, self._repeatable = put_back, repeatable
        self._to_watch, self._draws = _WATCHED, False

    def run(self, fetch, seed):
        """``fetch(before)``, which calls ``before(key)`` before every sample."""
        state = _wisp.get_state()
        try:
            if self._draws or self._to_watch > 0 or not (self._repeatable or self._put_back):
                return self._seeded(fetch, seed)
            return self._compared(fetch, seed)
        finally:
            _wisp.set_state(state)

    def _seeded(self, fetch, seed):
        states = others_state() if self._put_back else None
        last = None

        def before(key):
            nonlocal last
            self._watch(last)
            last = seed_of(seed, key)
            seed_all(last)

        try:
            result = fetch(before)
            self._watch(last)
            return result
        finally:
            if states is not None:
                put_others_back(states)

    def _watch(self, last):
        """Notes whether the sample seeded last has drawn."""
        if self._to_watch > 0 and last is not None:
            self._to_watch -= 1
            self._draws = self._draws or drawn_since(last)

    def _compared(self, fetch, seed):
        found = fingerprint()
        try:
            result = fetch(lambda key: _wisp.manual_seed(seed_of(seed, key)))
        finally:
            drew = fingerprint() != found
            if drew:
                put_back(found)
        if not drew:
            return result
        self._draws = True
        return self._seeded(fetch, seed) if self._repeatable else result
