"""The examples in docs/jit.md, and those of wisp.jit's own texts."""

import doctest
import importlib
import pathlib

import pytest

import wisp

PAGE = pathlib.Path(__file__).parent.parent / "docs" / "jit.md"


@pytest.mark.usefixtures("notes_apart")
def test_the_guide():
    text = PAGE.read_text().replace("```", "\n")
    guide = doctest.DocTestParser().get_doctest(text, {}, PAGE.name, str(PAGE), 0)
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(guide)
    assert result.attempted > 15
    assert result.failed == 0


@pytest.mark.parametrize("name", ["_files", "_freeze", "_futures", "_html", "_module", "_trace"])
def test_examples_in_the_code(name):
    module = importlib.import_module(f"wisp.jit.{name}")
    assert doctest.testmod(module, extraglobs={"wisp": wisp}).failed == 0
