import wisp
from tests.graph_passes.common import check, check_unchanged, parse


def test_operands_that_die_are_overwritten():
    check(
        "in_place_reuse",
        """\
        graph(%x : Float(3, 4)):
          %one : int = prim::Constant[value=1]()
          %a : Float(3, 4) = aten::exp(%x)
          %b : Float(3, 4) = aten::mul(%a, %x)
          %c : Float(3, 4) = aten::add(%b, %one, %one)
          %d : Float(3, 4) = aten::neg(%c)
          %e : Float(3, 4) = aten::add(%d, %c, %one)
          %y : Float(3, 4) = aten::relu(%e)
          return (%y)
        """,
        """\
        graph(%x : Float(3, 4)):
          %one : int = prim::Constant[value=1]()
          %a : Float(3, 4) = aten::exp(%x)
          %b : Float(3, 4) = aten::mul_(%a, %x)
          %c : Float(3, 4) = aten::add_(%b, %one, %one)
          %d : Float(3, 4) = aten::neg(%c)
          %e : Float(3, 4) = aten::add_(%d, %c, %one)
          %y : Float(3, 4) = aten::relu_(%e)
          return (%y)
        """,
        (wisp.rand(3, 4),),
    )


def test_what_somebody_still_sees_is_kept():
    """Parameters, results, views and their bases, operands of other sizes or dtypes, and what comes twice."""
    check_unchanged(
        "in_place_reuse",
        """\
        graph(%x : Float(3, 4), %row : Float(4), %u : Tensor):
          %one : int = prim::Constant[value=1]()
          %a : Float(3, 4) = aten::neg(%x)
          %b : Float(3, 4) = aten::exp(%x)
          %c : Float(4, 3) = aten::t(%b)
          %d : Float(3, 4) = aten::neg(%b)
          %e : Float(4, 3) = aten::neg(%c)
          %f : Float(4) = aten::exp(%row)
          %g : Float(3, 4) = aten::add(%f, %x, %one)
          %h : Float(3, 4) = aten::exp(%x)
          %i : Bool(3, 4) = aten::gt(%h, %one)
          %j : Float(3, 4) = aten::exp(%x)
          %k : Float(3, 4) = aten::mul(%j, %j)
          %l : Tensor = aten::exp(%u)
          %m : Tensor = aten::neg(%l)
          %n : Float(3, 4) = aten::exp(%x)
          %o : Float(3, 4) = aten::neg(%n)
          return (%a, %d, %e, %g, %i, %k, %m, %n, %o)
        """,
    )


def test_loops_keep_what_the_next_round_reads():
    graph = parse("""\
        graph(%x : Float(3), %n : int):
          %true : bool = prim::Constant[value=True]()
          %a : Float(3) = aten::exp(%x)
          %y : Float(3) = prim::Loop(%n, %true, %x)
            block0(%i : int, %p : Float(3)):
              %q : Float(3) = aten::mul(%a, %p)
              %r : Float(3) = aten::neg(%q)
              -> (%true, %r)
          return (%y)
        """)
    x = wisp.rand(3)
    expected = graph.copy().run(x, 4)
    assert graph.run_pass("in_place_reuse")
    assert [line.split()[4] for line in str(graph).splitlines() if "aten::" in line] == [
        "aten::exp(%x)",
        "aten::mul(%a,",
        "aten::neg_(%q)",
    ]
    wisp.testing.assert_close(graph.run(x, 4), expected)
