import functools
import warnings

import pytest

import wisp
from tests.graph_passes.common import check, check_unchanged, parse
from tests.in_threads import together
from wisp import nn

RUNS = 40  # both ways are tried, then one of them is chosen


def run_often(graph, *inputs):
    """The results of many runs, which are all the same to the last bit; each is compared with the first."""
    first = graph.run(*inputs)
    for _ in range(RUNS):
        again = graph.run(*inputs)
        for one, other in zip(as_tuple(first), as_tuple(again), strict=True):
            assert wisp.equal(one, other)
    return first


def as_tuple(results):
    return results if isinstance(results, tuple) else (results,)


def test_products_that_come_together_become_branches():
    graph = check(
        "parallel_branches",
        """\
        graph(%x : Tensor, %v : Tensor, %w : Tensor):
          %one : int = prim::Constant[value=1]()
          %x2 : Tensor = aten::relu(%x)
          %a : Tensor = aten::mm(%x2, %v)
          %b : Tensor = aten::mm(%x2, %w)
          %a2 : Tensor = aten::tanh(%a)
          %b2 : Tensor = aten::mm(%b, %w)
          %c : Tensor = aten::add(%a2, %b2, %one)
          return (%c)
        """,
        """\
        graph(%x : Tensor, %v : Tensor, %w : Tensor):
          %one : int = prim::Constant[value=1]()
          %x2 : Tensor = aten::relu(%x)
          %0 : Tensor, %1 : Tensor = prim::Parallel()
            block0():
              %a : Tensor = aten::mm(%x2, %v)
              %a2 : Tensor = aten::tanh(%a)
              -> (%a2)
            block1():
              %b : Tensor = aten::mm(%x2, %w)
              %b2 : Tensor = aten::mm(%b, %w)
              -> (%b2)
          %c : Tensor = aten::add(%0, %1, %one)
          return (%c)
        """,
        (wisp.randn(70, 90), wisp.randn(90, 90), wisp.randn(90, 90)),
    )
    x, v, w = wisp.randn(130, 200), wisp.randn(200, 200), wisp.randn(200, 200)
    assert wisp.equal(run_often(graph, x, v, w), (x.relu() @ v).tanh() + x.relu() @ w @ w)


def test_results_and_values_used_elsewhere_leave_their_branches():
    check(
        "parallel_branches",
        """\
        graph(%x : Tensor, %w : Tensor):
          %one : int = prim::Constant[value=1]()
          %a : Tensor = aten::mm(%x, %w)
          %n : Tensor = aten::neg(%a)
          %b : Tensor = aten::mm(%w, %x)
          %s : Tensor = aten::sub(%b, %a, %one)
          return (%a, %n, %s)
        """,
        """\
        graph(%x : Tensor, %w : Tensor):
          %one : int = prim::Constant[value=1]()
          %0 : Tensor, %1 : Tensor = prim::Parallel()
            block0():
              %a : Tensor = aten::mm(%x, %w)
              -> (%a)
            block1():
              %b : Tensor = aten::mm(%w, %x)
              -> (%b)
          %n : Tensor = aten::neg(%0)
          %s : Tensor = aten::sub(%1, %0, %one)
          return (%0, %n, %s)
        """,
        (wisp.randn(90, 90), wisp.randn(90, 90)),
    )


def test_results_of_the_graph_end_branches():
    check(
        "parallel_branches",
        """\
        graph(%x : Tensor, %w : Tensor):
          %a : Tensor = aten::mm(%x, %w)
          %n : Tensor = aten::neg(%a)
          %b : Tensor = aten::mm(%w, %x)
          return (%a, %n, %b)
        """,
        """\
        graph(%x : Tensor, %w : Tensor):
          %0 : Tensor, %1 : Tensor, %2 : Tensor = prim::Parallel()
            block0():
              %a : Tensor = aten::mm(%x, %w)
              %n : Tensor = aten::neg(%a)
              -> (%a, %n)
            block1():
              %b : Tensor = aten::mm(%w, %x)
              -> (%b)
          return (%0, %1, %2)
        """,
        (wisp.randn(90, 90), wisp.randn(90, 90)),
    )


