import wisp
from tests.graph_passes.common import check, check_unchanged, parse


def test_operands_that_do_nothing():
    check(
        "peephole",
        """\
        graph(%x : Float(2, 3)):
          %zero : int = prim::Constant[value=0]()
          %one : int = prim::Constant[value=1]()
          %real : float = prim::Constant[value=1.0]()
          %a : Float(2, 3) = aten::add(%x, %zero, %one)
          %b : Float(2, 3) = aten::mul(%a, %real)
          %c : Float(2, 3) = aten::div(%b, %one)
          %d : Float(2, 3) = aten::sub(%c, %zero, %one)
          %e : Float(2, 3) = aten::exp(%d)
          return (%e)
        """,
        """\
        graph(%x : Float(2, 3)):
          %zero : int = prim::Constant[value=0]()
          %one : int = prim::Constant[value=1]()
          %real : float = prim::Constant[value=1.0]()
          %e : Float(2, 3) = aten::exp(%x)
          return (%e)
        """,
        (wisp.ones(2, 3),),
    )


def test_where_the_dtype_or_the_memory_would_change_they_stay():
    check_unchanged(
        "peephole",
        """\
        graph(%x : Long(2), %y : Float(2), %b : Bool(2), %u : Tensor):
          %zero : int = prim::Constant[value=0]()
          %one : int = prim::Constant[value=1]()
          %real : float = prim::Constant[value=1.0]()
          %c : Float(2) = aten::mul(%x, %real)
          %d : Float(2) = aten::div(%x, %one)
          %e : Long(2) = aten::add(%b, %zero, %one)
          %f : Tensor = aten::add(%u, %zero, %one)
          %g : Float(2) = aten::mul(%y, %one)
          return (%c, %d, %e, %f, %g)
        """,
    )


def test_pairs_that_undo_each_other():
    check(
        "peephole",
        """\
        graph(%x : Tensor):
          %a : Tensor = aten::t(%x)
          %b : Tensor = aten::t(%a)
          %zero : int = prim::Constant[value=0]()
          %nil : int = prim::Constant[value=0]()
          %one : int = prim::Constant[value=1]()
          %c : Tensor = aten::transpose(%b, %zero, %one)
          %d : Tensor = aten::transpose(%c, %nil, %one)
          %e : Tensor = aten::transpose(%d, %zero, %zero)
          %f : Tensor = aten::neg(%e)
          return (%f)
        """,
        """\
        graph(%x : Tensor):
          %a : Tensor = aten::t(%x)
          %zero : int = prim::Constant[value=0]()
          %nil : int = prim::Constant[value=0]()
          %one : int = prim::Constant[value=1]()
          %c : Tensor = aten::transpose(%x, %zero, %one)
          %e : Tensor = aten::transpose(%x, %zero, %zero)
          %f : Tensor = aten::neg(%e)
          return (%f)
        """,
        (wisp.rand(2, 3),),
    )


def test_pairs_with_a_write_between():
    check_unchanged(
        "peephole",
        """\
        graph(%x : Tensor):
          %half : float = prim::Constant[value=0.5]()
          %a : Tensor = aten::neg(%x)
          %b : Tensor = aten::mul_(%a, %half)
          %c : Tensor = aten::neg(%a)
          %d : Tensor = aten::exp(%c)
          return (%d)
        """,
    )


def test_dropout_in_evaluation_and_reshapes():
    check(
        "peephole",
        """\
        graph(%x : Tensor):
          %half : float = prim::Constant[value=0.5]()
          %false : bool = prim::Constant[value=False]()
          %a : int[] = prim::Constant[value=[6]]()
          %b : int[] = prim::Constant[value=[3, 2]]()
          %d : Tensor = aten::dropout(%x, %half, %false, %false)
          %e : Tensor = aten::exp(%d)
          %f : Tensor = aten::reshape(%e, %a)
          %g : Tensor = aten::reshape(%f, %b)
          return (%g)
        """,
        """\
        graph(%x : Tensor):
          %half : float = prim::Constant[value=0.5]()
          %false : bool = prim::Constant[value=False]()
          %a : int[] = prim::Constant[value=[6]]()
          %b : int[] = prim::Constant[value=[3, 2]]()
          %e : Tensor = aten::exp(%x)
          %f : Tensor = aten::reshape(%e, %a)
          %g : Tensor = aten::reshape(%e, %b)
          return (%g)
        """,
        (wisp.rand(2, 3),),
    )


