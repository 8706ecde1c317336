"""The generators that a dataset may draw from: wisp's, Python's and, if it is imported, NumPy's legacy one.

The latter two are Mersenne Twisters, 624 words and a position. To ask them for their states takes longer than many a sample
does, so these are copied where they lie.
"""

import random
import sys
from functools import cache
from operator import index as as_integer
from zlib import crc32

from wisp import _C

_wisp, _python, _seed_twister = _C.default_generator, random._inst, _C._seed_twister
_GOLDEN, _MASK = 0x9E3779B97F4A7C15, (1 << 63) - 1
_SIZE = 4 * 625  # bytes of a twister


def _numpys():
    """NumPy's generator, if NumPy is imported and the generator is one that can be seeded."""
    module = sys.modules.get("numpy")
    if module is None:
        return None
    found = module.random.mtrand._rand  # NumPy may import this part of itself only now
    return found if type(found._bit_generator).__name__ == "MT19937" else None


# --- seeds


def seed_of(seed, key):
    """The seed of one sample: of an epoch's seed and the sample's key."""
    if type(key) is not int:
        try:
            key = as_integer(key)
        except TypeError:
            key = crc32(repr(key).encode())
    return (seed + (key + 1) * _GOLDEN) & _MASK


def seed_all(seed):
    """Seeds every generator."""
    _wisp.manual_seed(seed)
    for generator in others():
        generator.seed(seed)


# --- Python's and NumPy's


def others():
    """Those besides wisp's, as objects that can be seeded and put back."""
    numpys = _numpys()
    return (_PYTHONS,) if numpys is None else (_PYTHONS, _of_numpy(numpys))


def twister_to_seed(generators):
    """The memory of Python's twister, if that is the only one of these generators and lies where it is known."""
    return _pythons_twister() if len(generators) == 1 and generators[0] is _PYTHONS else None


def _twister_at(address):
    """The memory of a twister: its attribute ``raw`` reads and writes it."""
    from ctypes import c_char

    return (c_char * _SIZE).from_address(address)


class _Pythons:
    """Python's generator. Its twister lies behind the head of the object, as in all versions so far."""

    def seed(self, seed):
        """Starts it anew. Its own way to do that takes as long as many a sample."""
        twister = _pythons_twister()
        if twister is None:
            random.seed(seed)
        else:
            _seed_twister(twister, seed)

    def saved(self):
        """Where it stands, for is_at() and put_back()."""
        twister = _pythons_twister()
        return random.getstate() if twister is None else (twister.raw, _python.gauss_next)

    def is_at(self, saved):
        """Whether nobody has drawn from it since."""
        return self.saved() == saved

    def put_back(self, saved):
        """Lets it stand there again."""
        twister = _pythons_twister()
        if twister is None:
            random.setstate(saved)
        else:
            twister.raw, _python.gauss_next = saved


@cache
def _pythons_twister():
    """The memory of Python's twister, or None if it does not lie where it is expected."""
    if sys.implementation.name != "cpython" or random.Random.__basicsize__ < object.__basicsize__ + _SIZE:
        return None
    example = random.Random(1)
    example.random()
    position, *words = memoryview(_twister_at(id(example) + object.__basicsize__).raw).cast("I")
    known = (*words, position) == example.getstate()[1]
    return _twister_at(id(_python) + object.__basicsize__) if known else None


class _Numpys:
    """NumPy's generator. Every other normal number is kept beside its twister, which only the slow way tells."""

    def __init__(self, generator):
        self._generator = generator
        self._keeps_none = None  # the twister's memory when nothing was kept: as long as it stands there, nothing is
        self._source = self._memory = None

    @property
    def _twister(self):
        source = self._generator._bit_generator  # which NumPy lets users replace
        if source is not self._source:
            self._source, self._memory = source, _twister_at(source.ctypes.state_address)
        return self._memory

    def seed(self, seed):
        """Starts it anew."""
        self._generator.seed(seed >> 31)

    def saved(self):
        """Where it stands, for is_at() and put_back(): its memory, and its state if that is not all."""
        memory = self._twister.raw
        if memory == self._keeps_none:
            return memory, None
        state = self._generator.get_state(legacy=False)
        if state["has_gauss"]:
            return memory, state
        self._keeps_none = memory
        return memory, None

    def is_at(self, saved):
        """Whether nobody has drawn from it since."""
        memory, state = saved
        if self._twister.raw != memory:
            return False
        return state is None or self._generator.get_state(legacy=False)["has_gauss"] == 1

    def put_back(self, saved):
        """Lets it stand there again."""
        memory, state = saved
        if state is not None:
            self._generator.set_state(state)
            return
        self._generator.seed(0)  # drops a number that is kept
        self._twister.raw = memory


_PYTHONS, _of_numpy = _Pythons(), cache(_Numpys)


# --- their states as plain data


def others_state():
    """The states of Python's and NumPy's generators, as plain data."""
    numpy = _numpys()
    if numpy is None:
        return {"python": random.getstate(), "numpy": None}
    name, key, *rest = numpy.get_state()
    return {"python": random.getstate(), "numpy": (name, key.tolist(), *rest)}


def put_others_back(states):
    """Puts Python's and NumPy's generators back into states given by others_state()."""
    version, words, cached = states["python"]
    random.setstate((version, tuple(words), cached))
    numpy = _numpys()
    if numpy is not None and states["numpy"] is not None:
        numpy.set_state(tuple(states["numpy"]))
