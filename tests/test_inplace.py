"""In-place operations under autograd: what is allowed, what is an error, and what the error says."""

import pathlib
import re

import pytest

import wisp
from wisp.autograd import grad


def leaf(*size):
    return wisp.rand(*size, dtype=wisp.float64).requires_grad_()


def test_the_error_names_operator_shape_and_both_lines():
    x = leaf(2, 3)
    y = x * 2
    z = y.exp()  # forward line
    z.mul_(3)  # write line
    with pytest.raises(RuntimeError) as caught:
        z.sum().backward()
    text = str(caught.value)
    lines = [int(n) for n in re.findall(r"test_inplace.py[\":, line]*(\d+)", text)]
    code = pathlib.Path(__file__).read_text().splitlines()
    assert any("forward line" in code[n - 1] for n in lines), text
    assert any("write line" in code[n - 1] for n in lines), text
    assert "ExpBackward0" in text and "[2, 3]" in text and "mul_" in text


def test_unneeded_values_may_be_overwritten():
    x = leaf(3)
    y = x + 1
    y.mul_(2)  # add needs nothing of its result
    y.sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_writes_count_versions():
    x = wisp.zeros(3)
    assert x._version == 0
    x += 1
    x[0] = 5
    x.view(3).add_(1)
    assert x._version == 3
    assert x.detach()._version == 3


def test_write_through_a_view_reaches_the_base():
    x = leaf(3, 2)
    y = x * 1
    y[0].mul_(10)
    y.sum().backward()
    assert x.grad.tolist() == [[10, 10], [1, 1], [1, 1]]


def test_write_to_the_base_reaches_views():
    x = leaf(4)
    y = x * 1
    v = y[1:3]
    y.mul_(3)
    assert v.grad_fn is not None
    v.sum().backward()
    assert x.grad.tolist() == [0, 3, 3, 0]


def test_assignment_of_tensors_that_require_grad():
    base, value = wisp.zeros(3, 2), leaf(2)
    base[1] = value.float()
    assert base.requires_grad
    (base * wisp.tensor([[1.0], [2.0], [3.0]])).sum().backward()
    assert value.grad.tolist() == [2, 2]


def test_masked_and_indexed_assignment():
    x, value = leaf(4), leaf(2)
    y = x.clone()
    y[y > -1] = 0.0
    y[wisp.tensor([0, 3])] = value
    (y * y).sum().backward()
    assert x.grad.tolist() == [0, 0, 0, 0]
    assert wisp.allclose(value.grad, 2 * value)


@pytest.mark.parametrize(
    "write",
    [
        lambda y, v: y.add_(v),
        lambda y, v: y.mul_(v),
        lambda y, v: y.sub_(v, alpha=2),
        lambda y, v: y.div_(v + 1),
        lambda y, v: y.copy_(v),
        lambda y, v: y.zero_().add_(v),
        lambda y, v: y.t().add_(v.t()),
        lambda y, v: y[1:].mul_(v[1:]),
        lambda y, v: y.select(1, 0).sin_(),
        lambda y, v: y.clamp_(0.2, 0.8),
        lambda y, v: y.diagonal().mul_(3),
        lambda y, v: y.transpose(0, 1)[0].copy_(v[0]),
        lambda y, v: y.masked_fill_(v > 0.5, 2.0),
        lambda y, v: y.lerp_(v, 0.3),
        lambda y, v: y.pow_(2),
        lambda y, v: y.unsqueeze_(0).squeeze_(0).exp_(),
    ],
)
def test_gradients_of_writes(write):
    def f(x, v):
        y = x * 1.5
        write(y, v)
        return y * y

    assert wisp.autograd.gradcheck(f, (leaf(3, 3), leaf(3, 3)))
    assert wisp.autograd.gradgradcheck(f, (leaf(3, 3), leaf(3, 3)))


def test_leaf_views_cannot_be_written():
    x = leaf(3)
    with pytest.raises(RuntimeError, match="leaf"):
        x[0] = 1
    with pytest.raises(RuntimeError, match="leaf"):
        x.view(-1).add_(1)
    with wisp.no_grad():
        x[0] = 1
    assert x[0].item() == 1


def test_one_of_several_views_may_be_written():
    """PyTorch refuses this; here the base and the other views follow as with any view."""

    def f(x):
        y = x * 1.5
        a, b = y.split(2)
        c, _ = y.unbind()[2:]
        a.mul_(x[2:])
        b.exp_()
        return y * y, a * 2, b.sin(), c * 3

    assert wisp.autograd.gradcheck(f, (leaf(4),)) and wisp.autograd.gradgradcheck(f, (leaf(4),))


def test_views_made_without_grad():
    x = leaf(4)
    y = x * 1
    with wisp.no_grad():
        v = y[:2]
    with pytest.raises(RuntimeError, match="no_grad"):
        v.mul_(2)


def test_operands_may_alias():
    x = wisp.arange(5.0)
    x[1:].copy_(x[:-1].clone())
    assert x.tolist() == [0, 0, 1, 2, 3]
    y = wisp.arange(5.0)
    y[1:] += y[:-1]  # overlapping: as if the operands were read first
    assert y.tolist() == [0, 1, 3, 5, 7]
    z = wisp.arange(4.0)
    z.add_(z)
    assert z.tolist() == [0, 2, 4, 6]


def test_expanded_tensors_cannot_be_written():
    with pytest.raises(RuntimeError, match="more than one element"):
        wisp.zeros(1).expand(3).add_(1)


def test_in_place_keeps_shape_and_dtype():
    x = wisp.ones(3)
    with pytest.raises(RuntimeError, match="shape|broadcast"):
        x += wisp.ones(2, 3)
    with pytest.raises(RuntimeError, match="can't be cast"):
        wisp.ones(3, dtype=wisp.int64).add_(0.5)
    assert x.tolist() == [1, 1, 1]


def test_saved_leaf_changed_under_no_grad_is_noticed():
    w = leaf(3)
    y = (w * w).sum()
    with wisp.no_grad():
        w.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        grad(y, w)


def test_composites_in_place_keep_what_their_derivatives_read():
    rrelu = wisp.nn.functional.rrelu

    def writes(x):
        y = x * 2 - 1
        rrelu(y, 0.2, 0.2, training=True, inplace=True)
        return y

    x = leaf(5)
    writes(x).sum().backward()
    assert wisp.allclose(x.grad, wisp.where(x * 2 - 1 > 0, 2.0, 0.4).double())
    y = leaf(3, 3) * 3
    y.renorm_(2, 0, 1.0)
    y.sum().backward()