def test_conditions():
    check(
        "peephole",
        """\
        graph(%x : Tensor, %c : bool, %maybe : Tensor?):
          %none : NoneType = prim::Constant[value=None]()
          %a : bool = aten::__not__(%c)
          %b : bool = aten::__not__(%a)
          %d : bool = aten::__is__(%x, %none)
          %e : bool = aten::__isnot__(%none, %x)
          %f : bool = aten::__is__(%maybe, %none)
          %y : Tensor = prim::If(%a)
            block0():
              -> (%x)
            block1():
              %z : Tensor = aten::neg(%x)
              -> (%z)
          return (%b, %d, %e, %f, %y)
        """,
        """\
        graph(%x : Tensor, %c : bool, %maybe : Tensor?):
          %none : NoneType = prim::Constant[value=None]()
          %a : bool = aten::__not__(%c)
          %0 : bool = prim::Constant[value=False]()
          %1 : bool = prim::Constant[value=True]()
          %f : bool = aten::__is__(%maybe, %none)
          %y : Tensor = prim::If(%c)
            block0():
              %z : Tensor = aten::neg(%x)
              -> (%z)
            block1():
              -> (%x)
          return (%c, %0, %1, %f, %y)
        """,
        (wisp.ones(2), True, None),
        (wisp.ones(2), False, wisp.ones(1)),
    )


def test_known_ranks():
    check(
        "peephole",
        """\
        graph(%x : Float(*, 3), %u : Tensor):
          %a : int = aten::dim(%x)
          %b : int = aten::dim(%u)
          return (%a, %b)
        """,
        """\
        graph(%x : Float(*, 3), %u : Tensor):
          %0 : int = prim::Constant[value=2]()
          %b : int = aten::dim(%u)
          return (%0, %b)
        """,
        (wisp.ones(2, 3), wisp.ones(4)),
    )


def test_the_rank_of_what_is_written_in_place_stays_open():
    check_unchanged(
        "peephole",
        """\
        graph(%x : Float(1, 3)):
          %zero : int = prim::Constant[value=0]()
          %y : Tensor = aten::squeeze_.dim(%x, %zero)
          %a : int = aten::dim(%x)
          return (%a)
        """,
    )


def test_checks_of_known_ranks_go_away():
    graph = parse("""\
        graph(%x : Float(*, 3, *, *), %w : Float(4, 3, 1, 1), %b : Float(4)):
          %pair : int[] = prim::Constant[value=[1, 1]]()
          %none : int[] = prim::Constant[value=[0, 0]]()
          %one : int = prim::Constant[value=1]()
          %four : int = prim::Constant[value=4]()
          %text : str = prim::Constant[value="expected 4D input"]()
          %kind : str = prim::Constant[value="ValueError"]()
          %y : Tensor = aten::conv2d(%x, %w, %b, %pair, %none, %pair, %one)
          %rank : int = aten::dim(%y)
          %fits : bool = aten::eq.int(%rank, %four)
          = prim::If(%fits)
            block0():
              -> ()
            block1():
              = prim::RaiseException(%text, %kind)
              -> ()
          return (%y)
        """)
    graph.optimize([])
    assert [node.kind() for node in graph.nodes() if node.kind() != "prim::Constant"] == ["aten::conv2d"]


def relu_and_pooling(results):
    return f"""\
        graph(%x : Tensor):
          %a : Tensor = aten::relu(%x)
          %size : int[] = prim::Constant[value=[2]]()
          %pad : int[] = prim::Constant[value=[0]]()
          %step : int[] = prim::Constant[value=[1]]()
          %off : bool = prim::Constant[value=False]()
          %b : Tensor = aten::max_pool1d(%a, %size, %step, %pad, %step, %off, %off)
          return ({results})
        """


def test_largest_elements_are_found_before_relu():
    nan = wisp.tensor([[[-1.0, float("nan"), 3.0, -2.0]]])
    graph = check(
        "peephole",
        relu_and_pooling("%b"),
        """\
        graph(%x : Tensor):
          %size : int[] = prim::Constant[value=[2]]()
          %pad : int[] = prim::Constant[value=[0]]()
          %step : int[] = prim::Constant[value=[1]]()
          %off : bool = prim::Constant[value=False]()
          %0 : Tensor = aten::max_pool1d(%x, %size, %step, %pad, %step, %off, %off)
          %1 : Tensor = aten::relu(%0)
          return (%1)
        """,
        (wisp.randn(2, 3, 9),),
        (wisp.arange(-4, 4).reshape(1, 2, 4),),
    )
    assert graph.run(nan).isnan().tolist() == [[[True, True, False]]]


def test_where_relu_has_other_uses_it_stays_before():
    check_unchanged("peephole", relu_and_pooling("%a, %b"))
