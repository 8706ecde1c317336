"""Views, memory formats, writes in place and what they may overlap with."""

import pytest

import wisp
from tests import expressions

CASES = """
L.ones(2, 3, 4, 4).contiguous(memory_format=L.channels_last).stride()
L.ones(2, 3, 4, 4).contiguous(memory_format=L.channels_last).is_contiguous()
L.ones(2, 3, 4, 4).contiguous(memory_format=L.channels_last).is_contiguous(memory_format=L.channels_last)
L.ones(2, 3, 4, 4).to(memory_format=L.channels_last).mul(2).stride()
(L.ones(2, 3, 4, 4).to(memory_format=L.channels_last) + L.ones(4)).stride()
L.ones(2, 3, 4, 4).to(memory_format=L.channels_last).clone().stride()
L.ones(2, 3, 4, 4).to(memory_format=L.channels_last).clone(memory_format=L.contiguous_format).stride()
L.ones(2, 3, 4, 4).to(memory_format=L.channels_last).double().stride()
L.ones(2, 3, 4, 4).to(memory_format=L.channels_last).sum(0).stride()
L.ones(2, 3, 4, 4, 4).contiguous(memory_format=L.channels_last_3d).stride()
L.ones(2, 3).contiguous(memory_format=L.channels_last)
L.ones(2, 1, 4, 4).is_contiguous(memory_format=L.channels_last)
L.ones(2, 3, 1, 1).is_contiguous(memory_format=L.channels_last)
L.ones(2, 3, 4, 4).to(memory_format=L.channels_last).reshape(2, -1).stride()
L.ones(2, 3, 4, 4).to(memory_format=L.channels_last).view(2, -1)
L.as_strided(L.arange(9), (2, 2), (1, 2))
L.as_strided(L.arange(9), (2, 2), (1, 2), 1)
L.as_strided(L.arange(9), (3, 3), (3, 3))
L.as_strided(L.arange(9), (3,), (4,), 1)
L.as_strided(L.arange(9), (3,), (-1,))
L.as_strided(L.arange(9), (3,), (1,), -1)
L.as_strided(L.arange(9), (3,), (1, 2))
L.as_strided(L.arange(9), (-3,), (1,))
L.as_strided(L.arange(9), (0,), (1,), 100)
L.as_strided(L.arange(9), (), (), 8)
L.as_strided(L.arange(9), (), (), 9)
L.as_strided(L.arange(9)[3:], (2,), (1,))
L.as_strided(L.arange(9)[3:], (2,), (1,), 0)
L.as_strided(L.arange(9)[:3], (9,), (1,))
L.as_strided(L.zeros(1), (2**62,), (2**62,))
L.zeros(3).expand(2, 3).add_(1)
L.zeros(3).expand(2, 3).copy_(L.ones(2, 3))
L.zeros(3).expand(2, 3)[0].add_(1)
L.zeros(1, 3).expand(1, 3).add_(1)
L.add(L.ones(3), 1, out=L.zeros(1).expand(3))
(lambda x: x.mul_(x))(L.arange(4))
(lambda x: L.add(x, x, out=x))(L.arange(4))
L.ones(2).add_(L.ones(2, 2))
L.ones(2, 2).add_(L.ones(2))
L.ones(2, dtype=L.int64).add_(1.5)
L.ones(2, dtype=L.int64).div_(2)
L.ones(2, dtype=L.int64).mul_(2)
L.ones(2, dtype=L.bool).add_(1)
L.ones(2).add_(1j)
L.ones(2, requires_grad=True).add_(1)
L.ones(2, requires_grad=True)[0].add_(1)
L.add(L.ones(2), 1, out=L.zeros(2, dtype=L.int64))
L.add(L.ones(2), 1, out=L.zeros(2, dtype=L.float64))
L.add(L.ones(2), 1, out=L.zeros(3))
L.add(L.ones(2, requires_grad=True), 1, out=L.zeros(2))
L.zeros(2).resize_(3).shape
L.zeros(4).resize_(2, 2).shape
L.zeros(4).resize_(-1)
L.zeros(4).resize_('a')
L.arange(4).resize_(2)
L.arange(6).resize_(2, 2)
L.arange(6)[2:].resize_(2)
L.ones(2, requires_grad=True).resize_(3)
L.zeros(2).resize_as_(L.zeros(3, 3)).shape
L.zeros(1, 2).squeeze_().shape
L.zeros(2).unsqueeze_(0).shape
L.zeros(2, 3).t_().shape
L.zeros(2, 3).transpose_(0, 1).shape
L.zeros(2).expand(-1, 2)
L.zeros(2).expand(3, -1).shape
L.zeros(2, 1).expand(2, 0).shape
L.zeros(2, 3).view(3, -1).shape
L.zeros(2, 3).view(-1, -1)
L.zeros(2, 3).view(4)
L.zeros(0).view(-1, 0)
L.zeros(0).view(0, -1)
L.zeros(2, 3).t().view(6)
L.zeros(4).view(L.int32)
L.zeros(4).view(L.int64)
L.zeros(4).view(L.int8).shape
L.zeros(3).view(L.int64)
L.zeros(4, 4)[:, ::2].view(L.int64)
L.tensor(1.).view(L.int8)
L.tensor(1.).view(L.int32)
L.zeros(4)[1:].view(L.int64)
(lambda x: x.contiguous() is x)(L.zeros(2, 3))
(lambda x: x.reshape(2, 3) is x)(L.zeros(2, 3))
(lambda x: x.view(3, 2)._base is x)(L.zeros(2, 3))
(lambda x: x.view(3, 2)[0]._base is x)(L.zeros(2, 3))
(lambda x: x.detach()._base is x)(L.zeros(2, 3))
(lambda x: x.real is x)(L.zeros(2, 3))
L.zeros(2, dtype=L.complex64).imag.stride()
L.zeros(2).imag
(lambda x: [x.zero_(), x._version])(L.zeros(2))
(lambda x: [x[0].zero_(), x._version])(L.zeros(2))
(lambda x: [x.detach().zero_(), x._version])(L.zeros(2))
(lambda x: [x.data.zero_(), x._version])(L.zeros(2))
L.zeros(5)[2:].storage_offset()
L.zeros(5)[2:].untyped_storage().nbytes()
L.zeros(2, 3).stride(-1)
L.zeros(2, 3).stride(2)
L.zeros(2, 3).stride(None)
L.zeros(2, 3).stride(dim=None)
(lambda x: [setattr(x, 'real', 5), setattr(x, 'imag', -2.5), x])(L.zeros(2, dtype=L.complex64))
(lambda x: [setattr(x, 'real', True), x])(L.zeros(2))
setattr(L.zeros(2, dtype=L.complex64), 'real', 'a')
L.zeros(2).set_(L.ones(2, dtype=L.float64).storage())
L.zeros(2).set_(L.ones(2, dtype=L.float64).untyped_storage()).shape
L.zeros(2).set_(L.ones(3).storage())
L.ones(2, dtype=L.int32).type(L.Tensor)
L.zeros(2, 3).index_add(1, L.tensor([0]), L.ones(2, 3))
L.gradient(L.tensor([1., 2., L.inf, -L.inf, L.nan, 5., 6.]))
L.gradient(L.tensor([1., 2., 4., 8., 16.]), spacing=0.5, edge_order=2)
L.gradient(L.tensor([1, 2, 4, 8]), spacing=2)
L.gradient(L.tensor([1., 2., 4., 8.]), spacing=1e39)
L.gradient(L.tensor([[1., 2.], [4., 8.]]), spacing=[2, 1j])
L.zeros(2, 3).size(2)
L.zeros(2, 3).size(dim=1)
L.zeros(()).size(0)
L.zeros(3).mT
L.zeros(2, 3, 4).mT.shape
L.zeros(2, 3, 4).H
L.arange(6.).unfold(0, 3, 2)
L.arange(8)[::2].ravel()
L.arange(4).reshape(2, 2)[:, 1].ravel()
(lambda x: x.ravel().data_ptr() == x.data_ptr())(L.arange(4).reshape(2, 2))
L.swapaxes(L.ones(2, 3), axis0=0, axis1=1)
L.ones(2, 3).swapaxes(axis0=0, axis1=1)
L.arange(6).reshape(2, 3).t().resize_(3, 2)
L.arange(6).reshape(2, 3).t().resize_(3, 2, memory_format=L.contiguous_format)
(lambda x: x.resize_as_(x))(L.arange(6).reshape(2, 3).t())
L.zeros(120).resize_as_(L.ones(2, 3, 4, 5).to(memory_format=L.channels_last), memory_format=L.preserve_format).stride()
L.zeros(120).resize_as_(L.ones(1, 2, 3, 4, 5).to(memory_format=L.channels_last_3d), memory_format=L.preserve_format).stride()
L.zeros(120).resize_as_(L.ones(2, 3, 4, 5).to(memory_format=L.channels_last)).stride()
L.zeros(6).resize_as_(L.ones(2, 3).t(), memory_format=L.preserve_format).stride()
L.arange(6.).unfold(0, 7, 1)
L.arange(6.).unfold(0, 3, 0)
L.ones(2).set_(L.zeros(3))
"""
ORACLES = {"views": expressions.table(CASES)}


