import wisp
from tests.graph_passes.common import check


def test_items_come_from_where_they_were_put():
    check(
        "lower_tuples",
        """\
        graph(%x : Tensor, %y : Tensor):
          %one : int = prim::Constant[value=1]()
          %last : int = prim::Constant[value=-1]()
          %t : (Tensor, Tensor) = prim::TupleConstruct(%x, %y)
          %a : Tensor, %b : Tensor = prim::TupleUnpack(%t)
          %c : Tensor = prim::TupleIndex[index=1](%t)
          %l : Tensor[] = prim::ListConstruct(%a, %b, %c)
          %n : int = aten::len.t(%l)
          %d : Tensor = aten::__getitem__.t(%l, %last)
          %e : Tensor, %f : Tensor, %g : Tensor = prim::ListUnpack(%l)
          %h : Tensor = aten::add(%d, %n, %one)
          return (%h, %e)
        """,
        """\
        graph(%x : Tensor, %y : Tensor):
          %one : int = prim::Constant[value=1]()
          %last : int = prim::Constant[value=-1]()
          %t : (Tensor, Tensor) = prim::TupleConstruct(%x, %y)
          %l : Tensor[] = prim::ListConstruct(%x, %y, %y)
          %0 : int = prim::Constant[value=3]()
          %h : Tensor = aten::add(%y, %0, %one)
          return (%h, %x)
        """,
        (wisp.ones(2), wisp.zeros(2)),
    )


def test_lists_that_change_are_asked_again():
    check(
        "lower_tuples",
        """\
        graph(%x : Tensor, %y : Tensor):
          %zero : int = prim::Constant[value=0]()
          %five : int = prim::Constant[value=5]()
          %a : Tensor[] = prim::ListConstruct(%x)
          = aten::append.t(%a, %y)
          %n : int = aten::len.t(%a)
          %b : Tensor[] = prim::ListConstruct(%x)
          %i : Tensor = aten::__getitem__.t(%b, %zero)
          return (%n, %i)
        """,
        """\
        graph(%x : Tensor, %y : Tensor):
          %zero : int = prim::Constant[value=0]()
          %five : int = prim::Constant[value=5]()
          %a : Tensor[] = prim::ListConstruct(%x)
          = aten::append.t(%a, %y)
          %n : int = aten::len.t(%a)
          %b : Tensor[] = prim::ListConstruct(%x)
          return (%n, %x)
        """,
        (wisp.ones(2), wisp.zeros(2)),
    )
