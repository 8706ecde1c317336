"""Damaged files of all kinds, made as tools/fuzz_files.py makes them: few of them here, millions where that is run; and what
was found so."""

import importlib
import importlib.util
import pathlib
import sys

import pytest

import wisp

ROOT = pathlib.Path(__file__).parents[1]
if not (ROOT / "tools" / "fuzz_files.py").exists():
    pytest.skip("the tools are not here", allow_module_level=True)


@pytest.fixture(scope="module")
def fuzz_files():
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        return importlib.import_module("fuzz_files")
    finally:
        sys.path.remove(str(ROOT / "tools"))


@pytest.mark.parametrize("kind", ["checkpoint", "archive", "zipped", "raw", "onnx"])
def test_damaged_files(fuzz_files, kind):
    if kind == "onnx" and not importlib.util.find_spec("onnx"):
        pytest.skip("needs the package onnx")
    cases = fuzz_files.Cases(kind)
    for seed in cases.kind.seeds:  # what is changed is whole
        cases.kind.load(cases.kind.file(seed))
    files = [cases.file(number) for number in range(300)]
    assert len(set(files)) > 250 and files[7] == cases.file(7)
    assert [wrong for number in range(300) if (wrong := cases.run(number))] == []


def test_an_error_that_is_not_promised_is_a_finding(fuzz_files, monkeypatch):
    cases = fuzz_files.Cases("raw")
    monkeypatch.setattr(cases.kind, "load", lambda data: {}["missing"])
    assert cases.run(0) == "KeyError: 'missing'"


def test_an_empty_tensor_that_begins_far_away_takes_no_memory():
    """The file says that its eight gigabytes begin where no data is."""
    found = wisp.load(ROOT / "tests" / "golden" / "empty_far_away.pt")["empty"]
    assert found.shape == (0, 4) and found.untyped_storage().nbytes() == 0
    assert (found + 1).shape == (0, 4)