@pytest.mark.parametrize("expression", expressions.split(CASES))
def test_as_pytorch(expression):
    expressions.check("views", ORACLES["views"], expression)


VIEWS = {
    "slice": lambda x: x[1:, ::2],
    "select": lambda x: x[1],
    "transpose": lambda x: x.t(),
    "permute": lambda x: x.permute(1, 0),
    "view": lambda x: x.view(2, 6),
    "reshape": lambda x: x.reshape(-1),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "squeeze": lambda x: x[None].squeeze(0),
    "narrow": lambda x: x.narrow(1, 1, 2),
    "diagonal": lambda x: x.diagonal(),
    "as_strided": lambda x: x.as_strided((2, 2), (4, 1), 1),
    "flatten": lambda x: x.flatten(),
    "split": lambda x: x.split(2)[0],
    "chunk": lambda x: x.chunk(2, 1)[1],
    "unbind": lambda x: x.unbind(1)[2],
    "unfold": lambda x: x.unfold(0, 1, 1),
    "movedim": lambda x: x.movedim(0, 1),
    "T": lambda x: x.T,
    "view_as": lambda x: x.view_as(wisp.zeros(4, 3)),
    "unflatten": lambda x: x.unflatten(1, (2, 2)),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_share(name):
    """Views share memory and version with their base, and gradients flow through writes to them."""
    x = wisp.arange(12.0).reshape(3, 4).clone()
    view = VIEWS[name](x)
    assert view._base is x and view._is_view() and view.shares_memory(x)
    assert view.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    version = x._version
    view.fill_(-1)
    assert (x == -1).sum() == view.numel() and x._version == view._version > version
    leaf = wisp.ones(3, 4, requires_grad=True)
    y = leaf * 1
    VIEWS[name](y).mul_(3)
    y.sum().backward()
    assert leaf.grad.sum() == 12 + 2 * view.numel()


def test_overlapping_inputs_are_copied_first():
    """Where an input shares memory with the result, the answer is as if it did not (PyTorch refuses or garbles)."""
    x = wisp.arange(6)
    assert x[1:].add_(x[:-1]).tolist() == [1, 3, 5, 7, 9]
    x = wisp.arange(4).reshape(2, 2)
    assert x.add_(x.t()).tolist() == [[0, 3], [3, 6]]
    x = wisp.arange(1, 5)
    assert x.add_(x[0]).tolist() == [2, 3, 4, 5]
    x = wisp.arange(5)
    wisp.neg(x[:3], out=x[1:4])
    assert x.tolist() == [0, 0, -1, -2, 4]
    x = wisp.arange(6.0).reshape(2, 3)
    wisp.cumsum(x, 1, out=x)
    assert x.tolist() == [[0, 1, 3], [3, 7, 12]]
    x = wisp.tensor([3, 1, 2])
    wisp.sort(x, out=(x, wisp.empty(0, dtype=wisp.int64)))
    assert x.tolist() == [1, 2, 3]


def test_detached():
    """detach() shares memory and version; .data shares memory only."""
    x = wisp.ones(3, requires_grad=True) * 2
    assert x.detach().shares_memory(x) and not x.detach().requires_grad
    x.detach().fill_(3)
    assert x._version == 1
    x.data.fill_(4)
    assert x._version == 1 and x.tolist() == [4, 4, 4]


def test_untracked_views():
    x = wisp.ones(3, requires_grad=True)
    with wisp.no_grad():
        x[0] = 5
        x.add_(1)
    assert x.tolist() == [6, 2, 2] and x.is_leaf
    with pytest.raises(RuntimeError, match="leaf"):
        x[0] = 1
    with pytest.raises(RuntimeError, match="leaf"):
        x.zero_()
    y = x * 2
    z = (y * y).sum()
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()


def test_resize_keeps_contents():
    x = wisp.arange(4)
    x.resize_(2, 3)
    assert x.flatten()[:4].tolist() == [0, 1, 2, 3]
    y = x[0]
    x.resize_(100, 100)
    assert y.tolist() == [0, 1, 2]
    x[:] = 1
    assert x.sum() == 10000


def test_second_derivatives_of_nested_views():
    """The derivative of a slice's derivative is that slice, even of a gradient that lies inside a larger storage."""
    x = wisp.arange(1.0, 5.0).requires_grad_()
    for view in (
        lambda t: t[1:][:2],
        lambda t: t[2:][0],
        lambda t: t[1:].unfold(0, 2, 1),
        lambda t: t[2:].reshape(2, 1).diagonal(),
    ):
        y = view(x)
        g = wisp.ones(y.shape, requires_grad=True)
        (grad,) = wisp.autograd.grad(y, x, g, create_graph=True)
        (twice,) = wisp.autograd.grad(grad, g, x.detach())
        assert twice.tolist() == y.tolist()


def test_strided_views_of_expanded_tensors():
    """Places that share an element of memory share its gradient: summed up they have it once."""
    x = wisp.arange(1.0, 4.0).double().requires_grad_()
    y = x.expand(5, 3).as_strided((5, 3), (0, 1), 0)
    y.sum().backward()
    assert x.grad.tolist() == [5.0, 5.0, 5.0]
    for view in (
        lambda t: t.expand(4, 3).as_strided((2, 2), (1, 1), 0),
        lambda t: t.as_strided((2, 2), (1, 1), 0).as_strided((3,), (1,), 0),
        lambda t: t.unfold(0, 2, 1).as_strided((2, 3), (0, 1), 0),
    ):
        assert wisp.autograd.gradcheck(lambda t: view(t * 1) ** 2, (x,))
        assert wisp.autograd.gradgradcheck(lambda t: view(t * 1) ** 3, (x,))


def _parts_written(z, write):
    write(z)
    return wisp.view_as_real(z)


@pytest.mark.parametrize(
    "write",
    [
        lambda t: wisp.view_as_complex(t).mul_(2j).abs(),
        lambda t: (wisp.view_as_complex(t).mul_(2j), t)[1],
        lambda t: (wisp.view_as_complex(t)[1:].mul_(1 + 1j), t.square())[1],
        lambda t: (wisp.view_as_complex(t.t().contiguous().t().contiguous()).mul_(3), t)[1],
        lambda t: _parts_written(wisp.view_as_complex(t) * 1, lambda z: z.real.mul_(3)),
        lambda t: _parts_written(wisp.view_as_complex(t) * 1, lambda z: z.imag[1:].zero_()),
        lambda t: _parts_written(wisp.view_as_complex(t) * 1, lambda z: wisp.view_as_real(z).square_()),
        lambda t: _parts_written(wisp.view_as_complex(t).reshape(3, 1).t() * 1, lambda z: z.real[0, :2].exp_()),
    ],
)
def test_writing_through_views_of_another_kind(write):
    """Complex numbers written as pairs of real ones, and the other way round, in the base and in the view."""
    x = wisp.tensor([[1.0, -2.0], [0.5, 3.0], [-1.5, 0.25]], dtype=wisp.float64, requires_grad=True)
    assert wisp.autograd.gradcheck(lambda t: write(t * 1), (x,))
    assert wisp.autograd.gradgradcheck(lambda t: write(t * 1), (x,))


def test_views_of_another_kind_after_their_base_was_written():
    x = wisp.tensor([1 + 2j, 3 - 1j], dtype=wisp.complex128, requires_grad=True)
    z = x * 1
    parts, real = wisp.view_as_real(z), z.real
    z.mul_(3j)
    (parts * wisp.tensor([1.0, 2.0])).sum().backward(retain_graph=True)
    assert x.grad.tolist() == [6 - 3j, 6 - 3j]
    x.grad = None
    real.sum().backward()
    assert x.grad.tolist() == [-3j, -3j]
    pairs = wisp.ones(2, 2, requires_grad=True)
    base = pairs * 1
    numbers = wisp.view_as_complex(base)
    base.mul_(3)
    with wisp.no_grad():
        node = numbers.grad_fn
    assert node.name() == "ViewAsComplexBackward0"
    numbers.real.sum().backward()
    assert pairs.grad.tolist() == [[3.0, 0.0], [3.0, 0.0]]


def test_dimensions_of_size_one_have_any_stride():
    x = wisp.arange(4.0).as_strided((1, 2), (1, 1))
    assert wisp.view_as_complex(x).tolist() == [1j]
    assert wisp.arange(5).expand(1, 5).stride() == (5, 1)
    assert wisp.arange(5).expand(2, 1, 5).stride() == (0, 5, 1)
