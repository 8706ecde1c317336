"""batch_matmul and tree_batching."""

import wisp
from tests.graph_passes.common import assert_same, check, check_unchanged, jit, parse


def test_products_with_a_common_left_side():
    check(
        "batch_matmul",
        """\
        graph(%x : Float(3, 4), %b : Float(4, 2), %c : Float(4, 2), %d : Float(4, 2)):
          %p : Float(3, 2) = aten::mm(%x, %b)
          %q : Float(3, 2) = aten::mm(%x, %c)
          %a : Float(3, 2) = aten::relu(%p)
          %r : Float(3, 2) = aten::mm(%x, %d)
          %e : Float(3, 2) = aten::mul(%a, %q)
          %f : Float(3, 2) = aten::mul(%e, %r)
          return (%f)
        """,
        """\
        graph(%x : Float(3, 4), %b : Float(4, 2), %c : Float(4, 2), %d : Float(4, 2)):
          %0 : Tensor[] = prim::ListConstruct(%b, %c, %d)
          %1 : int = prim::Constant[value=1]()
          %2 : Float(4, 6) = aten::cat(%0, %1)
          %3 : Tensor = aten::mm(%x, %2)
          %4 : int = prim::Constant[value=1]()
          %5 : int = prim::Constant[value=3]()
          %6 : Tensor[] = aten::chunk(%3, %5, %4)
          %7 : Float(3, 2), %8 : Float(3, 2), %9 : Float(3, 2) = prim::ListUnpack(%6)
          %a : Float(3, 2) = aten::relu(%7)
          %e : Float(3, 2) = aten::mul(%a, %8)
          %f : Float(3, 2) = aten::mul(%e, %9)
          return (%f)
        """,
        (wisp.rand(3, 4), wisp.rand(4, 2), wisp.rand(4, 2), wisp.rand(4, 2)),
    )


def test_linear_layers_of_different_widths():
    check(
        "batch_matmul",
        """\
        graph(%x : Tensor, %b : Float(2, 4), %c : Float(3, 4), %d : Float(2), %e : Float(3)):
          %p : Tensor = aten::linear(%x, %b, %d)
          %q : Tensor = aten::linear(%x, %c, %e)
          %r : Tensor = aten::relu(%p)
          %s : Tensor = aten::neg(%q)
          return (%r, %s)
        """,
        """\
        graph(%x : Tensor, %b : Float(2, 4), %c : Float(3, 4), %d : Float(2), %e : Float(3)):
          %0 : Tensor[] = prim::ListConstruct(%b, %c)
          %1 : int = prim::Constant[value=0]()
          %2 : Float(5, 4) = aten::cat(%0, %1)
          %3 : Tensor[] = prim::ListConstruct(%d, %e)
          %4 : int = prim::Constant[value=0]()
          %5 : Float(5) = aten::cat(%3, %4)
          %6 : Tensor = aten::linear(%x, %2, %5)
          %7 : int = prim::Constant[value=-1]()
          %8 : int[] = prim::Constant[value=[2, 3]]()
          %9 : Tensor[] = aten::split_with_sizes(%6, %8, %7)
          %10 : Tensor, %11 : Tensor = prim::ListUnpack(%9)
          %r : Tensor = aten::relu(%10)
          %s : Tensor = aten::neg(%11)
          return (%r, %s)
        """,
        (wisp.rand(5, 3, 4), wisp.rand(2, 4), wisp.rand(3, 4), wisp.rand(2), wisp.rand(3)),
    )


def test_products_with_a_common_right_side():
    graph = check(
        "batch_matmul",
        """\
        graph(%a : Float(3, 4), %b : Float(2, 4), %w : Tensor):
          %p : Tensor = aten::mm(%a, %w)
          %q : Tensor = aten::mm(%b, %w)
          %r : Tensor = aten::relu(%p)
          %s : Tensor = aten::neg(%q)
          return (%r, %s)
        """,
        """\
        graph(%a : Float(3, 4), %b : Float(2, 4), %w : Tensor):
          %0 : Tensor[] = prim::ListConstruct(%a, %b)
          %1 : int = prim::Constant[value=0]()
          %2 : Float(5, 4) = aten::cat(%0, %1)
          %3 : Tensor = aten::mm(%2, %w)
          %4 : int = prim::Constant[value=0]()
          %5 : int[] = prim::Constant[value=[3, 2]]()
          %6 : Tensor[] = aten::split_with_sizes(%3, %5, %4)
          %7 : Tensor, %8 : Tensor = prim::ListUnpack(%6)
          %r : Tensor = aten::relu(%7)
          %s : Tensor = aten::neg(%8)
          return (%r, %s)
        """,
        (wisp.rand(3, 4), wisp.rand(2, 4), wisp.rand(4, 6)),
    )
    assert not graph.run_pass("batch_matmul")


