import pytest

import wisp
from tests.graph_passes.common import check, parse


def test_operators_branches_and_loops():
    check(
        "shape_propagation",
        """\
        graph(%x : Float(3, 4), %w : Float(*, 4), %n : int, %c : bool):
          %zero : int = prim::Constant[value=0]()
          %one : int = prim::Constant[value=1]()
          %two : int = prim::Constant[value=2]()
          %true : bool = prim::Constant[value=True]()
          %a : Tensor = aten::add(%x, %n, %one)
          %b : Tensor = aten::t(%w)
          %d : Tensor = aten::mm(%a, %b)
          %e : Tensor = aten::gt(%d, %zero)
          %l : Tensor[] = aten::chunk(%a, %two, %one)
          %p : Tensor, %q : Tensor = prim::ListUnpack(%l)
          %y : Tensor = prim::If(%c)
            block0():
              %ex : Tensor = aten::exp(%p)
              -> (%ex)
            block1():
              %r : Tensor = aten::t(%q)
              -> (%r)
          %z : Tensor = prim::Loop(%n, %true, %x)
            block0(%i : int, %v : Tensor):
              %li : Tensor[] = prim::ListConstruct(%v, %x)
              %ca : Tensor = aten::cat(%li, %zero)
              -> (%true, %ca)
          %pair : (Tensor, int) = prim::TupleConstruct(%z, %n)
          %first : Tensor = prim::TupleIndex[index=0](%pair)
          return (%e, %y, %first)
        """,
        """\
        graph(%x : Float(3, 4), %w : Float(*, 4), %n : int, %c : bool):
          %zero : int = prim::Constant[value=0]()
          %one : int = prim::Constant[value=1]()
          %two : int = prim::Constant[value=2]()
          %true : bool = prim::Constant[value=True]()
          %a : Float(3, 4) = aten::add(%x, %n, %one)
          %b : Float(4, *) = aten::t(%w)
          %d : Float(3, *) = aten::mm(%a, %b)
          %e : Bool(3, *) = aten::gt(%d, %zero)
          %l : Tensor[] = aten::chunk(%a, %two, %one)
          %p : Float(3, 2), %q : Float(3, 2) = prim::ListUnpack(%l)
          %y : Float(*, *) = prim::If(%c)
            block0():
              %ex : Float(3, 2) = aten::exp(%p)
              -> (%ex)
            block1():
              %r : Float(2, 3) = aten::t(%q)
              -> (%r)
          %z : Float(*, 4) = prim::Loop(%n, %true, %x)
            block0(%i : int, %v : Float(*, 4)):
              %li : Tensor[] = prim::ListConstruct(%v, %x)
              %ca : Float(*, 4) = aten::cat(%li, %zero)
              -> (%true, %ca)
          %pair : (Float(*, 4), int) = prim::TupleConstruct(%z, %n)
          %first : Float(*, 4) = prim::TupleIndex[index=0](%pair)
          return (%e, %y, %first)
        """,
        (wisp.rand(3, 4), wisp.rand(2, 4), 2, True),
    )


@pytest.mark.parametrize(
    "call,shape",
    [
        ("aten::relu(%x)", "Float(*, 8)"),
        ("aten::add(%x, %row, %one)", "Float(*, 8)"),
        ("aten::add(%x, %column, %one)", "Float(5, 8)"),
        ("aten::add(%x, %ints, %one)", "Float(*, 8)"),
        ("aten::softmax(%x, %one, %none)", "Float(*, 8)"),
        ("aten::sum.dim(%x, %list, %false, %none)", "Float(8)"),
        ("aten::mean(%x, %none)", "Float()"),
        ("aten::unsqueeze(%x, %one)", "Float(*, 1, 8)"),
        ("aten::narrow(%x, %zero, %zero, %three)", "Float(3, 8)"),
        ("aten::flatten(%x, %zero, %one)", "Float(*)"),
        ("aten::argmax(%x, %one, %false)", "Long(*)"),
        ("aten::nonzero(%x, %false)", "Tensor"),
        ("aten::unfold(%x, %zero, %one, %hundred)", "Float(*, 8, 1)"),
        ("aten::matmul(%x, %square)", "Float(*, 8)"),
    ],
)
def test_one_operator(call, shape):
    graph = parse(f"""\
        graph(%x : Float(*, 8), %row : Float(8), %column : Float(5, 1), %ints : Long(*, 8), %square : Float(8, 8)):
          %zero : int = prim::Constant[value=0]()
          %one : int = prim::Constant[value=1]()
          %three : int = prim::Constant[value=3]()
          %hundred : int = prim::Constant[value=100]()
          %none : NoneType = prim::Constant[value=None]()
          %false : bool = prim::Constant[value=False]()
          %list : int[] = prim::Constant[value=[0]]()
          %y : Tensor = {call}
          return (%y)
        """)
    graph.run_pass("shape_propagation")
    assert f"%y : {shape} = " in str(graph)


def test_a_size_that_fits_alone_is_not_taken_for_the_size():
    graph = parse("""\
        graph(%x : Float(*, *, 3), %w : Float(*, *, 13)):
          %y : Tensor = aten::matmul(%x, %w)
          return (%y)
        """)
    graph.run_pass("shape_propagation")
    assert "%y : Float(*, *, 13)" in str(graph)


def test_only_sizes_that_are_possible_count():
    """A reshape to 2 x 4 fails for all other numbers of rows than 1."""
    graph = parse("""\
        graph(%x : Float(*, 8)):
          %size : int[] = prim::Constant[value=[2, 4]]()
          %y : Tensor = aten::reshape(%x, %size)
          return (%y)
        """)
    graph.run_pass("shape_propagation")
    assert "%y : Float(2, 4)" in str(graph)


def test_many_sizes_that_are_not_known():
    """Tensors that are too large to exist are not tried out."""
    graph = parse("""\
        graph(%x : Float(*, 3, *, *), %w : Float(4, 3, 3, 3), %more : Float(*, *, *, *, *, *, *)):
          %none : NoneType = prim::Constant[value=None]()
          %one : int = prim::Constant[value=1]()
          %ones : int[] = prim::Constant[value=[1, 1]]()
          %a : Tensor = aten::conv2d(%x, %w, %none, %ones, %ones, %ones, %one)
          %b : Tensor = aten::unsqueeze(%more, %one)
          return (%a, %b)
        """)
    graph.run_pass("shape_propagation")
    assert "%a : Float(*, 4, *, *)" in str(graph)
    assert "%b : Float(*, 1, *, *, *, *, *, *)" in str(graph)


def test_shapes_that_were_found_hold_when_it_runs():
    graph = parse("""\
        graph(%x : Float(2, 3, 8, 8), %w : Float(4, 3, 3, 3)):
          %none : NoneType = prim::Constant[value=None]()
          %one : int = prim::Constant[value=1]()
          %two : int[] = prim::Constant[value=[2, 2]]()
          %ones : int[] = prim::Constant[value=[1, 1]]()
          %a : Tensor = aten::conv2d(%x, %w, %none, %two, %ones, %ones, %one)
          %b : Tensor = aten::relu(%a)
          %c : Tensor = aten::flatten(%b, %one, %one)
          return (%a, %b, %c)
        """)
    graph.run_pass("shape_propagation")
    results = graph.run(wisp.rand(2, 3, 8, 8), wisp.rand(4, 3, 3, 3))
    for value, result in zip(graph.outputs(), results, strict=True):
        assert str(value.type) == f"Float({', '.join(map(str, result.shape))})"
