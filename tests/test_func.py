"""wisp.func, forward_ad and autograd.functional: nested transforms, per-sample gradients, errors."""

import doctest
import pathlib

import pytest

import wisp
from wisp import func
from wisp.autograd import forward_ad as fw
from wisp.autograd import functional
from wisp.nn import functional as F


def doubles(*shape, seed=0):
    return wisp.randn(*shape, dtype=wisp.float64, generator=wisp.Generator().manual_seed(seed))


def close(a, b, tol=1e-10):
    assert a.shape == b.shape
    assert bool((abs(a - b) <= tol * (1 + abs(b))).all()), f"{a} is not {b}"


def curve(x):
    return (x.exp() * x.flip(0) + x.sin() * x.sum()).sum()


def test_orders_of_differentiation_agree():
    x = doubles(4)
    want = functional.hessian(curve, x)
    for transform in (
        func.hessian(curve), func.jacrev(func.jacrev(curve)), func.jacfwd(func.jacfwd(curve)),
        func.jacrev(func.jacfwd(curve)), func.jacfwd(func.grad(curve)), func.jacrev(func.grad(curve)),
    ):  # fmt: skip
        got = transform(x)
        close(got, want)
        assert not got.requires_grad


def test_third_derivative():
    third = func.grad(func.grad(func.grad(lambda x: x**4)))
    assert third(wisp.tensor(2.0)).item() == 48.0
    mixed = func.jvp(lambda x: func.grad(func.grad(lambda y: y**4))(x), (wisp.tensor(2.0),), (wisp.tensor(1.0),))
    assert [t.item() for t in mixed] == [48.0, 48.0]


def test_tangents_of_different_levels_do_not_mix():
    # d/dx [x * d/dy (x + y)] = 1: a confusion of the two levels gives 2.
    def outer(x):
        inner = func.jvp(lambda y: x + y, (wisp.tensor(1.0),), (wisp.tensor(1.0),))[1]
        return x * inner

    assert func.jvp(outer, (wisp.tensor(3.0),), (wisp.tensor(1.0),))[1].item() == 1.0
    assert func.grad(lambda x: x * func.grad(lambda y: x + y)(wisp.tensor(1.0)))(wisp.tensor(3.0)).item() == 1.0


def loss(weight, x, target):
    return ((weight @ x).tanh() - target).pow(2).sum()


def test_gradients_per_sample():
    weight, xs, targets = doubles(2, 3), doubles(5, 3, seed=1), doubles(5, 2, seed=2)
    got = func.vmap(func.grad(loss), in_dims=(None, 0, 0))(weight, xs, targets)
    close(got, wisp.stack([func.grad(loss)(weight, x, t) for x, t in zip(xs, targets)]))


def test_gradients_per_sample_of_a_module():
    wisp.manual_seed(0)
    model = wisp.nn.Sequential(
        wisp.nn.Linear(3, 4), wisp.nn.LayerNorm(4), wisp.nn.GELU(), wisp.nn.Linear(4, 2)
    ).double()
    params = {name: p.detach() for name, p in model.named_parameters()}
    xs, targets = doubles(6, 3), wisp.tensor([0, 1, 1, 0, 1, 0])

    def one(p, x, t):
        return wisp.nn.functional.cross_entropy(func.functional_call(model, p, (x[None],)), t[None])

    per_sample = func.vmap(func.grad(one), in_dims=(None, 0, 0))(params, xs, targets)
    for name in params:
        close(per_sample[name], wisp.stack([func.grad(one)(params, x, t)[name] for x, t in zip(xs, targets)]))
    total = func.grad(lambda p: sum(one(p, x, t) for x, t in zip(xs, targets)))(params)
    for name in params:
        close(per_sample[name].sum(0), total[name])


def test_vmap_inside_and_outside_of_grad():
    weight, xs = doubles(3), doubles(5, 3, seed=1)
    outside = func.grad(lambda w: func.vmap(lambda x: (w * x).sin().sum())(xs).sum())(weight)
    inside = func.vmap(func.grad(lambda w, x: (w * x).sin().sum()), in_dims=(None, 0))(weight, xs).sum(0)
    close(outside, inside)