def test_constants_are_joined_at_once():
    """Frozen layers beside each other, their weights written where they are used, become one layer."""
    first, second = wisp.nn.Linear(4, 2), wisp.nn.Linear(4, 3)
    program = jit.Program()
    program.set_tensors([t.detach() for layer in (first, second) for t in (layer.weight, layer.bias)])
    program.parse("""program 1
function f {
  graph(%x : Tensor):
    %a : Tensor = prim::Constant[value=<tensor 0>]()
    %b : Tensor = prim::Constant[value=<tensor 1>]()
    %p : Tensor = aten::linear(%x, %a, %b)
    %r : Tensor = aten::relu(%p)
    %c : Tensor = prim::Constant[value=<tensor 2>]()
    %d : Tensor = prim::Constant[value=<tensor 3>]()
    %q : Tensor = aten::linear(%x, %c, %d)
    %s : Tensor = aten::neg(%q)
    return (%r, %s)
}
""")
    graph = program.function("f").graph
    graph.optimize()
    kinds = [node.kind() for node in graph.nodes() if node.kind() != "prim::Constant"]
    assert kinds == ["aten::linear", "aten::split_with_sizes", "prim::ListUnpack", "aten::relu", "aten::neg"]
    x = wisp.rand(5, 4)
    assert_same((first(x).relu().detach(), -second(x).detach()), graph.run(x))


def test_gradients_flow_through_the_batched_product():
    graph = parse("""\
        graph(%x : Float(3, 4), %b : Float(4, 2), %c : Float(4, 2)):
          %p : Tensor = aten::mm(%x, %b)
          %q : Tensor = aten::mm(%x, %c)
          %y : Tensor = aten::mul(%p, %q)
          return (%y)
        """)
    inputs = [wisp.rand(*size, requires_grad=True) for size in ((3, 4), (4, 2), (4, 2))]
    expected = wisp.autograd.grad(graph.copy().run(*inputs).sum(), inputs)
    assert graph.run_pass("batch_matmul")
    actual = wisp.autograd.grad(graph.run(*inputs).sum(), inputs)
    for one, other in zip(expected, actual, strict=True):
        wisp.testing.assert_close(other, one)


def test_products_that_depend_on_each_other_or_are_seen_stay():
    """The second needs the first; the third is a result; the fourth is viewed; sizes of the fifth are unknown."""
    check_unchanged(
        "batch_matmul",
        """\
        graph(%x : Float(4, 4), %b : Float(4, 4), %u : Tensor):
          %size : int[] = prim::Constant[value=[16]]()
          %p : Float(4, 4) = aten::mm(%x, %b)
          %q : Float(4, 4) = aten::mm(%x, %p)
          %r : Float(4, 4) = aten::mm(%x, %q)
          %s : Float(4, 4) = aten::mm(%x, %b)
          %t : Float(16) = aten::view(%s, %size)
          %v : Tensor = aten::mm(%x, %u)
          %w : Tensor = aten::neg(%v)
          return (%r, %t, %w)
        """,
    )


def test_sums_of_products():
    check(
        "tree_batching",
        """\
        graph(%a : Float(3, 4), %b : Float(4, 2), %c : Float(3, 5), %d : Float(5, 2), %e : Float(3, 2), %f : Float(2, 2)):
          %one : int = prim::Constant[value=1]()
          %p : Float(3, 2) = aten::mm(%a, %b)
          %q : Float(3, 2) = aten::mm(%c, %d)
          %r : Float(3, 2) = aten::mm(%e, %f)
          %s : Float(3, 2) = aten::add(%p, %q, %one)
          %t : Float(3, 2) = aten::add(%s, %r, %one)
          return (%t)
        """,
        """\
        graph(%a : Float(3, 4), %b : Float(4, 2), %c : Float(3, 5), %d : Float(5, 2), %e : Float(3, 2), %f : Float(2, 2)):
          %one : int = prim::Constant[value=1]()
          %0 : Tensor[] = prim::ListConstruct(%a, %c, %e)
          %1 : int = prim::Constant[value=1]()
          %2 : Float(3, 11) = aten::cat(%0, %1)
          %3 : Tensor[] = prim::ListConstruct(%b, %d, %f)
          %4 : int = prim::Constant[value=0]()
          %5 : Float(11, 2) = aten::cat(%3, %4)
          %6 : Float(3, 2) = aten::mm(%2, %5)
          return (%6)
        """,
        tuple(wisp.rand(*size) for size in ((3, 4), (4, 2), (3, 5), (5, 2), (3, 2), (2, 2))),
    )


def test_sums_that_broadcast_or_are_needed_stay():
    check_unchanged(
        "tree_batching",
        """\
        graph(%a : Float(3, 4), %b : Float(4, 2), %c : Float(1, 4), %g : Float(3, 2)):
          %one : int = prim::Constant[value=1]()
          %two : int = prim::Constant[value=2]()
          %p : Float(3, 2) = aten::mm(%a, %b)
          %q : Float(1, 2) = aten::mm(%c, %b)
          %s : Float(3, 2) = aten::add(%p, %q, %one)
          %r : Float(3, 2) = aten::mm(%a, %b)
          %t : Float(3, 2) = aten::mm(%a, %b)
          %u : Float(3, 2) = aten::add(%r, %t, %two)
          %v : Float(3, 2) = aten::add(%r, %g, %one)
          return (%s, %u, %v)
        """,
    )
