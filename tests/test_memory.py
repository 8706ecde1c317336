"""wisp.memory: what is in use, at most was, and is kept for reuse."""

import gc
import mmap
import os

import numpy
import pytest

import wisp
from tests import fresh

MIB = 1 << 20
keeps_memory = pytest.mark.skipif(
    "WISP_SANITIZED" in os.environ, reason="sanitised builds keep no memory, to notice its wrong use"
)


@pytest.fixture(autouse=True)
def clean_cache():
    limit = wisp.memory.stats()["cache_limit"]
    gc.collect()
    wisp.memory.empty_cache()
    yield
    wisp.memory.set_cache_limit(limit)


def test_current():
    before = wisp.memory.current()
    x = wisp.zeros(MIB)
    assert 4 * MIB <= wisp.memory.current() - before < 5 * MIB
    view = x[10:]
    del x
    assert wisp.memory.current() - before >= 4 * MIB  # the view keeps it
    del view
    assert wisp.memory.current() == before


def test_small_blocks_count():
    before = wisp.memory.current()
    many = [wisp.zeros(100) for _ in range(1000)]
    assert 400_000 <= wisp.memory.current() - before < 1_000_000
    del many
    assert wisp.memory.current() == before


def test_peak():
    wisp.memory.reset_peak()
    start = wisp.memory.peak()
    x = wisp.zeros(2 * MIB)
    del x
    assert wisp.memory.peak() - start >= 8 * MIB and wisp.memory.current() <= start
    wisp.memory.reset_peak()
    assert wisp.memory.peak() - start < MIB


@keeps_memory
def test_cache():
    """Large blocks are kept after use, handed out again, and given back on request."""
    x = wisp.zeros(4 * MIB)
    address = x.data_ptr()
    del x
    assert wisp.memory.stats()["cached"] >= 16 * MIB
    assert wisp.zeros(4 * MIB).data_ptr() == address
    reserved = wisp.memory.stats()["reserved"]
    wisp.memory.empty_cache()
    stats = wisp.memory.stats()
    assert stats["cached"] == 0 and reserved - stats["reserved"] >= 16 * MIB


@keeps_memory
def test_cache_limit():
    wisp.memory.set_cache_limit(0)
    x = wisp.zeros(4 * MIB)
    del x
    assert wisp.memory.stats()["cached"] == 0
    wisp.memory.set_cache_limit(20 * MIB)
    blocks = [wisp.zeros(2 * MIB) for _ in range(5)]
    del blocks
    assert 0 < wisp.memory.stats()["cached"] <= 20 * MIB
    for bad in (-1, "a", None, 2**70):
        with pytest.raises((ValueError, TypeError, OverflowError)):
            wisp.memory.set_cache_limit(bad)


@keeps_memory
def test_snapshot():
    x = wisp.zeros(4 * MIB)
    rows = wisp.memory.snapshot()
    assert all(set(row) == {"size", "in_use", "cached"} and row["in_use"] >= 0 and row["cached"] >= 0 for row in rows)
    assert [row["size"] for row in rows] == sorted(row["size"] for row in rows)
    assert any(row["size"] >= 16 * MIB and row["in_use"] == 1 for row in rows)
    del x
    assert any(row["size"] >= 16 * MIB and row["cached"] >= 1 for row in wisp.memory.snapshot())


def test_graph_is_released():
    """Neither forward nor backward passes leave anything behind."""
    w = wisp.ones(1000, requires_grad=True)

    def step():
        y = w
        for _ in range(10):
            y = (y * 1.5).exp().clamp(max=3.0) + y[:].sum() * 0
        y.sum().backward()
        w.grad = None

    step()
    gc.collect()
    before = wisp.memory.current()
    for _ in range(20):
        step()
    assert wisp.memory.current() == before


def test_exceptions_leave_nothing():
    before = wisp.memory.current()
    for _ in range(100):
        with pytest.raises(RuntimeError):
            wisp.ones(1000) + wisp.ones(999)
        with pytest.raises(IndexError):
            wisp.ones(1000)[wisp.full((1000,), 1000)]
    gc.collect()
    assert wisp.memory.current() <= before + 64


def test_out_of_memory():
    with pytest.raises(wisp.OutOfMemoryError, match="not enough memory"):
        wisp.empty(2**60)
    assert issubclass(wisp.OutOfMemoryError, RuntimeError)
    assert wisp.ones(3).sum() == 3


def test_a_storage_moves_into_a_buffer():
    for count in (10, 100000):  # behind its header, and in a block of its own
        x = wisp.arange(count, dtype=wisp.float32)
        view, array, memory = x[3:], x.numpy(), mmap.mmap(-1, 4 * count)
        x._move_storage(memory)
        view.add_(1)
        assert x[3] == 4 and numpy.frombuffer(memory, numpy.float32)[3] == 4
        del x, view
        assert array[3] == 3  # NumPy still holds the former memory
    with pytest.raises(ValueError, match="at least 20 bytes"):
        wisp.ones(5)._move_storage(mmap.mmap(-1, 19))
    with pytest.raises(BufferError):
        wisp.ones(5)._move_storage(bytes(20))


@keeps_memory
def test_ever_new_sizes_leave_memory_bounded():
    """What is prepared for the sizes of a call is kept for the latest few hundred of them."""
    grown = fresh.python(
        """
import random, wisp

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096

draw = random.Random(0).randrange
weight, deep = wisp.randn(32, 3, 3, 3, requires_grad=True), wisp.randn(32, 32, 5, 5, requires_grad=True)
conv2d = wisp.nn.functional.conv2d
for step in range(1500):
    if step == 900:
        before = resident()
    x = conv2d(wisp.randn(draw(1, 6), 3, draw(12, 40), draw(12, 40)), weight).relu()
    conv2d(x, deep, stride=2).sum().backward()
print(resident() - before)
"""
    )
    assert int(grown) < 12_000_000  # 500 sizes, four primitives each, took 24 MB when none was given back


@pytest.mark.parametrize(
    "held", ["weight * 2", "wisp.jit.script(wisp.nn.Linear(2, 2)).forward", "[weight.grad_fn, (weight * weight).sum()]"]
)
def test_a_program_ends_while_something_native_holds_a_parameter(held):
    """Its object is still there when the garbage collector looks for the last time. (Sanitised builds see what it reads.)"""
    fresh.python(
        f"import wisp\nweight = wisp.nn.Parameter(wisp.ones(3))\nweight.note = 'kept'\nheld = {held}\ndel weight"
    )
