import wisp
from tests.graph_passes.common import check, check_unchanged


def test_what_is_computed_twice_is_computed_once():
    check(
        "common_subexpressions",
        """\
        graph(%x : Tensor, %c : bool):
          %one : int = prim::Constant[value=1]()
          %uno : int = prim::Constant[value=1]()
          %a : Tensor = aten::add(%x, %x, %one)
          %b : Tensor = aten::add(%x, %x, %uno)
          %y : Tensor = prim::If(%c)
            block0():
              %d : Tensor = aten::add(%x, %x, %one)
              %e : Tensor = aten::mul(%d, %b)
              -> (%e)
            block1():
              %f : Tensor = aten::sub(%x, %x, %one)
              -> (%f)
          %g : Tensor = aten::sub(%x, %x, %one)
          %h : Tensor = aten::mul(%y, %g)
          return (%h)
        """,
        """\
        graph(%x : Tensor, %c : bool):
          %one : int = prim::Constant[value=1]()
          %a : Tensor = aten::add(%x, %x, %one)
          %y : Tensor = prim::If(%c)
            block0():
              %e : Tensor = aten::mul(%a, %a)
              -> (%e)
            block1():
              %f : Tensor = aten::sub(%x, %x, %one)
              -> (%f)
          %g : Tensor = aten::sub(%x, %x, %one)
          %h : Tensor = aten::mul(%y, %g)
          return (%h)
        """,
        (wisp.ones(2), True),
        (wisp.ones(2), False),
    )


def test_numbers_of_different_types_differ():
    check_unchanged(
        "common_subexpressions",
        """\
        graph():
          %a : int = prim::Constant[value=1]()
          %b : float = prim::Constant[value=1.0]()
          %c : bool = prim::Constant[value=True]()
          return (%a, %b, %c)
        """,
    )


def test_what_is_written_is_not_merged():
    """Neither a value that is overwritten, nor what reads memory that is written in between."""
    check_unchanged(
        "common_subexpressions",
        """\
        graph(%x : Tensor):
          %one : int = prim::Constant[value=1]()
          %a : Tensor = aten::exp(%x)
          %view : Tensor = aten::t(%x)
          %w : Tensor = aten::add_(%view, %one, %one)
          %b : Tensor = aten::exp(%x)
          %c : Tensor = aten::mul(%a, %b)
          return (%c)
        """,
    )


def test_results_stay_apart():
    """Who gets two tensors may write into one of them; three would be two."""
    check_unchanged(
        "common_subexpressions",
        """\
        graph(%x : Tensor):
          %a : Tensor = aten::exp(%x)
          %b : Tensor = aten::exp(%x)
          return (%a, %b)
        """,
    )
    check(
        "common_subexpressions",
        """\
        graph(%x : Tensor):
          %a : Tensor = aten::exp(%x)
          %b : Tensor = aten::exp(%x)
          %c : Tensor = aten::exp(%x)
          %d : Tensor = aten::neg(%a)
          return (%b, %c, %d)
        """,
        """\
        graph(%x : Tensor):
          %a : Tensor = aten::exp(%x)
          %c : Tensor = aten::exp(%x)
          %d : Tensor = aten::neg(%a)
          return (%a, %c, %d)
        """,
        (wisp.ones(2),),
    )


def test_random_numbers_are_drawn_twice():
    check_unchanged(
        "common_subexpressions",
        """\
        graph(%x : Tensor):
          %half : float = prim::Constant[value=0.5]()
          %true : bool = prim::Constant[value=True]()
          %false : bool = prim::Constant[value=False]()
          %a : Tensor = aten::dropout(%x, %half, %true, %false)
          %b : Tensor = aten::dropout(%x, %half, %true, %false)
          %c : Tensor = aten::mul(%a, %b)
          return (%c)
        """,
    )


def test_grad_mode_separates():
    check_unchanged(
        "common_subexpressions",
        """\
        graph(%x : Tensor):
          %false : bool = prim::Constant[value=False]()
          %a : Tensor = aten::exp(%x)
          %before : bool = aten::_set_grad_enabled(%false)
          %b : Tensor = aten::exp(%x)
          %after : bool = aten::_set_grad_enabled(%before)
          %c : Tensor = aten::mul(%a, %b)
          return (%c)
        """,
    )
