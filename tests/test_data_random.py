"""utils.data: samples that draw from Python's generator, which is started anew for each of them."""

import random
import statistics
from itertools import pairwise

import pytest

import wisp
from wisp import _C
from wisp.utils.data import DataLoader, Dataset
from wisp.utils.data._utils import generators


class Draws(Dataset):
    def __len__(self):
        return 200

    def __getitem__(self, key):
        return float(key), random.random(), random.gauss(0, 1)  # of the latter, a second one is kept


def drawn(keys, **settings):
    """What each sample has drawn, by its key."""
    loader = DataLoader(Draws(), sampler=keys, generator=wisp.Generator().manual_seed(5), **settings)
    rows = [row for batch in loader for row in zip(*(column.tolist() for column in batch))]
    return {int(key): numbers for key, *numbers in rows}


def test_draws_depend_on_the_sample_alone():
    """The first samples are watched, and those after them seeded natively: some are one here and the other there."""
    expected = drawn(range(200), batch_size=8)
    assert len({first for first, _ in expected.values()}) == 200
    assert drawn(range(199, -1, -1), batch_size=8) == expected
    assert drawn(range(200), batch_size=7, num_workers=2) == expected
    assert drawn([wisp.tensor(key) for key in range(200)], batch_size=8) == expected  # keys that are no numbers


def test_where_the_twister_is_not_known_draws_depend_on_the_sample_alone(monkeypatch):
    monkeypatch.setattr(generators, "_pythons_twister", lambda: None)
    assert drawn(range(199, -1, -1), batch_size=8) == drawn(range(200), batch_size=8)


def started(seed):
    generator = generators._PYTHONS
    saved = generator.saved()
    generator.seed(seed)
    numbers = [random.random() for _ in range(700)]  # more than the words that it starts with
    generator.put_back(saved)
    return numbers


def test_neighbouring_seeds_have_nothing_in_common():
    golden = 0x9E3779B97F4A7C15  # by which the seeds of neighbouring samples differ
    rows = [started(seed * golden % 2**63) for seed in range(50)]
    assert started(golden % 2**63) == rows[1]
    everything = [number for row in rows for number in row]
    assert len(set(everything)) == len(everything)
    for numbers in (everything, [row[0] for row in rows] + [row[1] for row in rows]):
        spread = statistics.variance(numbers)
        assert abs(statistics.mean(numbers) - 0.5) < 4 * (spread / len(numbers)) ** 0.5
        assert 0.06 < spread < 0.11  # a twelfth
    for row, following in pairwise(rows):
        assert abs(statistics.correlation(row, following)) < 0.2


def test_other_memory_is_refused():
    with pytest.raises(ValueError, match="2500 bytes"):
        _C._seed_twister(bytearray(100), 1)
    with pytest.raises(BufferError):
        _C._seed_twister(bytes(2500), 1)
    with pytest.raises(TypeError):
        _C._seed_twister(None, 1)
    with pytest.raises(TypeError):
        _C._seed_twister(bytearray(2500), "seed")
    with pytest.raises(ValueError, match="2500 bytes"):
        _C._SampleKeys([1], [0], 0, None, 3, bytearray(100))
