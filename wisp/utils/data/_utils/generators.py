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

_wisp, _python = _C.default_generator, random._inst
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


@cache
def _memory():
    """Functions that read and write memory."""
    from ctypes import memmove, string_at

    return string_at, memmove


def _read(address):
    return _memory()[0](address, _SIZE)


def _write(address, data):
    _memory()[1](address, data, _SIZE)


class _Pythons:
    """Python's generator. Its twister lies behind the head of the object, as in all versions so far."""

    _address = id(_python) + object.__basicsize__

    def seed(self, seed):
        """Starts it anew."""
        random.seed(seed)

    def saved(self):
        """Where it stands, for is_at() and put_back()."""
        return (_read(self._address), _python.gauss_next) if _pythons_memory_is_known() else random.getstate()

    def is_at(self, saved):
        """Whether nobody has drawn from it since."""
        return self.saved() == saved

    def put_back(self, saved):
        """Lets it stand there again."""
        if not _pythons_memory_is_known():
            random.setstate(saved)
            return
        memory, _python.gauss_next = saved
        _write(self._address, memory)


@cache
def _pythons_memory_is_known():
    if sys.implementation.name != "cpython" or random.Random.__basicsize__ < object.__basicsize__ + _SIZE:
        return False
    example = random.Random(1)
    example.random()
    position, *words = memoryview(_read(id(example) + object.__basicsize__)).cast("I")
    return (*words, position) == example.getstate()[1]


class _Numpys:
    """NumPy's generator. Every other normal number is kept beside its twister, which only the slow way tells."""

    def __init__(self, generator):
        self._generator = generator
        self._keeps_none = None  # the twister's memory when nothing was kept: as long as it stands there, nothing is

    @property
    def _address(self):
        return self._generator._bit_generator.ctypes.state_address

    def seed(self, seed):
        """Starts it anew."""
        self._generator.seed(seed >> 31)

    def saved(self):
        """Where it stands, for is_at() and put_back(): its memory, and its state if that is not all."""
        memory = _read(self._address)
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
        if _read(self._address) != memory:
            return False
        return state is None or self._generator.get_state(legacy=False)["has_gauss"] == 1

    def put_back(self, saved):
        """Lets it stand there again."""
        memory, state = saved
        if state is not None:
            self._generator.set_state(state)
            return
        self._generator.seed(0)  # drops a number that is kept
        _write(self._address, memory)


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