def test_groups_may_follow_each_other_and_stand_in_loops():
    graph = parse(
        """\
        graph(%x : Tensor, %v : Tensor, %w : Tensor, %n : int):
          %one : int = prim::Constant[value=1]()
          %true : bool = prim::Constant[value=True]()
          %y : Tensor = prim::Loop(%n, %true, %x)
            block0(%i : int, %h : Tensor):
              %a : Tensor = aten::mm(%h, %v)
              %b : Tensor = aten::mm(%h, %w)
              %c : Tensor = aten::sub(%a, %b, %one)
              %d : Tensor = aten::mm(%c, %v)
              %e : Tensor = aten::mm(%c, %w)
              %f : Tensor = aten::add(%d, %e, %one)
              %g : Tensor = aten::tanh(%f)
              -> (%true, %g)
          return (%y)
        """
    )
    x, v, w = wisp.randn(60, 80), wisp.randn(80, 80) / 9, wisp.randn(80, 80) / 9
    expected = graph.run(x, v, w, 5)
    assert graph.run_pass("parallel_branches") and str(graph).count("prim::Parallel") == 2
    assert not graph.run_pass("parallel_branches")
    assert wisp.equal(run_often(graph, x, v, w, 5), expected)


UNCHANGED = {
    "one needs the other": """\
        graph(%x : Tensor, %w : Tensor):
          %one : int = prim::Constant[value=1]()
          %a : Tensor = aten::mm(%x, %w)
          %b : Tensor = aten::mm(%a, %w)
          %c : Tensor = aten::add(%a, %b, %one)
          return (%c)
        """,
    "pointwise": """\
        graph(%x : Tensor):
          %one : int = prim::Constant[value=1]()
          %a : Tensor = aten::tanh(%x)
          %b : Tensor = aten::exp(%x)
          %c : Tensor = aten::add(%a, %b, %one)
          return (%c)
        """,
    "known to be small": """\
        graph(%x : Float(4, 4), %w : Float(4, 4)):
          %one : int = prim::Constant[value=1]()
          %a : Float(4, 4) = aten::mm(%x, %w)
          %b : Float(4, 4) = aten::mm(%w, %x)
          %c : Float(4, 4) = aten::add(%a, %b, %one)
          return (%c)
        """,
    "written between": """\
        graph(%x : Tensor, %w : Tensor):
          %one : int = prim::Constant[value=1]()
          %a : Tensor = aten::mm(%x, %w)
          %x2 : Tensor = aten::add_(%x, %one, %one)
          %b : Tensor = aten::mm(%x2, %w)
          %c : Tensor = aten::add(%a, %b, %one)
          return (%c)
        """,
    "random": """\
        graph(%x : Tensor, %w : Tensor):
          %one : int = prim::Constant[value=1]()
          %half : float = prim::Constant[value=0.5]()
          %true : bool = prim::Constant[value=True]()
          %false : bool = prim::Constant[value=False]()
          %a : Tensor = aten::mm(%x, %w)
          %d : Tensor = aten::dropout(%a, %half, %true, %false)
          %b : Tensor = aten::mm(%w, %x)
          %c : Tensor = aten::add(%d, %b, %one)
          return (%c)
        """,
    "printed between": """\
        graph(%x : Tensor, %w : Tensor):
          %one : int = prim::Constant[value=1]()
          %a : Tensor = aten::mm(%x, %w)
          = prim::Print(%one)
          %b : Tensor = aten::mm(%w, %x)
          %c : Tensor = aten::add(%a, %b, %one)
          return (%c)
        """,
}


