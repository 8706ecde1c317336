"""Gradients through runs of pointwise calls that the interpreter records as one: those of single calls, to the last bit."""

import itertools

import pytest

import wisp
from tests.jit_cells import cell
from wisp.jit import script


def arithmetic(x, y):
    z = x * y + x / (y * y + 1)
    return z - 2 * x, (1 - z).exp() * y, z.square()


def gated(x, y):
    a, b = (x * 2).chunk(2, -1)
    c, d = y.split(2, 1)
    return a * wisp.sigmoid(b), c * d - a


def repeated(x, y):
    column = (y * 2).sigmoid()
    return (x + column) * column, x * x * x


def rounded(x, y):
    return x.floor() * y + x, y.relu() - x.abs()


FUNCTIONS = {f.__name__: (f, shapes) for f, shapes in [(arithmetic, ((3, 4), (3, 4))), (arithmetic, ((2, 3, 4), (4,))),
             (gated, ((3, 4), (3, 4))), (repeated, ((3, 4), (3, 1))), (rounded, ((5,), (5,)))]}  # fmt: skip
FUNCTIONS["broadcast"] = (arithmetic, ((2, 3, 4), (3, 1)))


def run(function, values, wanted, use, weights):
    """The results, and the gradients of their sum (weighted where there are weights) by the inputs."""
    inputs = [value.clone().requires_grad_(wants) for value, wants in zip(values, wanted, strict=True)]
    results = function(*inputs)
    used = [result for result, is_used in zip(results, use, strict=False) if is_used and result.requires_grad]
    if used:
        grads = [weight.expand_as(result) for weight, result in zip(weights, used, strict=False)]
        wisp.autograd.backward(used, grads)
    return list(results), [value.grad for value in inputs]


