import wisp
from tests.graph_passes.common import check, check_unchanged


def test_pointwise_nodes_become_a_group():
    check(
        "fusion",
        """\
        graph(%x : Tensor, %w : Tensor):
          %one : int = prim::Constant[value=1]()
          %a : Tensor = aten::add(%x, %x, %one)
          %two : int = prim::Constant[value=2]()
          %b : Tensor = aten::mul(%a, %two)
          %c : Tensor = aten::tanh(%b)
          %d : Tensor = aten::mm(%c, %w)
          return (%d, %b)
        """,
        """\
        graph(%x : Tensor, %w : Tensor):
          %one : int = prim::Constant[value=1]()
          %two : int = prim::Constant[value=2]()
          %4 : Tensor, %5 : Tensor = prim::FusionGroup(%x)
            block0(%0 : Tensor):
              %1 : Tensor = aten::add(%0, %0, %one)
              %2 : Tensor = aten::mul(%1, %two)
              %3 : Tensor = aten::tanh(%2)
              -> (%2, %3)
          %d : Tensor = aten::mm(%5, %w)
          return (%d, %4)
        """,
        (wisp.randn(80, 90), wisp.randn(90, 3)),
    )


def test_writes_and_single_nodes_are_left_alone():
    check_unchanged(
        "fusion",
        """\
        graph(%x : Tensor):
          %one : int = prim::Constant[value=1]()
          %a : Tensor = aten::add(%x, %x, %one)
          %b : Tensor = aten::mul_(%a, %one)
          %c : Tensor = aten::tanh(%b)
          return (%c)
        """,
    )


def test_groups_in_blocks():
    check(
        "fusion",
        """\
        graph(%x : Tensor, %n : int):
          %true : bool = prim::Constant[value=True]()
          %y : Tensor = prim::Loop(%n, %true, %x)
            block0(%i : int, %h : Tensor):
              %s : Tensor = aten::sigmoid(%h)
              %t : Tensor = aten::mul(%s, %i)
              -> (%true, %t)
          return (%y)
        """,
        """\
        graph(%x : Tensor, %n : int):
          %true : bool = prim::Constant[value=True]()
          %y : Tensor = prim::Loop(%n, %true, %x)
            block0(%i : int, %h : Tensor):
              %4 : Tensor = prim::FusionGroup(%h, %i)
                block0(%0 : Tensor, %2 : int):
                  %1 : Tensor = aten::sigmoid(%0)
                  %3 : Tensor = aten::mul(%1, %2)
                  -> (%3)
              -> (%true, %4)
          return (%y)
        """,
        (wisp.randn(5000), 3),
    )


def test_a_group_runs_fused():
    graph = wisp._C._jit.parse_graph(
        """\
        graph(%x : Tensor):
          %one : int = prim::Constant[value=1]()
          %a : Tensor = aten::mul(%x, %x)
          %b : Tensor = aten::add(%a, %x, %one)
          %c : Tensor = aten::tanh(%b)
          return (%c)
        """
    )
    graph.run_pass("fusion")
    x = wisp.randn(300_000)
    before = wisp.lazy.counts()
    got = graph.run(x)
    after = wisp.lazy.counts()
    assert wisp.equal(got, (x * x + x).tanh())
    assert after["fused"] - before["fused"] == 3 and after["groups"] - before["groups"] == 1


def test_gradients_pass_through_groups():
    graph = wisp._C._jit.parse_graph(
        """\
        graph(%x : Tensor):
          %a : Tensor = aten::mul(%x, %x)
          %c : Tensor = aten::tanh(%a)
          return (%c)
        """
    )
    graph.run_pass("fusion")
    x = wisp.randn(300_000, requires_grad=True)
    graph.run(x).sum().backward()
    expected = 2 * x * (1 - (x * x).tanh() ** 2)
    assert wisp.allclose(x.grad, expected, atol=1e-5)