@pytest.mark.parametrize("name", UNCHANGED)
def test_left_alone(name):
    check_unchanged("parallel_branches", UNCHANGED[name])


TWO_PRODUCTS = """\
graph(%x : Tensor, %v : Tensor, %w : Tensor):
  %one : int = prim::Constant[value=1]()
  %0 : Tensor, %1 : Tensor = prim::Parallel()
    block0():
      %a : Tensor = aten::mm(%x, %v)
      %a2 : Tensor = aten::mm(%a, %v)
      -> (%a2)
    block1():
      %b : Tensor = aten::mm(%x, %w)
      %b2 : Tensor = aten::mm(%b, %w)
      -> (%b2)
  %c : Tensor = aten::add(%0, %1, %one)
  return (%c)
"""


def products(n=200):
    return wisp.randn(n, n), wisp.randn(n, n) / n, wisp.randn(n, n) / n


def test_gradients_are_recorded():
    graph, eager = parse(TWO_PRODUCTS), [t.requires_grad_() for t in products(100)]
    compiled = [t.detach().clone().requires_grad_() for t in eager]
    x, v, w = eager
    for _ in range(RUNS):
        graph.run(*compiled).sum().backward()
        (x @ v @ v + x @ w @ w).sum().backward()
    for one, other in zip(eager, compiled, strict=True):
        wisp.testing.assert_close(one.grad, other.grad)


def test_modes_are_those_of_the_caller():
    graph, (x, v, w) = parse(TWO_PRODUCTS), products()
    for _ in range(RUNS):
        with wisp.inference_mode():
            assert graph.run(x, v, w).is_inference()
        assert not graph.run(x, v, w).is_inference()
        with wisp.autocast("cpu", dtype=wisp.bfloat16):
            assert graph.run(x, v, w).dtype == wisp.bfloat16
    got = wisp.vmap(graph.run, in_dims=(0, None, None))(x.expand(3, *x.shape), v, w)
    wisp.testing.assert_close(got[1], graph.run(x, v, w))


@pytest.mark.parametrize("n", [30, 200])
def test_the_first_error_is_raised_however_the_branches_run(n):
    text = TWO_PRODUCTS.replace("aten::mm(%a, %v)", "aten::mm(%a, %x)").replace("aten::mm(%b, %w)", "aten::mm(%b, %x)")
    graph, (x, v, w) = parse(text), products(n)
    for _ in range(RUNS):
        with pytest.raises(RuntimeError, match=f"{n + 1}x{n}"):
            graph.run(wisp.randn(n + 1, n), v, w)
        assert graph.run(x, v, w).shape == (n, n)


