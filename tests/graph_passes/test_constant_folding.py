import wisp
from tests.graph_passes.common import check, check_unchanged, parse


def test_numbers_lists_and_branches():
    check(
        "constant_folding",
        """\
        graph(%x : Tensor):
          %one : int = prim::Constant[value=1]()
          %two : int = prim::Constant[value=2]()
          %three : int = aten::add.int(%one, %two)
          %c : bool = aten::gt.int(%three, %two)
          %size : int[] = prim::ListConstruct(%three, %two)
          %y : Tensor = prim::If(%c)
            block0():
              %r : Tensor = aten::reshape(%x, %size)
              -> (%r)
            block1():
              -> (%x)
          return (%y)
        """,
        """\
        graph(%x : Tensor):
          %one : int = prim::Constant[value=1]()
          %two : int = prim::Constant[value=2]()
          %0 : int = prim::Constant[value=3]()
          %1 : bool = prim::Constant[value=True]()
          %2 : int[] = prim::Constant[value=[3, 2]]()
          %r.1 : Tensor = aten::reshape(%x, %2)
          return (%r.1)
        """,
        (wisp.ones(6),),
    )


def test_tensors():
    graph = check(
        "constant_folding",
        """\
        graph(%x : Tensor):
          %size : int[] = prim::Constant[value=[2]]()
          %dtype : Dtype = prim::Constant[value=wisp.float32]()
          %none : NoneType = prim::Constant[value=None]()
          %ones : Tensor = aten::ones(%size, %dtype, %none)
          %e : Tensor = aten::exp(%ones)
          %y : Tensor = aten::mul(%x, %e)
          return (%y)
        """,
        """\
        graph(%x : Tensor):
          %size : int[] = prim::Constant[value=[2]]()
          %dtype : Dtype = prim::Constant[value=wisp.float32]()
          %none : NoneType = prim::Constant[value=None]()
          %0 : Tensor = prim::Constant[value=<Tensor>]()
          %1 : Tensor = prim::Constant[value=<Tensor>]()
          %y : Tensor = aten::mul(%x, %1)
          return (%y)
        """,
        (wisp.ones(2),),
    )
    graph.run_pass("dead_code")
    assert [node.kind() for node in graph.nodes()] == ["prim::Constant", "aten::mul"]


def test_new_tensors_for_every_call_stay_new():
    """What is returned or written cannot be a constant."""
    graph = parse("""\
        graph(%x : Tensor):
          %size : int[] = prim::Constant[value=[2]]()
          %dtype : Dtype = prim::Constant[value=wisp.float32]()
          %none : NoneType = prim::Constant[value=None]()
          %one : int = prim::Constant[value=1]()
          %a : Tensor = aten::ones(%size, %dtype, %none)
          %b : Tensor = aten::ones(%size, %dtype, %none)
          %w : Tensor = aten::add_(%b, %x, %one)
          %y : Tensor = aten::exp(%w)
          return (%a, %y)
        """)
    before = str(graph)
    assert not graph.run_pass("constant_folding") and str(graph) == before
    a, first = graph.run(wisp.ones(2))
    a.zero_()
    again, second = graph.run(wisp.ones(2))
    assert again.tolist() == [1, 1] and first.tolist() == second.tolist()


def test_what_would_be_large_fails_or_depends_on_settings_stays():
    check_unchanged(
        "constant_folding",
        """\
        graph(%x : Tensor):
          %zero : int = prim::Constant[value=0]()
          %one : int = prim::Constant[value=1]()
          %many : int = prim::Constant[value=1000000000000]()
          %text : str = prim::Constant[value="ab"]()
          %sizes : int[] = prim::Constant[value=[1000000, 1000000]]()
          %two : int[] = prim::Constant[value=[2]]()
          %dtype : Dtype = prim::Constant[value=wisp.float32]()
          %none : NoneType = prim::Constant[value=None]()
          %a : str = aten::mul.str(%text, %many)
          %b : Tensor = aten::ones(%sizes, %dtype, %none)
          %c : int = aten::floordiv.int(%one, %zero)
          %d : Tensor = aten::ones(%two, %none, %none)
          %e : Tensor = aten::exp(%d)
          = prim::Print(%a, %b, %c, %e)
          return (%x)
        """,
    )


def test_branches_that_agree():
    check(
        "constant_folding",
        """\
        graph(%x : Tensor, %c : bool):
          %k : int, %y : Tensor = prim::If(%c)
            block0():
              %a : int = prim::Constant[value=2]()
              -> (%a, %x)
            block1():
              %b : int = prim::Constant[value=2]()
              -> (%b, %x)
          %four : int = aten::mul.int(%k, %k)
          %z : Tensor = aten::mul(%y, %four)
          return (%z)
        """,
        """\
        graph(%x : Tensor, %c : bool):
          %0 : int = prim::Constant[value=2]()
          %k : int, %y : Tensor = prim::If(%c)
            block0():
              %a : int = prim::Constant[value=2]()
              -> (%a, %x)
            block1():
              %b : int = prim::Constant[value=2]()
              -> (%b, %x)
          %1 : int = prim::Constant[value=4]()
          %z : Tensor = aten::mul(%x, %1)
          return (%z)
        """,
        (wisp.ones(2), True),
        (wisp.ones(2), False),
    )


def test_what_loops_leave_as_it_is_and_loops_that_do_not_run():
    graph = parse("""\
        graph(%x : Tensor, %n : int):
          %zero : int = prim::Constant[value=0]()
          %one : int = prim::Constant[value=1]()
          %true : bool = prim::Constant[value=True]()
          %a : Tensor, %m : int = prim::Loop(%n, %true, %x, %one)
            block0(%i : int, %p : Tensor, %q : int):
              %r : Tensor = aten::add(%p, %q, %one)
              -> (%true, %r, %q)
          %b : Tensor = prim::Loop(%zero, %true, %a)
            block0(%j : int, %s : Tensor):
              %t : Tensor = aten::neg(%s)
              -> (%true, %t)
          %y : Tensor = aten::add(%b, %m, %one)
          return (%y)
        """)
    graph.run_pass("constant_folding")
    check(
        "dead_code",
        str(graph),
        """\
        graph(%x : Tensor, %n : int):
          %one : int = prim::Constant[value=1]()
          %true : bool = prim::Constant[value=True]()
          %a : Tensor = prim::Loop(%n, %true, %x)
            block0(%i : int, %p : Tensor):
              %r : Tensor = aten::add(%p, %one, %one)
              -> (%true, %r)
          %y : Tensor = aten::add(%a, %one, %one)
          return (%y)
        """,
        (wisp.ones(2), 3),
    )
    assert graph.run(wisp.ones(2), 3).tolist() == [5, 5]
