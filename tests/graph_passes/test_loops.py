"""loop_unrolling and loop_peeling."""

import pytest

import wisp
from tests.graph_passes.common import check, check_unchanged


def test_short_loops_are_written_out():
    check(
        "loop_unrolling",
        """\
        graph(%x : Tensor):
          %one : int = prim::Constant[value=1]()
          %three : int = prim::Constant[value=3]()
          %true : bool = prim::Constant[value=True]()
          %y : Tensor = prim::Loop(%three, %true, %x)
            block0(%i : int, %v : Tensor):
              %w : Tensor = aten::add(%v, %i, %one)
              -> (%true, %w)
          return (%y)
        """,
        """\
        graph(%x : Tensor):
          %one : int = prim::Constant[value=1]()
          %three : int = prim::Constant[value=3]()
          %true : bool = prim::Constant[value=True]()
          %0 : int = prim::Constant[value=0]()
          %w.1 : Tensor = aten::add(%x, %0, %one)
          %1 : int = prim::Constant[value=1]()
          %w.2 : Tensor = aten::add(%w.1, %1, %one)
          %2 : int = prim::Constant[value=2]()
          %w.3 : Tensor = aten::add(%w.2, %2, %one)
          return (%w.3)
        """,
        (wisp.ones(2),),
    )


def test_loops_that_are_long_or_end_early_stay():
    check_unchanged(
        "loop_unrolling",
        """\
        graph(%x : Tensor, %n : int):
          %two : int = prim::Constant[value=2]()
          %many : int = prim::Constant[value=1000]()
          %true : bool = prim::Constant[value=True]()
          %a : Tensor = prim::Loop(%many, %true, %x)
            block0(%i : int, %p : Tensor):
              %q : Tensor = aten::mul(%p, %i)
              -> (%true, %q)
          %b : Tensor = prim::Loop(%n, %true, %a)
            block0(%j : int, %r : Tensor):
              %s : Tensor = aten::mul(%r, %j)
              -> (%true, %s)
          %c : Tensor = prim::Loop(%two, %true, %b)
            block0(%k : int, %t : Tensor):
              %again : bool = aten::lt.int(%k, %n)
              %u : Tensor = aten::mul(%t, %k)
              -> (%again, %u)
          return (%c)
        """,
    )


BOTH = """\
    graph(%x : Tensor, %n : int, %c : bool):
      %one : int = prim::Constant[value=1]()
      %three : int = prim::Constant[value=3]()
      %true : bool = prim::Constant[value=True]()
      %a : Tensor = prim::Loop(%n, %c, %x)
        block0(%i : int, %v : Tensor):
          %w : Tensor = aten::add(%v, %i, %one)
          %more : bool = aten::lt.int(%i, %one)
          -> (%more, %w)
      %b : int = prim::Loop(%three, %true, %one)
        block0(%j : int, %p : int):
          -> (%true, %j)
      return (%a, %b)
    """

PEELED = """\
    graph(%x : Tensor, %n : int, %c : bool):
      %one : int = prim::Constant[value=1]()
      %three : int = prim::Constant[value=3]()
      %true : bool = prim::Constant[value=True]()
      %0 : int = prim::Constant[value=0]()
      %1 : bool = aten::gt.int(%n, %0)
      %2 : bool = aten::__and__.bool(%1, %c)
      %3 : bool, %4 : Tensor = prim::If(%2)
        block0():
          %w.1 : Tensor = aten::add(%x, %0, %one)
          %more.1 : bool = aten::lt.int(%0, %one)
          -> (%more.1, %w.1)
        block1():
          -> (%c, %x)
      %7 : int = prim::Constant[value=1]()
      %8 : int = aten::sub.int(%n, %7)
      %a : Tensor = prim::Loop(%8, %3, %4)
        block0(%i : int, %v : Tensor):
          %5 : int = prim::Constant[value=1]()
          %6 : int = aten::add.int(%i, %5)
          %w : Tensor = aten::add(%v, %6, %one)
          %more : bool = aten::lt.int(%6, %one)
          -> (%more, %w)
      %9 : int = prim::Constant[value=0]()
      %12 : int = prim::Constant[value=1]()
      %13 : int = aten::sub.int(%three, %12)
      %b : int = prim::Loop(%13, %true, %9)
        block0(%j : int, %p : int):
          %10 : int = prim::Constant[value=1]()
          %11 : int = aten::add.int(%j, %10)
          -> (%true, %11)
      return (%a, %b)
    """


@pytest.mark.parametrize("n", [-1, 0, 1, 2, 5])
def test_the_first_round_comes_first(n):
    check("loop_peeling", BOTH, PEELED, (wisp.ones(2), n, True), (wisp.ones(2), n, False))
