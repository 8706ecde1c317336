"""The random numbers a sample sees depend on the epoch's seed and on its key, not on who fetches it or when.

Before a sample is fetched, the generators that its code may draw from are seeded: wisp's (almost free), Python's and, if
it is imported, NumPy's (several microseconds each). Most datasets draw nothing from the latter two. So the first samples
are watched; as long as none has drawn, the two are only compared before and after a batch. A batch that drew
unexpectedly is fetched again with its seeds, and from then on every sample is seeded.
"""

import random
import sys
from operator import index as as_integer
from zlib import crc32

from wisp import _C

_wisp = _C.default_generator
_GOLDEN, _MASK = 0x9E3779B97F4A7C15, (1 << 63) - 1
_WATCHED = 16  # so many samples (or whole batches of ``__getitems__``) decide whether a dataset draws


def seed_of(seed, key):
    """The seed of one sample."""
    if type(key) is not int:
        try:
            key = as_integer(key)
        except TypeError:
            key = crc32(repr(key).encode())
    return (seed + (key + 1) * _GOLDEN) & _MASK


def _numpy():
    """NumPy's legacy generator, if NumPy is imported and the generator is one that can be seeded."""
    module = sys.modules.get("numpy")
    if module is None:
        return None
    found = module.random.mtrand._rand  # NumPy may import this part of itself only now
    return found if type(found._bit_generator).__name__ == "MT19937" else None


def seed_others(seed):
    """Seeds Python's generator and NumPy's."""
    random.seed(seed)
    numpy = _numpy()
    if numpy is not None:
        numpy.seed(seed >> 31)


def seed_all(seed):
    """Seeds every generator a dataset may draw from."""
    _wisp.manual_seed(seed)
    seed_others(seed)


def _drawn_since(seed):
    """Whether somebody has drawn from Python's or NumPy's generator since seed_others(seed). Draws itself."""
    if random.getrandbits(64) != random.Random(seed).getrandbits(64):
        return True
    numpy = _numpy()
    return numpy is not None and numpy.random_sample() != type(numpy)(seed >> 31).random_sample()


def others_state():
    """The states of Python's and NumPy's generators, as plain data."""
    numpy = _numpy()
    if numpy is None:
        return {"python": random.getstate(), "numpy": None}
    name, key, *rest = numpy.get_state()
    return {"python": random.getstate(), "numpy": (name, key.tolist(), *rest)}


def put_others_back(states):
    """Puts Python's and NumPy's generators back into states given by others_state()."""
    version, words, cached = states["python"]
    random.setstate((version, tuple(words), cached))
    numpy = _numpy()
    if numpy is not None and states["numpy"] is not None:
        numpy.set_state(tuple(states["numpy"]))


def _fingerprint():
    """Python's state, and the memory of NumPy's: to ask NumPy for its state takes a hundred times longer."""
    numpy = _numpy()
    if numpy is None:
        return random.getstate(), None
    from ctypes import string_at

    return random.getstate(), string_at(numpy._bit_generator.ctypes.state_address, 625 * 4)


def _put_fingerprint_back(fingerprint):
    python, memory = fingerprint
    random.setstate(python)
    if memory is not None:
        from numpy import frombuffer

        words = frombuffer(memory, "uint32")
        _numpy().set_state(("MT19937", words[:624], int(words[624])))


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
        if self._to_watch > 0 and last is not None:
            self._to_watch -= 1
            self._draws = self._draws or _drawn_since(last)

    def _compared(self, fetch, seed):
        found = _fingerprint()
        result = fetch(lambda key: _wisp.manual_seed(seed_of(seed, key)))
        if _fingerprint() == found:
            return result
        self._draws = True
        if not self._repeatable:
            return result
        _put_fingerprint_back(found)
        return self._seeded(fetch, seed)
