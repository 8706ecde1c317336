"""Runs of pointwise calls on larger tensors and of several dtypes, which are done tile by tile: the same bits as calls one by
one, in the same layout, with the same gradients, on any number of threads."""

import pytest

import wisp
from wisp.jit import script
from wisp.nn import functional as F


def affine(x, y):
    return (x * 2 + 1).tanh().exp() - y


def gelu_by_hand(x, y):
    return 0.5 * x * (1 + (0.797 * (x + 0.044715 * x * x * x)).tanh()) + y


def activations(x, y):
    return F.gelu(x + y), F.leaky_relu(x, 0.1) * F.softplus(y, 2.0), F.elu(x) - F.hardtanh(y), F.softsign(x) + F.silu(y)


def parameters(x, y):
    return wisp.add(x, y, alpha=2), x.clamp(-1, 0.5) + y.clamp(min=0), wisp.lerp(x, y, 0.25), x.pow(2) + y**3


def compares(x, y):
    mask = (x > 0) & (y < 1)
    return wisp.where(mask, x * 2, y.exp()), mask, (x > y).logical_not(), x.masked_fill(mask, 3.0)


def several_outputs(x, y):
    a = x * y
    b = a.sigmoid() + 1
    return a, b, (b - a).abs()


def pieces(x, y):
    a, b = (x + y).chunk(2, -1)
    return a.sigmoid() * b.tanh(), (a - b).exp() * 2


def shapes_within(x, y):
    small = y * 2 + 1
    return (x + small).tanh() * small.exp(), small


FUNCTIONS = {
    f.__name__: f
    for f in (affine, gelu_by_hand, activations, parameters, compares, several_outputs, pieces, shapes_within)
}
SHAPES = {
    "flat": ((10_000,), (10_000,)),
    "narrow row": ((300, 100), (100,)),
    "wide row": ((20, 700), (700,)),
    "column": ((200, 60), (200, 1)),
    "leading": ((3, 40, 100), (40, 1)),
    "number": ((9000,), ()),
    "one": ((70, 90), (1, 1)),
    "large": ((200, 1000), (1000,)),
    "odd": ((4098,), (4098,)),
}


def assert_same(found, wanted):
    found, wanted = ((value,) if isinstance(value, wisp.Tensor) else value for value in (found, wanted))
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape and a.stride() == b.stride()
        assert wisp.equal(
            a.nan_to_num(7.0) if a.is_floating_point() else a, b.nan_to_num(7.0) if b.is_floating_point() else b
        )


@pytest.mark.parametrize("shapes", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_results_are_those_of_single_calls(function, shapes):
    compiled = script(function)
    for dtype in (wisp.float32, wisp.float64, wisp.bfloat16):
        x, y = (wisp.randn(shape).to(dtype) for shape in shapes)
        if function is pieces and x.shape[-1] % 2:
            continue
        assert_same(compiled(x, y), function(x, y))


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("name", ["affine", "compares", "pieces"])
def test_threads_change_nothing(name, threads):
    function = FUNCTIONS[name]
    compiled = script(function)
    x, y = wisp.randn(501, 100), wisp.randn(100)
    wanted, before = function(x, y), wisp.get_num_threads()
    try:
        wisp.set_num_threads(threads)
        assert_same(compiled(x, y), wanted)
    finally:
        wisp.set_num_threads(before)


LAYOUTS = {
    "transposed": lambda x: x.t(),
    "sliced": lambda x: x[:, ::2],
    "every other row": lambda x: x[::2],
    "expanded": lambda x: x[:1].expand_as(x),
    "turned": lambda x: x.flip(0).t().contiguous().t(),
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("name", ["affine", "several_outputs", "compares"])
def test_layouts(name, layout):
    function, compiled = FUNCTIONS[name], script(FUNCTIONS[name])
    x = layout(wisp.randn(110, 120))
    for y in (wisp.randn(x.shape), wisp.randn(x.shape[1]), layout(wisp.randn(110, 120))):
        assert_same(compiled(x, y), function(x, y))


def gradients(function, values, weight):
    inputs = [value.clone().requires_grad_() for value in values]
    results = function(*inputs)
    results = (results,) if isinstance(results, wisp.Tensor) else results
    used = [result for result in results if result.requires_grad]
    wisp.autograd.backward(used, [weight(result) for result in used])
    return (*results, *(value.grad for value in inputs))


WEIGHTS = {"ones": lambda r: wisp.ones(()).to(r.dtype).expand_as(r), "each": lambda r: r.detach().cos()}


@pytest.mark.parametrize("weight", WEIGHTS.values(), ids=WEIGHTS)
@pytest.mark.parametrize("shapes", [SHAPES["flat"], SHAPES["narrow row"], SHAPES["column"]])
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_gradients_are_those_of_single_calls(function, shapes, weight):
    compiled = script(function)
    values = [wisp.randn(shape) for shape in shapes]
    if function is pieces and shapes[1] == (200, 1):
        values[1] = wisp.randn(200, 60)
    for _ in range(3):  # the first backward is learnt from
        assert_same(gradients(compiled, values, weight), gradients(function, values, weight))


def test_a_large_chain_is_one_node():
    x = wisp.randn(10_000).requires_grad_()
    y = script(affine)(x, wisp.randn(10_000))
    (edge,) = [edge for edge, _ in y.grad_fn.next_functions if edge is not None]
    assert "AccumulateGrad" in edge.name()


def test_second_derivatives():
    def second(function):
        x = wisp.linspace(-2, 2, 5000).requires_grad_()
        (first,) = wisp.autograd.grad(function(x, wisp.zeros(5000)).sum(), x, create_graph=True)
        return wisp.autograd.grad(first.square().sum(), x)[0]

    assert_same(second(script(affine)), second(affine))


def test_what_was_kept_must_not_be_written():
    x = wisp.randn(10_000).requires_grad_()
    held = x * 1
    y = script(lambda_free)(held)
    held.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def lambda_free(x):
    return x * x.sigmoid() + x


def test_a_result_that_was_kept_must_not_be_written():
    x = wisp.randn(10_000).requires_grad_()
    y = script(through_exp)(x)
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def through_exp(x):
    return (x * 2).exp()


def test_backward_twice_needs_the_graph():
    x = wisp.randn(10_000).requires_grad_()
    y = script(through_exp)(x).sum()
    y.backward(retain_graph=True)
    first = x.grad.clone()
    y.backward()
    assert wisp.equal(x.grad, 2 * first)
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_hooks_see_results_of_the_chain():
    seen = []
    x = wisp.randn(10_000).requires_grad_()
    _, b, c = script(several_outputs)(x, wisp.randn(10_000))
    b.register_hook(lambda grad: seen.append(grad.clone()))
    c.sum().backward()
    assert len(seen) == 1 and seen[0].shape == (10_000,)


def test_images_stay_in_the_order_of_convolutions():
    conv = wisp.nn.Conv2d(16, 16, 3, padding=1).eval()
    x, tail = wisp.randn(2, 16, 32, 32), script(relu_and_scale)
    with wisp.no_grad():
        assert wisp.allclose(tail(conv(x)), relu_and_scale(conv(x)))


def relu_and_scale(x):
    return x.relu() * 0.5 + 1


def test_chains_under_lazy_are_put_off():
    compiled, x, y = script(affine), wisp.randn(100_000), wisp.randn(100_000)
    with wisp.lazy():
        found = compiled(x, y)
        assert wisp._C._is_pending(found)
    assert_same(found, affine(x, y))