def test_vmap_nested_with_dimensions():
    x, y = doubles(3, 4), doubles(5, 4, seed=1)
    table = func.vmap(func.vmap(wisp.dot, in_dims=(None, 0)), in_dims=(0, None))(x, y)
    close(table, x @ y.T)
    close(func.vmap(lambda a: a * 2, in_dims=1, out_dims=-1)(x), x * 2)
    pair = func.vmap(lambda d: (d["a"] + d["b"], d["a"].sum()), in_dims=({"a": 0, "b": None},))({"a": x, "b": y[0]})
    close(pair[0], x + y[0])
    close(pair[1], x.sum(1))
    close(func.vmap(lambda a: a.sin(), chunk_size=2)(x), x.sin())


def test_grad_sees_what_is_tracked_outside():
    weight = doubles(3).requires_grad_()
    xs = doubles(4, 3, seed=1)
    inner = func.vmap(func.grad(lambda x: (weight * x * x).sum()))(xs)
    inner.sum().backward()
    close(weight.grad, 2 * xs.sum(0))
    assert not func.grad(lambda x: (x * x).sum())(xs[0]).requires_grad


def test_writes_in_place():
    def write(x):
        y = x.clone()
        y[0] = y[1] * 3
        y.mul_(2)
        y[1:].add_(x[:-1])
        return y

    x, v = doubles(3), doubles(3, seed=1)
    jacobian = func.jacrev(write)(x)
    close(func.jvp(write, (x,), (v,))[1], jacobian @ v)
    close(func.vmap(write)(wisp.stack([x, v])), wisp.stack([write(x), write(v)]))

    def fill(x):
        z = wisp.zeros(3, dtype=x.dtype)
        view = z[1:]
        z[1] = x[0] * x[1]
        return z * 2 + view.sum()

    close(func.jvp(fill, (x,), (v,))[1], func.jacrev(fill)(x) @ v)


def test_forward_mode_by_hand():
    x, v = doubles(3), doubles(3, seed=1)
    with fw.dual_level():
        dual = fw.make_dual(x, v)
        value, tangent = fw.unpack_dual(dual.sin())
        assert fw.unpack_dual(dual.detach()).tangent is None
        assert fw.unpack_dual(x).tangent is None
        with pytest.raises(RuntimeError, match="Nested"):
            fw.enter_dual_level()
    close(value, x.sin())
    close(tangent, x.cos() * v)
    assert fw.unpack_dual(dual).tangent is None
    with pytest.raises(RuntimeError, match="no level exists"):
        fw.make_dual(x, v)


def test_reverse_over_forward():
    x, v = doubles(3).requires_grad_(), doubles(3, seed=1)
    with fw.dual_level():
        tangent = fw.unpack_dual(fw.make_dual(x, v).pow(3)).tangent
        (grad,) = wisp.autograd.grad(tangent.sum(), x)
    close(grad, 6 * x.detach() * v)
    with fw.dual_level():
        out = fw.make_dual(x, v).pow(3).sum()
    out.backward()
    close(x.grad, 3 * x.detach() ** 2)


