"""optimize(): all passes, and how they are switched off."""

import pytest

import wisp
from tests.graph_passes.common import jit, parse

TEXT = """\
    graph(%x : Float(2, 2)):
      %zero : int = prim::Constant[value=0]()
      %one : int = prim::Constant[value=1]()
      %two : int = aten::add.int(%one, %one)
      %true : bool = prim::Constant[value=True]()
      %y : Tensor = prim::Loop(%two, %true, %x)
        block0(%i : int, %p : Tensor):
          %q : Tensor = aten::add(%p, %zero, %one)
          %r : Tensor = aten::add(%p, %zero, %one)
          %s : Tensor = aten::mul(%q, %r)
          -> (%true, %s)
      %z : Tensor = aten::neg(%y)
      return (%z)
    """


def test_passes_work_together():
    graph = parse(TEXT)
    expected = graph.copy().run(wisp.eye(2) * 3)
    graph.optimize()
    assert str(graph) == (
        "graph(%x : Float(2, 2)):\n"
        "  %s.1 : Float(2, 2) = aten::mul(%x, %x)\n"
        "  %s.2 : Float(2, 2) = aten::mul(%s.1, %s.1)\n"
        "  %z : Float(2, 2) = aten::neg(%s.2)\n"
        "  return (%z)\n"
    )
    assert graph.run(wisp.eye(2) * 3).tolist() == expected.tolist()


@pytest.mark.parametrize("name", list(jit.passes()))
def test_each_can_be_left_out(name):
    graph = parse(TEXT)
    expected = graph.copy().run(wisp.eye(2) * 3)
    graph.optimize([name])
    assert graph.run(wisp.eye(2) * 3).tolist() == expected.tolist()
    kinds = {node.kind() for node in graph.nodes()}
    assert ("prim::Loop" in kinds) == (name in ("loop_unrolling", "constant_folding"))


def test_those_that_have_to_be_asked_for():
    graph = parse(TEXT)
    graph.optimize([], ["in_place_reuse"])
    assert [node.kind() for node in graph.nodes()] == ["aten::mul", "aten::mul", "aten::neg_"]
    x = wisp.eye(2) * 3
    graph.run(x)
    assert x.tolist() == [[3, 0], [0, 3]]


def test_names_that_are_no_passes():
    with pytest.raises(ValueError, match="there is no pass 'nothing'"):
        parse(TEXT).optimize(["nothing"])
    with pytest.raises(ValueError, match="there is no pass 'nothing'"):
        parse(TEXT).run_pass("nothing")
