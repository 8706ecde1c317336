import wisp
from tests.graph_passes.common import check, check_unchanged


def test_nodes_that_nobody_needs_go():
    check(
        "dead_code",
        """\
        graph(%x : Tensor):
          %one : int = prim::Constant[value=1]()
          %a : Tensor = aten::add(%x, %x, %one)
          %b : Tensor = aten::neg(%a)
          %y : Tensor = aten::exp(%x)
          return (%y)
        """,
        """\
        graph(%x : Tensor):
          %y : Tensor = aten::exp(%x)
          return (%y)
        """,
        (wisp.ones(2),),
    )


def test_values_that_branches_and_loops_carry_for_nobody_go():
    check(
        "dead_code",
        """\
        graph(%x : Tensor, %n : int, %c : bool):
          %true : bool = prim::Constant[value=True]()
          %a : Tensor, %b : Tensor = prim::Loop(%n, %true, %x, %x)
            block0(%i : int, %p : Tensor, %q : Tensor):
              %r : Tensor = aten::neg(%p)
              %s : Tensor = aten::mul(%q, %i)
              -> (%true, %r, %s)
          %u : Tensor, %v : Tensor = prim::If(%c)
            block0():
              %w : Tensor = aten::exp(%x)
              %k : Tensor = aten::exp(%a)
              -> (%w, %k)
            block1():
              -> (%x, %x)
          = prim::If(%c)
            block0():
              %z : Tensor = aten::exp(%x)
              -> ()
            block1():
              -> ()
          return (%v)
        """,
        """\
        graph(%x : Tensor, %n : int, %c : bool):
          %true : bool = prim::Constant[value=True]()
          %a : Tensor = prim::Loop(%n, %true, %x)
            block0(%i : int, %p : Tensor):
              %r : Tensor = aten::neg(%p)
              -> (%true, %r)
          %v : Tensor = prim::If(%c)
            block0():
              %k : Tensor = aten::exp(%a)
              -> (%k)
            block1():
              -> (%x)
          return (%v)
        """,
        (wisp.ones(2), 3, True),
        (wisp.ones(2), 3, False),
    )


def test_a_value_that_decides_another_one_stays():
    check_unchanged(
        "dead_code",
        """\
        graph(%x : Tensor, %n : int):
          %true : bool = prim::Constant[value=True]()
          %a : Tensor, %b : Tensor = prim::Loop(%n, %true, %x, %x)
            block0(%i : int, %p : Tensor, %q : Tensor):
              %r : Tensor = aten::mul(%p, %q)
              %s : Tensor = aten::neg(%q)
              -> (%true, %r, %s)
          return (%a)
        """,
    )


def test_what_does_more_than_compute_stays():
    check_unchanged(
        "dead_code",
        """\
        graph(%x : Tensor, %c : bool, %list : int[]):
          %one : int = prim::Constant[value=1]()
          %half : float = prim::Constant[value=0.5]()
          %true : bool = prim::Constant[value=True]()
          %false : bool = prim::Constant[value=False]()
          %text : str = prim::Constant[value="no"]()
          %a : Tensor = aten::add_(%x, %one, %one)
          %b : Tensor = aten::dropout(%x, %half, %true, %false)
          = aten::append.t(%list, %one)
          = prim::If(%c)
            block0():
              = prim::Print(%text)
              -> ()
            block1():
              = prim::RaiseException(%text, %text)
              -> ()
          return ()
        """,
    )


def test_dropout_in_evaluation_draws_nothing():
    check(
        "dead_code",
        """\
        graph(%x : Tensor, %running : Tensor):
          %half : float = prim::Constant[value=0.5]()
          %false : bool = prim::Constant[value=False]()
          %none : NoneType = prim::Constant[value=None]()
          %a : Tensor = aten::dropout(%x, %half, %false, %false)
          %b : Tensor = aten::batch_norm(%x, %running, %running, %none, %none, %false, %half, %half)
          return (%x)
        """,
        """\
        graph(%x : Tensor, %running : Tensor):
          return (%x)
        """,
        (wisp.ones(2, 3), wisp.ones(3)),
    )


def test_batch_norm_in_training_writes_its_statistics():
    check_unchanged(
        "dead_code",
        """\
        graph(%x : Tensor, %running : Tensor):
          %half : float = prim::Constant[value=0.5]()
          %true : bool = prim::Constant[value=True]()
          %none : NoneType = prim::Constant[value=None]()
          %b : Tensor = aten::batch_norm(%x, %running, %running, %none, %none, %true, %half, %half)
          return (%x)
        """,
    )