def test_products_with_jacobians():
    x, v = doubles(3), doubles(3, seed=1)
    jacobian = functional.jacobian(lambda x: x.sin() * x.sum(), x)
    close(functional.vjp(lambda x: x.sin() * x.sum(), x, v)[1], v @ jacobian)
    close(functional.jvp(lambda x: x.sin() * x.sum(), x, v)[1], jacobian @ v)
    for options in ({"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}):
        close(functional.jacobian(lambda x: x.sin() * x.sum(), x, **options), jacobian)
    hessian = functional.hessian(curve, x)
    close(functional.vhp(curve, x, v)[1], v @ hessian)
    close(functional.hvp(curve, x, v)[1], hessian @ v)
    both = functional.hessian(lambda a, b: (a * b).sum(), (x, v))
    close(both[0][1], wisp.eye(3, dtype=wisp.float64))
    close(functional.hessian(curve, x, outer_jacobian_strategy="forward-mode", vectorize=True), hessian)


def test_argnums_and_aux():
    f = lambda a, b: ((a * b).sum(), {"sum": a + b})
    a, b = doubles(2), doubles(2, seed=1)
    grads, aux = func.grad(f, argnums=(0, 1), has_aux=True)(a, b)
    close(grads[0], b)
    close(grads[1], a)
    close(aux["sum"], a + b)
    value, (ga, _) = func.value_and_grad(lambda a, b: (a * b).sum(), argnums=(0, 1))(a, b)
    close(value, (a * b).sum())
    close(ga, b)
    _, pull = func.vjp(lambda a, b: (a * b, a.sum()), a, b)
    close(pull((wisp.ones_like(a), wisp.tensor(1.0, dtype=wisp.float64)))[0], b + 1)
    blocks = func.jacrev(lambda a, b: a * b, argnums=(0, 1))(a, b)
    close(blocks[0], b.diag())
    close(func.jacfwd(lambda a, b: a * b, argnums=1)(a, b), a.diag())


def test_batched_gradients():
    x = doubles(3).requires_grad_()
    y = x.sin() * x.sum()
    rows = wisp.eye(3, dtype=wisp.float64)
    (got,) = wisp.autograd.grad(y, x, rows, is_grads_batched=True)
    close(got, functional.jacobian(lambda x: x.sin() * x.sum(), x.detach()))


def test_ensembles():
    models = [wisp.nn.Linear(3, 2) for _ in range(4)]
    params, buffers = func.stack_module_state(models)
    x = wisp.randn(5, 3)
    got = func.vmap(lambda p, b, x: func.functional_call(models[0], (p, b), (x,)), in_dims=(0, 0, None))(
        params, buffers, x
    )
    close(got, wisp.stack([m(x) for m in models]), 1e-5)


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda x: func.vmap(lambda a: a.item())(x[:, 0]), RuntimeError, "vmap: item"),
        (lambda x: func.vmap(lambda a: a if a.sum() > 0 else -a)(x), RuntimeError, "vmap: item"),
        (lambda x: func.vmap(lambda a: wisp.rand(2) + a.sum())(x), RuntimeError, "randomness"),
        (lambda x: func.vmap(lambda a: wisp.zeros(2).add_(a.sum()))(x), RuntimeError, "that they share"),
        (lambda x: func.vmap(lambda a: 3)(x), ValueError, "must only return Tensors"),
        (lambda x: func.vmap(lambda a, b: a + b)(x, x[0]), ValueError, "same size"),
        (lambda x: func.vmap(lambda a: a, in_dims=5)(x), ValueError, "in_dim"),
        (lambda x: func.vmap(lambda a: a, in_dims=None)(x), ValueError, "in_dims"),
        (lambda x: func.vmap(lambda a: a, out_dims=4)(x), IndexError, "out of range"),
        (lambda x: func.grad(lambda a: a)(x), RuntimeError, "scalar"),
        (lambda x: func.grad(lambda a: 1.0)(x), RuntimeError, "Tensor"),
        (lambda x: func.grad(lambda a: a.sum(), argnums=3)(x), RuntimeError, "argnum"),
        (lambda x: func.jvp(lambda a: a, (x,), (x[0],)), RuntimeError, "shape"),
        (lambda x: func.jvp(lambda a: a, x, x), RuntimeError, "tuple"),
        (lambda x: functional.jvp(lambda a: a, x), RuntimeError, "None"),
        (lambda x: func.functional_call(wisp.nn.Linear(2, 2), {"no.thing": x}, x), AttributeError, "`no`"),
        (
            lambda x: func.functional_call(wisp.nn.Linear(2, 2), {"in_features": x}, x),
            TypeError,
            "in_features is neither",
        ),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call(wisp.ones(3, 2))
    assert func.grad(lambda a: a.sum())(wisp.ones(2)).tolist() == [1.0, 1.0]  # nothing is left behind


def test_randomness():
    x = wisp.zeros(4, 3)
    draw = lambda a: a + wisp.rand(3)
    same = func.vmap(draw, randomness="same")(x)
    different = func.vmap(draw, randomness="different")(x)
    assert bool((same == same[0]).all())
    assert not bool((different == different[0]).all())
    dropped = func.vmap(lambda a: wisp.nn.functional.dropout(a + 1), randomness="different")(wisp.zeros(4, 100))
    assert not bool((dropped == dropped[0]).all())


def test_a_sample_that_escapes_is_refused():
    kept = []
    func.vmap(lambda a: kept.append(a) or a * 2)(wisp.ones(3))
    with pytest.raises(RuntimeError, match="vmap"):
        func.vmap(lambda a: a + kept[0])(wisp.ones(3))


def test_custom_function_under_transforms():
    class Cube(wisp.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 3 * x**2 * grad

    xs = doubles(4)
    close(func.vmap(func.grad(Cube.apply))(xs), 3 * xs**2)


def test_reverse_mode_over_batched_forward_mode():
    x, directions = doubles(3), wisp.eye(3, dtype=wisp.float64)

    def trace(x):
        push = lambda v: func.jvp(lambda y: y.sin() * y.exp().sum(), (x,), (v,))[1]
        return (func.vmap(push)(directions) ** 2).sum()

    want = func.grad(
        lambda x: (functional.jacobian(lambda y: y.sin() * y.exp().sum(), x, create_graph=True) ** 2).sum()
    )(x)
    close(func.grad(trace)(x), want)
    batched = lambda x: func.vmap(lambda a: func.jvp(wisp.exp, (a,), (a,))[1])(x).sum()
    close(func.grad(batched)(x), (1 + x) * x.exp())


def test_custom_function_in_forward_mode():
    class Square(wisp.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.save_for_forward(x)
            ctx.factor = factor
            return factor * x * x

        @staticmethod
        def jvp(ctx, tangent, _):
            (x,) = ctx.saved_tensors
            return 2 * ctx.factor * x * tangent + 100  # a rule of its own, not the true derivative

    x, v = doubles(3), doubles(3, seed=1)
    close(func.jvp(lambda x: Square.apply(x, 3), (x,), (v,))[1], 6 * x * v + 100)
    with pytest.raises(NotImplementedError, match="jvp"):

        class Plain(wisp.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

        func.jvp(Plain.apply, (x,), (v,))


def test_the_guide_and_the_docstrings():
    for page in (pathlib.Path(__file__).parent.parent / "docs").glob("transforms.md"):
        text = page.read_text().replace("```", "\n")
        guide = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
        assert doctest.DocTestRunner().run(guide).failed == 0
    for module in (wisp.func._vmap, wisp.func._derivatives, fw):
        assert doctest.testmod(module).failed == 0


def test_gradcheck_of_forward_mode():
    x, y = doubles(3).requires_grad_(), doubles(3, seed=1).requires_grad_()
    options = {"check_forward_ad": True, "check_batched_forward_grad": True}
    assert wisp.autograd.gradcheck(lambda a, b: (a.sin() * b, a.sum()), (x, y), **options)
    z = wisp.complex(doubles(2), doubles(2, seed=1)).requires_grad_()
    assert wisp.autograd.gradcheck(lambda a: (a * a, abs(a)), (z,), **options)
    assert wisp.autograd.gradgradcheck(lambda a, b: a.exp() * b, (x, y), check_fwd_over_rev=True)

    class Wrong(wisp.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

        @staticmethod
        def jvp(ctx, tangent):
            return tangent * 3

    with pytest.raises(wisp.autograd.gradcheck.__globals__["GradcheckError"], match="mismatch"):
        wisp.autograd.gradcheck(Wrong.apply, (x,), check_forward_ad=True)
    with pytest.raises(ValueError, match="check_forward_ad"):
        wisp.autograd.gradcheck(Wrong.apply, (x,), check_batched_forward_grad=True)


def test_layers_are_differentiated_forwards_over_backwards():
    """Rules that use a kernel of their own must not lose tangents."""
    wisp.manual_seed(0)
    x = doubles(2, 4, 3)
    for layer in (wisp.nn.LayerNorm(3), wisp.nn.GroupNorm(2, 4), wisp.nn.BatchNorm1d(4, track_running_stats=False)):
        layer.double()

        def energy(x, layer=layer):
            return (layer(x).sin() ** 2).sum()

        close(func.hessian(energy)(x), functional.hessian(energy, x), 1e-7)


PLACES = wisp.tensor([0, 2, 2])
PICKS = {
    "gather": lambda x: x.gather(0, PLACES),
    "index": lambda x: x[PLACES],
    "mask": lambda x: x[wisp.tensor([True, False, True, True])],
    "take": lambda x: wisp.take(x, PLACES),
    "index_select": lambda x: x.index_select(0, PLACES),
    "embedding_bag": lambda x: F.embedding_bag(PLACES[:2] // 2, x.reshape(2, 2), wisp.tensor([0])).flatten(),
    "sort": lambda x: x.sort().values,
    "topk": lambda x: x.topk(2).values,
    "kthvalue": lambda x: x.kthvalue(2, 0).values.reshape(1),
    "median": lambda x: x.reshape(2, 2).median(0).values,
    "multi_margin_loss": lambda x: F.multi_margin_loss(x.reshape(2, 2), wisp.tensor([0, 1]), reduction="none"),
}


@pytest.mark.parametrize("name", PICKS)
def test_gradients_of_picked_elements_in_a_batch(name):
    """Rules that put gradients back into zeros do so for every sample of a batch of gradients, or of inputs."""
    f = PICKS[name]
    x = wisp.tensor([1.0, 3.0, 2.0, 0.5], dtype=wisp.float64, requires_grad=True)
    y = f(x)
    weights = wisp.randn(3, *y.shape, dtype=wisp.float64)
    (together,) = wisp.autograd.grad(y, x, weights, is_grads_batched=True, retain_graph=True)
    one_by_one = [wisp.autograd.grad(y, x, w, retain_graph=True)[0] for w in weights]
    wisp.testing.assert_close(together, wisp.stack(one_by_one))
    start = x.detach()
    wisp.testing.assert_close(func.jacrev(f)(start), func.jacfwd(f)(start))
    batch = wisp.stack([start, 2 * start - 1])
    slope = func.grad(lambda t: (f(t) ** 2).sum())
    wisp.testing.assert_close(func.vmap(slope)(batch), wisp.stack([slope(t) for t in batch]))


def test_gradients_of_elements_picked_at_places_of_a_batch():
    x = wisp.arange(4.0)
    places = wisp.tensor([[0, 1], [3, 3]])
    slopes = func.vmap(func.grad(lambda t, at: t[at].sum()), in_dims=(None, 0))(x, places)
    assert slopes.tolist() == [[1, 1, 0, 0], [0, 0, 0, 2]]


def test_gradients_of_determinants_in_a_batch():
    """Regular and singular matrices side by side: the rule cannot ask which is which, and steps aside of the singular."""
    a = wisp.stack([doubles(3, 3), wisp.tensor([[1.0, 2, 3], [2, 4, 6], [0, 1, 5]], dtype=wisp.float64)])
    slope = func.grad(wisp.linalg.det)
    regular, singular = func.vmap(slope)(a)
    close(regular, slope(a[0]))
    cofactors = wisp.tensor([[14.0, -10, 2], [-7, 5, -1], [0, 0, 0]], dtype=wisp.float64)
    assert (singular - cofactors).abs().max() < 1e-4


def test_functional_call_leaves_replaced_members_in_the_dict():
    """What forward() assigns belongs to the caller; a further tensor is a parameter only if it is one."""

    class Counter(wisp.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", wisp.zeros(1))

        def forward(self, x):
            self.count = self.count + 1
            return x + self.count, [name for name, _ in self.named_parameters()]

    module, state = Counter(), {"count": wisp.tensor([2.0]), "extra": wisp.ones(1)}
    result, names = func.functional_call(module, state, (wisp.zeros(1),))
    assert result == 3 and names == [] and state["count"] == 3 and module.count == 0 and not hasattr(module, "extra")
    _, names = func.functional_call(module, {"extra": wisp.nn.Parameter(wisp.ones(1))}, (wisp.zeros(1),))
    assert names == ["extra"] and module.count == 1 and not hasattr(module, "extra")


@pytest.mark.parametrize("tracked", [False, True])
def test_tangents_of_what_all_samples_share(tracked):
    """Also of operators whose tangents come from their gradients."""
    x, shared = wisp.randn(3, 5, dtype=wisp.float64), wisp.rand(5, dtype=wisp.float64).requires_grad_(tracked)

    def norm(x, weight):
        return wisp.nn.functional.layer_norm(x, (5,), weight)

    def solve(x, diagonal):
        return wisp.linalg.solve(wisp.diag_embed(diagonal), x)

    for function in (norm, solve):

        def tangent(x, shared, function=function):
            return func.jvp(function, (x, shared), (x, 2 * shared))[1]

        found = func.vmap(tangent, in_dims=(0, None))(x, shared)
        wanted = wisp.stack([tangent(row, shared) for row in x])
        assert wisp.allclose(found, wanted)
        for i in range(3 if tracked else 0):
            ways = [wisp.autograd.grad(t.sin().sum(), shared, retain_graph=True)[0] for t in (found[i], wanted[i])]
            assert wisp.allclose(*ways)
