import wisp
from tests.graph_passes.common import check, check_unchanged


def test_what_happens_to_every_chunk_happens_before():
    check(
        "chunk_reorder",
        """\
        graph(%x : Float(3, 4), %s : float):
          %one : int = prim::Constant[value=1]()
          %two : int = prim::Constant[value=2]()
          %l : Tensor[] = aten::chunk(%x, %two, %one)
          %p : Float(3, 2), %q : Float(3, 2) = prim::ListUnpack(%l)
          %a : Float(3, 2) = aten::mul(%p, %s)
          %b : Float(3, 2) = aten::mul(%q, %s)
          %y : Float(3, 2) = aten::add(%a, %b, %one)
          return (%y)
        """,
        """\
        graph(%x : Float(3, 4), %s : float):
          %one : int = prim::Constant[value=1]()
          %two : int = prim::Constant[value=2]()
          %0 : Float(3, 4) = aten::mul(%x, %s)
          %l : Tensor[] = aten::chunk(%0, %two, %one)
          %p : Float(3, 2), %q : Float(3, 2) = prim::ListUnpack(%l)
          %y : Float(3, 2) = aten::add(%p, %q, %one)
          return (%y)
        """,
        (wisp.rand(3, 4), 2.5),
    )


def test_chunks_that_fare_differently_stay():
    check_unchanged(
        "chunk_reorder",
        """\
        graph(%x : Tensor, %t : Tensor):
          %one : int = prim::Constant[value=1]()
          %two : int = prim::Constant[value=2]()
          %l : Tensor[] = aten::chunk(%x, %two, %one)
          %p : Tensor, %q : Tensor = prim::ListUnpack(%l)
          %a : Tensor = aten::sigmoid(%p)
          %b : Tensor = aten::tanh(%q)
          %c : Tensor = aten::mul(%a, %b)
          %k : Tensor[] = aten::chunk(%c, %two, %one)
          %r : Tensor, %s : Tensor = prim::ListUnpack(%k)
          %d : Tensor = aten::mul(%r, %t)
          %e : Tensor = aten::mul(%s, %t)
          %y : Tensor = aten::mul(%d, %e)
          return (%y)
        """,
    )
