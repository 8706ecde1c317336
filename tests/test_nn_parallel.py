"""Batches cut into parts and joined again (wisp.nn.parallel)."""

from collections import namedtuple

import pytest

import wisp
from wisp.nn.parallel import gather, scatter
from wisp.nn.parallel.scatter_gather import scatter_kwargs

Pair = namedtuple("Pair", "left right")


def test_parts_and_the_whole():
    batch = {"x": wisp.arange(6).reshape(3, 2), "pair": Pair(wisp.arange(3), [wisp.arange(3), "all"]), "none": None}
    first, second = scatter(batch, ["cpu", "cpu"])
    assert first["x"].tolist() == [[0, 1], [2, 3]] and second["x"].tolist() == [[4, 5]]
    assert type(first["pair"]) is Pair and second["pair"].right[0].tolist() == [2] and second["pair"].right[1] == "all"
    whole = gather([{k: v for k, v in part.items() if k != "pair"} for part in (first, second)], "cpu")
    assert whole["x"].equal(batch["x"]) and whole["none"] is None
    assert gather([Pair(wisp.tensor(1.0), [wisp.ones(1)]), Pair(wisp.tensor(2.0), [wisp.zeros(1)])]).left.tolist() == [
        1,
        2,
    ]


def test_arguments_of_both_kinds():
    inputs, kwargs = scatter_kwargs((wisp.arange(4),), {}, [0, 1])
    assert [part[0].tolist() for part in inputs] == [[0, 1], [2, 3]] and kwargs == ({}, {})
    inputs, kwargs = scatter_kwargs((), {"x": wisp.arange(2)}, [0, 1])
    assert inputs == ((), ()) and [part["x"].item() for part in kwargs] == [0, 1]


def test_what_cannot_be_done():
    with pytest.raises(ValueError, match="at least one device"):
        scatter(wisp.ones(2), [])
    with pytest.raises(ValueError, match="same number of keys"):
        gather([{"a": wisp.ones(1)}, {}])