def assert_same(found, wanted):
    for a, b in zip(found, wanted, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            assert a.shape == b.shape
            assert a.requires_grad == b.requires_grad
            assert wisp.equal(a, b)


@pytest.mark.parametrize("dtype", [wisp.float32, wisp.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_are_those_of_single_calls(name, dtype):
    function, shapes = FUNCTIONS[name]
    compiled = script(function)
    values = [wisp.randn(shape, dtype=dtype) for shape in shapes]
    count = len(function(*values))
    weights = (
        [wisp.randn((), dtype=dtype) for _ in range(count)],
        [wisp.randn(r.shape, dtype=dtype) for r in function(*values)],
    )
    for wanted in itertools.product((True, False), repeat=2):
        for use in itertools.product((True, False), repeat=count):
            for weight in weights:
                for _ in range(2):  # the second time backward is known
                    found, expected = (run(f, values, wanted, use, weight) for f in (compiled, function))
                    for a, b in zip(found, expected, strict=True):
                        assert_same(a, b)


def lstm(function, args, steps=3):
    x, h, c, w, b = args
    for _ in range(steps):
        h, c = function(x, h, c, w, b)
    return h.square().sum()


def lstm_args(batch=2):
    shapes = (batch, 6), (batch, 6), (batch, 6), (6, 24), (24,)
    return [wisp.randn(*shape).requires_grad_() for shape in shapes]


@pytest.mark.parametrize("batch", [1, 2])
def test_lstm_cell(batch):
    args, compiled = lstm_args(batch), script(cell)
    grads = []
    for f in (cell, compiled):
        for arg in args:
            arg.grad = None
        for _ in range(3):
            lstm(f, args).backward()
        grads.append([arg.grad for arg in args])
    assert_same(*grads)


def count_nodes(tensor):
    seen, todo = set(), [tensor.grad_fn]
    while todo:
        node = todo.pop()
        if node is not None and node not in seen:
            seen.add(node)
            todo += [following for following, _ in node.next_functions]
    return len(seen)


def test_a_chain_is_one_node():
    args = lstm_args()
    assert count_nodes(script(cell)(*args)[0]) < count_nodes(cell(*args)[0]) / 2
    assert script(cell)(*args)[0].grad_fn.name() == cell(*args)[0].grad_fn.name()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_second_derivatives(name):
    function, shapes = FUNCTIONS[name]
    compiled = script(function)
    values = [wisp.randn(shape, dtype=wisp.float64).requires_grad_() for shape in shapes]

    def twice(f):
        total = sum((result * result).sum() for result in f(*values))
        first = wisp.autograd.grad(total, values, create_graph=True)
        second = wisp.autograd.grad(sum((g * g).sum() for g in first), values, create_graph=True, allow_unused=True)
        third = wisp.autograd.grad(sum(g.sum() for g in second if g is not None), values, allow_unused=True)
        return [g if g is None else g.detach() for g in (*first, *second, *third)]

    compiled(*values)[0].sum().backward()
    for found, wanted in zip(twice(compiled), twice(function), strict=True):
        assert (found is None) == (wanted is None)
        assert found is None or wisp.allclose(found, wanted, rtol=1e-12, atol=1e-12)


def test_gradients_of_some_inputs_only():
    args, compiled = lstm_args(), script(cell)
    for chosen in itertools.combinations(range(5), 2):
        inputs = [args[i] for i in chosen]
        found, wanted = (wisp.autograd.grad(lstm(f, args), inputs) for f in (compiled, cell))
        assert_same(found, wanted)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_of_some_inputs_where_backward_is_known(name):
    function, shapes = FUNCTIONS[name]
    compiled = script(function)
    values = [wisp.randn(shape).requires_grad_() for shape in shapes]

    def grads(f, inputs):
        return wisp.autograd.grad(sum(result.sum() for result in f(*values)), inputs)

    for inputs in (values, values, values[:1], values[1:], values):  # the first time, it is learnt
        assert_same(grads(compiled, inputs), grads(function, inputs))


def hooked(f, values):
    """What hooks on results see, kept gradients of results, and gradients after a hook has changed them."""
    args = [value.clone().requires_grad_() for value in values]
    h, c = f(*args)
    seen = []
    h.register_hook(lambda grad: seen.append(grad) or grad * 2)
    c.retain_grad()
    (h + c).sum().backward()
    return [*seen, c.grad, *(arg.grad for arg in args)]


def test_hooks_and_retained_gradients():
    values, compiled = [arg.detach() for arg in lstm_args()], script(cell)
    for _ in range(2):
        assert_same(hooked(compiled, values), hooked(cell, values))


def test_gradients_by_a_result_that_the_chain_reads_too():
    args, compiled = lstm_args(), script(cell)
    for _ in range(2):
        found, wanted = [], []
        for f, grads in ((compiled, found), (cell, wanted)):
            h, c = f(*args)
            grads += wisp.autograd.grad((h * h + c).sum(), [c, h, args[2]])
        assert_same(found, wanted)


def crossing(x, y):
    a = x * y
    b = a.exp()
    c = x.tanh() * b
    return a, b, x.sigmoid() * c - a


def test_sums_of_gradients_keep_their_order():
    x, y = wisp.randn(50), wisp.randn(50)
    compiled = script(crossing)
    weights = [wisp.randn(50) for _ in range(3)]
    for use in itertools.product((True, False), repeat=3):
        for _ in range(2):
            found, expected = (run(f, (x, y), (True, True), use, weights) for f in (compiled, crossing))
            assert_same(found[1], expected[1])


def test_what_is_saved_must_not_be_written():
    x, y = wisp.randn(3).requires_grad_(), wisp.randn(3)
    result = script(product_and_sum)(x, y)
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation.*version 1; expected version 0"):
        result.sum().backward()


def product_and_sum(x, y):
    return (x * y + x).tanh()


def sums(x, y):
    return (x + y).tanh() - y


def test_what_is_not_saved_may_be_written():
    x, y = wisp.randn(3).requires_grad_(), wisp.randn(3)
    result = script(sums)(x, y)
    y.add_(1)
    result.sum().backward()
    assert x.grad is not None


def test_a_written_result_is_noticed():
    x = wisp.randn(3).requires_grad_()
    result = script(product_and_sum)(x, x)
    with wisp.no_grad():
        result.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.sum().backward()


def test_backward_twice():
    x, y = wisp.randn(3).requires_grad_(), wisp.randn(3).requires_grad_()
    result = script(product_and_sum)(x, y).sum()
    result.backward(retain_graph=True)
    once = x.grad.clone()
    result.backward()
    assert wisp.equal(x.grad, once + once)
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        result.backward()


def test_results_without_gradients():
    x, y = wisp.randn(3).requires_grad_(), wisp.randn(3)
    compiled = script(two)
    for _ in range(2):
        first, second = compiled(x, y)
        assert first.requires_grad and not second.requires_grad and second.grad_fn is None


def two(x, y):
    return (x * 2).exp(), (y * 2).exp()


def test_writing_into_a_result():
    values = wisp.randn(3), wisp.randn(3)
    grads = []
    for f in (script(sums), sums):
        x, y = (value.clone().requires_grad_() for value in values)
        result = f(x, y)
        result.mul_(y)
        result[1:].add_(x[1:])
        result.square().sum().backward()
        grads.append((x.grad, y.grad))
    assert_same(*grads)


def test_a_graph_outlives_the_program():
    x = wisp.randn(3).requires_grad_()
    compiled = script(sums)
    result = compiled(x, x)
    del compiled
    result.sum().backward()
    assert wisp.allclose(x.grad, 2 * (1 - (2 * x).tanh().square()) - 1)


def root(x):
    return (x * 0).sqrt() * 0


def test_anomaly_mode_names_the_call():
    x = wisp.zeros(3).requires_grad_()
    with (
        wisp.autograd.set_detect_anomaly(True),
        pytest.raises(RuntimeError, match="SqrtBackward0' returned nan values"),
    ):
        script(root)(x).sum().backward()


def test_tensors_without_values_elsewhere_do_not_matter():
    wisp.empty(2, device="meta")
    test_a_chain_is_one_node()
