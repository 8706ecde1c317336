"""The generators that a dataset may draw from: wisp's, Python's and, if it is imported, NumPy's legacy one."""

import random
import struct
import sys
from functools import cache
from operator import index as as_integer
from zlib import crc32

from wisp import _C

_wisp, _python = _C.default_generator, random._inst
_GOLDEN, _MASK = 0x9E3779B97F4A7C15, (1 << 63) - 1


def _numpy():
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
    random.seed(seed)
    numpy = _numpy()
    if numpy is not None:
        numpy.seed(seed >> 31)


def drawn_since(seed):
    """Whether somebody has drawn from Python's or NumPy's generator since seed_all(seed). Draws itself."""
    if random.getrandbits(64) != random.Random(seed).getrandbits(64):
        return True
    numpy = _numpy()
    return numpy is not None and numpy.random_sample() != type(numpy)(seed >> 31).random_sample()


# --- states of Python's and NumPy's generators


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


# --- whether they have moved
#
# To ask for their states takes longer than many a sample does. Both are Mersenne Twisters: 624 words and a position,
# which can be read where they lie.

_PYTHONS, _NUMPYS = struct.Struct("i624I"), struct.Struct("624Ii")


@cache
def _string_at():
    from ctypes import string_at

    return string_at


def _pythons_memory(generator):
    return _string_at()(id(generator) + object.__basicsize__, _PYTHONS.size)


@cache
def _pythons_memory_is_known():
    """Whether Python's generator looks as it does in all versions so far."""
    if sys.implementation.name != "cpython" or random.Random.__basicsize__ < object.__basicsize__ + _PYTHONS.size:
        return False
    example = random.Random(1)
    example.random()
    position, *words = _PYTHONS.unpack(_pythons_memory(example))
    return (*words, position) == example.getstate()[1]


def fingerprint():
    """What changes when somebody draws from Python's or NumPy's generator."""
    python = _pythons_memory(_python) if _pythons_memory_is_known() else random.getstate()
    numpy = _numpy()
    memory = numpy and _string_at()(numpy._bit_generator.ctypes.state_address, _NUMPYS.size)
    return python, _python.gauss_next, memory


def put_back(found):
    """Puts the generators back to where fingerprint() found them."""
    python, cached, memory = found
    if isinstance(python, bytes):
        position, *words = _PYTHONS.unpack(python)
        python = (random.Random.VERSION, (*words, position), cached)
    random.setstate(python)
    if memory is not None:
        *words, position = _NUMPYS.unpack(memory)
        _numpy().set_state(("MT19937", words, position))
