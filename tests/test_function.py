"""autograd.Function: operators written in Python."""

import traceback

import pytest

import wisp
from wisp.autograd import Function, gradcheck, gradgradcheck
from wisp.autograd.function import once_differentiable


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 3 * x**2


def double(n=3):
    return wisp.rand(n, dtype=wisp.float64, requires_grad=True)


def test_first_and_second_derivatives():
    assert gradcheck(Cube.apply, double()) and gradgradcheck(Cube.apply, double())


def test_names_in_the_graph():
    y = Cube.apply(double())
    assert type(y.grad_fn).__name__ == "CubeBackward" and "CubeBackward" in repr(y)


def test_no_graph_without_need():
    y = Cube.apply(wisp.rand(3))
    assert not y.requires_grad and y.grad_fn is None
    with wisp.no_grad():
        assert not Cube.apply(double()).requires_grad


def test_other_arguments_and_needs_input_grad():
    class Scale(Function):
        @staticmethod
        def forward(ctx, x, factor, y, *, unused=None):
            ctx.factor = factor
            ctx.needs = ctx.needs_input_grad
            return x * factor + y

        @staticmethod
        def backward(ctx, grad):
            assert ctx.needs_input_grad == (True, False, False)
            return grad * ctx.factor, None, None

    x = double()
    Scale.apply(x, 3.0, wisp.rand(3, dtype=wisp.float64)).sum().backward()
    assert x.grad.tolist() == [3, 3, 3]


def test_several_outputs_and_missing_gradients():
    class Both(Function):
        @staticmethod
        def forward(ctx, x, materialize):
            ctx.set_materialize_grads(materialize)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, first, second):
            Both.seen = None if second is None else second.tolist()
            return first * 2, None

    x = double(2)
    Both.apply(x, True)[0].sum().backward()
    assert Both.seen == [0, 0]
    Both.apply(x, False)[0].sum().backward()
    assert Both.seen is None
    assert x.grad.tolist() == [4, 4]


def test_mark_dirty():
    class AddOne(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.add_(1)

        @staticmethod
        def backward(ctx, grad):
            return grad * 5

    x = double()
    y = x * 1
    z = AddOne.apply(y)
    assert z is y and z._version == 1
    z.sum().backward()
    assert x.grad.tolist() == [5, 5, 5]
    with pytest.raises(RuntimeError, match="leaf"):
        AddOne.apply(double())


def test_mark_non_differentiable():
    class Sort(Function):
        @staticmethod
        def forward(ctx, x):
            values, indices = x.sort()
            ctx.mark_non_differentiable(indices)
            ctx.save_for_backward(indices)
            return values, indices

        @staticmethod
        def backward(ctx, grad, _):
            (indices,) = ctx.saved_tensors
            return wisp.zeros_like(grad).scatter(0, indices, grad)

    x = wisp.tensor([3.0, 1.0, 2.0], requires_grad=True)
    values, indices = Sort.apply(x)
    assert values.requires_grad and not indices.requires_grad
    (values * wisp.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert x.grad.tolist() == [3, 1, 2]


def test_once_differentiable():
    class Once(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * 2 * x

    x = double()
    (g,) = wisp.autograd.grad(Once.apply(x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable|does not require grad"):
        g.sum().backward()


def test_an_input_returned_as_it_is():
    class Same(Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 7

    x = double()
    y = Same.apply(x)
    assert y is not x
    y.sum().backward()
    assert x.grad.tolist() == [7, 7, 7]


def test_errors_keep_their_traceback():
    class Fails(Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            raise LookupError("in backward")

    with pytest.raises(LookupError, match="in backward") as caught:
        Fails.apply(double()).sum().backward()
    assert any("LookupError" in line for line in traceback.format_tb(caught.value.__traceback__))


@pytest.mark.parametrize(
    "result, error",
    [((1,), "Tensor|type"), ((wisp.ones(3), wisp.ones(3)), "number of gradients"), (wisp.ones(5), "shape|size")],
)
def test_wrong_results_of_backward(result, error):
    class Bad(Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return result

    with pytest.raises((RuntimeError, TypeError), match=error):
        Bad.apply(double()).sum().backward()


def test_saved_tensors_are_watched_and_freed():
    x = double()
    y = x * 1
    z = Cube.apply(y)
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()
    z = Cube.apply(x)
    z.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        z.sum().backward()


def test_only_tensors_can_be_saved():
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(3)
            return x.clone()

    with pytest.raises(TypeError, match="save_for_backward"):
        Wrong.apply(double())


def test_setup_context():
    class Square(Function):
        @staticmethod
        def forward(x):
            return x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * 2 * x

    assert gradcheck(Square.apply, double()) and gradgradcheck(Square.apply, double())


def test_instances_are_refused():
    with pytest.raises((RuntimeError, TypeError)):
        Cube()(double())


def test_gradients_of_outputs_that_have_none():
    """Of an output marked as not differentiable, backward is given zeros as of any other that nobody used."""

    class Both(Function):
        @staticmethod
        def forward(ctx, x):
            place = x.argmax(0)
            kept, other = x + 1, x * 2
            ctx.mark_non_differentiable(kept, place)
            return kept, other, place

        @staticmethod
        def backward(ctx, grad_kept, grad_other, grad_place):
            assert grad_kept.tolist() == [0.0, 0.0] and grad_place.tolist() == 0
            return grad_other * 2

    x = wisp.ones(2, requires_grad=True)
    kept, other, place = Both.apply(x)
    assert not kept.requires_grad and not place.requires_grad
    other.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_setup_context_is_told_arguments_left_out():
    class Power(Function):
        @staticmethod
        def forward(x, exponent=3):
            return x**exponent

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, ctx.exponent = inputs
            ctx.save_for_backward(x)

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * ctx.exponent * x ** (ctx.exponent - 1), None

    x = wisp.tensor(2.0, requires_grad=True)
    assert wisp.autograd.grad(Power.apply(x), x)[0] == 12
    assert wisp.autograd.grad(Power.apply(x, 2), x)[0] == 4


def test_tangents_of_arguments_that_have_none():
    """They are zeros, unless those are not wanted; arguments that are not tensors have None."""
    seen = []

    class Product(Function):
        @staticmethod
        def forward(ctx, x, y, factor, zeros):
            ctx.set_materialize_grads(zeros)
            ctx.save_for_forward(x, y)
            return x * y * factor

        @staticmethod
        def jvp(ctx, x, y, factor, zeros):
            seen.append((y, factor, zeros))
            return x * ctx.saved_tensors[1]

    for zeros in (True, False):
        wisp.func.jvp(lambda x: Product.apply(x, wisp.ones(2), 3, zeros), (wisp.ones(2),), (wisp.ones(2),))
    assert seen[0][0].tolist() == [0.0, 0.0] and seen[0][1:] == (None, None) and seen[1] == (None, None, None)


def test_two_derivatives_are_one_too_many():
    class Twice(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            return grad

        @staticmethod
        def vjp(ctx, grad):
            return grad

    with pytest.raises(RuntimeError, match="both 'backward' and 'vjp'"):
        Twice.apply(wisp.ones(1, requires_grad=True)).backward()
