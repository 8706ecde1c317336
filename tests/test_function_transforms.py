"""Functions of users inside vmap(), differentiated inside of it, outside of it, and both."""

import pytest

import wisp
from wisp import nn
from wisp.func import grad, jvp, vmap


class Scale(wisp.autograd.Function):
    """weight * x**2 and x, with derivatives of their own."""

    @staticmethod
    def forward(ctx, weight, x, power=2):
        ctx.save_for_backward(weight, x)
        return weight * x**power, x.clone()

    @staticmethod
    def backward(ctx, first, second):
        weight, x = ctx.saved_tensors
        return first * x**2, 2 * first * weight * x + second, None


class Square(wisp.autograd.Function):
    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return 2 * x * tangent


def numbers(*shape):
    return wisp.arange(1.0, 1 + wisp.Size(shape).numel(), dtype=wisp.float64).reshape(shape) / 3


def test_gradients_outside_of_vmap():
    x, weight = numbers(4, 3).requires_grad_(), numbers(3).requires_grad_()
    scaled, same = vmap(Scale.apply, in_dims=(None, 0))(weight, x)
    assert wisp.allclose(scaled, weight * x**2) and wisp.equal(same, x)
    (scaled.sum() + 3 * same.sum()).backward()
    assert wisp.allclose(x.grad, (2 * weight * x + 3).detach())
    assert wisp.allclose(weight.grad, (x**2).sum(0).detach())


def test_only_what_all_samples_share_has_gradients():
    weight = numbers(3).requires_grad_()
    vmap(Scale.apply, in_dims=(None, 0))(weight, numbers(4, 3))[0].sum().backward()
    assert wisp.allclose(weight.grad, (numbers(4, 3) ** 2).sum(0))


@pytest.mark.parametrize("call", [Square.apply, lambda x: Scale.apply(wisp.ones((), dtype=x.dtype), x)[0]])
def test_every_order_of_transforms(call):
    x = numbers(4)
    assert wisp.allclose(vmap(grad(call))(x), 2 * x)
    assert wisp.allclose(grad(lambda x: vmap(call)(x).sum())(x), 2 * x)
    assert wisp.allclose(grad(lambda x: vmap(lambda s: call(3 * s))(x).sum())(x), 18 * x)
    assert wisp.allclose(grad(lambda x: vmap(grad(call))(x).sum())(x), wisp.full_like(x, 2))
    assert wisp.allclose(grad(lambda x: vmap(grad(lambda s: s * call(s)))(x).sum())(x), 6 * x)
    assert wisp.allclose(vmap(grad(lambda row: vmap(call)(row).sum()))(numbers(2, 3)), 2 * numbers(2, 3))
    assert wisp.allclose(grad(lambda m: vmap(vmap(call))(m).sum())(numbers(2, 3)), 2 * numbers(2, 3))


def test_tangents_and_gradients_together():
    x = numbers(3)

    def slopes(x):
        return vmap(lambda s: jvp(Square.apply, (s,), (wisp.ones_like(s),))[1])(x)

    assert wisp.allclose(slopes(x), 2 * x)
    assert wisp.allclose(grad(lambda x: slopes(x).sum())(x), wisp.full_like(x, 2))


def test_samples_need_not_lie_along_the_first_dimension():
    m = numbers(2, 3)
    found = grad(lambda m: (vmap(Square.apply, in_dims=1, out_dims=1)(m) * m).sum())(m)
    assert wisp.allclose(found, 3 * m**2)


def test_nothing_is_computed_twice_without_need():
    calls = []

    class Counted(Square):
        @staticmethod
        def forward(x):
            calls.append(x.shape)
            return x * x

    vmap(Counted.apply)(numbers(5, 2))
    assert calls == [(2,)]
    with wisp.no_grad():
        vmap(Counted.apply)(numbers(5, 2).requires_grad_())
    assert calls == [(2,)] * 2
    assert vmap(Counted.apply)(numbers(0, 2).requires_grad_()).shape == (0, 2)


asked = []  # of rules for batches


class ByNumPy(Square):
    """Cannot be called on samples, so it says how to treat a batch."""

    @staticmethod
    def forward(x):
        return wisp.from_numpy(x.detach().numpy() ** 2)

    @staticmethod
    def vmap(info, in_dims, x):
        asked.append((info.batch_size, info.randomness, in_dims))
        return ByNumPy.apply(x), in_dims[0]


def test_functions_may_have_a_rule_of_their_own():
    x = numbers(3)
    asked.clear()
    assert wisp.allclose(vmap(ByNumPy.apply, randomness="same")(x), x**2)
    assert wisp.allclose(grad(lambda x: vmap(ByNumPy.apply)(x).sum())(x), 2 * x)
    assert wisp.allclose(vmap(grad(ByNumPy.apply))(x), 2 * x)
    assert asked == [(3, "same", (0,)), (3, "error", (0,)), (3, "error", (0,))]


def test_rules_say_where_samples_lie():
    class Sums(Scale):
        @staticmethod
        def vmap(info, in_dims, weight, x):
            assert in_dims == (None, 0)
            return (weight * x.sum(0), x.t()), (None, 1)

    x = numbers(4, 3)
    total, same = vmap(Sums.apply, in_dims=(None, 0), out_dims=(None, 0))(numbers(3), x)
    assert wisp.allclose(total, numbers(3) * x.sum(0)) and wisp.equal(same, x)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"generate_vmap_rule": True}, "both generate_vmap_rule=True and a vmap"),
        ({"vmap": staticmethod(lambda info, in_dims, x: x)}, "vmap staticmethod of Wrong to return its results and"),
    ],
)
def test_wrong_rules(settings, message):
    with pytest.raises(RuntimeError, match=message):
        vmap(type("Wrong", (ByNumPy,), settings).apply)(numbers(2))


def test_what_a_context_offers_is_documented_with_the_function():
    for name in ("save_for_backward", "mark_dirty", "mark_non_differentiable", "set_materialize_grads"):
        assert callable(getattr(wisp.autograd.Function, name))
    with pytest.raises(RuntimeError, match="should not be instantiated"):
        Square()


def test_hooks_of_modules_inside_vmap():
    layer, seen = nn.Linear(2, 1).double(), []
    layer.register_full_backward_hook(lambda module, grad_input, grad_output: seen.append(len(grad_input)))
    weights = {name: param.detach() for name, param in layer.named_parameters()}

    def loss(weights, x):
        return wisp.func.functional_call(layer, weights, x).pow(2).sum()

    x = numbers(3, 2)
    together = grad(lambda w: vmap(loss, in_dims=(None, 0))(w, x).sum())(weights)
    one_by_one = [grad(loss)(weights, sample) for sample in x]
    for name in weights:
        assert wisp.allclose(together[name], sum(found[name] for found in one_by_one))
    assert seen