class Errors(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(300, 300), nn.Linear(300, 300)

    def forward(self, x):
        left = self.left(x).tanh()
        right = self.right(x).reshape(7, 7)
        return left, right


def test_errors_name_their_lines():
    """Branch 1 fails after branch 0 has run, at its own line."""
    frozen = wisp.jit.freeze(wisp.jit.script(Errors().eval()))
    assert "prim::Parallel" in str(frozen.graph)
    for _ in range(RUNS):
        with pytest.raises(RuntimeError, match=r"(?s)right = self.right\(x\).reshape\(7, 7\)") as caught:
            frozen(wisp.randn(60, 300))
        assert str(caught.value).count("HERE") == 1


def test_warnings_reach_the_caller():
    constants = """\
  %none : NoneType = prim::Constant[value=None]()
  %many : int = prim::Constant[value=1000000]()
  %false : bool = prim::Constant[value=False]()
  %one :"""
    text = TWO_PRODUCTS.replace("aten::mm(%a, %v)", "aten::var.correction(%a, %none, %many, %false)")
    text = text.replace("  %one :", constants)
    graph = parse(text)
    x, v, w = products()
    for _ in range(RUNS):
        with pytest.warns(UserWarning, match="degrees of freedom"):
            graph.run(x, v, w)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            with pytest.raises(UserWarning):
                graph.run(x, v, w)


def test_blocks_of_any_text_run():
    """A file may hold blocks that the pass would never make: they run one after the other."""
    text = """\
    graph(%x : Tensor, %w : Tensor):
      %one : int = prim::Constant[value=1]()
      %0 : Tensor, %1 : Tensor = prim::Parallel()
        block0():
          %a : Tensor = aten::add_(%x, %one, %one)
          %a2 : Tensor = aten::mm(%a, %w)
          -> (%a2)
        block1():
          %b : Tensor = aten::mul_(%x, %w)
          -> (%b)
      return (%0, %1)
    """
    for _ in range(RUNS):
        x, w = wisp.randn(60, 60), wisp.randn(60, 60)
        kept = x.clone()
        got = parse(text).run(x, w)
        assert wisp.equal(got[0], (kept + 1) @ w) and wisp.equal(got[1], (kept + 1) * w)
    for bad in [("prim::Parallel()", "prim::Parallel(%x)"), ("block0():", "block0(%p : Tensor):")]:
        with pytest.raises(RuntimeError, match="graph"):
            parse(text.replace(*bad))


class Inception(nn.Module):
    """Branches of convolutions, as deep networks for images have them."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Conv2d(16, 8, 1), nn.Conv2d(16, 8, 3, padding=1), nn.Conv2d(8, 16, 3, padding=1)
        self.norm, self.pool = nn.BatchNorm2d(8), nn.MaxPool2d(3, 1, 1)

    def forward(self, x):
        return wisp.cat([self.norm(self.a(x)).relu(), self.c(self.b(x).relu()).relu(), self.pool(x)], 1)


class Towers(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = nn.LSTM(32, 32), nn.GRU(32, 32, bidirectional=True)

    def forward(self, x):
        return wisp.cat([self.left(x)[0], self.right(x)[0]], -1)


@pytest.mark.parametrize("make,shape", [(Inception, (1, 16, 20, 20)), (Towers, (30, 1, 32))])
@pytest.mark.parametrize("compiled", [wisp.jit.script, wisp.jit.trace])
def test_frozen_modules_agree_with_eager(make, shape, compiled):
    net, x = make().eval(), wisp.randn(shape)
    script = compiled(net) if compiled is wisp.jit.script else compiled(net, x)
    frozen = wisp.jit.freeze(script, optimize_numerics=False)
    assert "prim::Parallel" in str(frozen.graph)
    with wisp.no_grad():
        expected = net(x)
        for _ in range(RUNS):
            assert wisp.equal(frozen(x), expected)
        threads = wisp.get_num_threads()
        try:
            for count in (1, 3, 2):
                wisp.set_num_threads(count)
                assert all(wisp.equal(frozen(x), expected) for _ in range(RUNS))
        finally:
            wisp.set_num_threads(threads)


def test_what_is_checked_is_checked_before_it_is_used():
    script = wisp.jit.script(Inception().eval())
    frozen = wisp.jit.freeze(script, optimize_numerics=False)
    for module in (script, frozen):
        with pytest.raises(ValueError, match="expected 4D input"):
            module(wisp.randn(16, 20, 20))


def test_several_threads_run_the_same_code():
    frozen, inputs = wisp.jit.freeze(wisp.jit.script(Inception().eval())), [wisp.randn(1, 16, 12, 12) for _ in range(3)]
    expected, wrong = [frozen(x) for x in inputs], []

    def work(x, y):
        wrong.extend(i for i in range(RUNS) if not wisp.equal(frozen(x), y))

    together([functools.partial(work, *pair) for pair in zip(inputs, expected, strict=True)])
    assert not wrong


def test_the_code_of_a_group_is_plain_python():
    frozen = wisp.jit.freeze(wisp.jit.script(Inception().eval()))
    assert "conv2d" in frozen.code and "Parallel" not in frozen.code
