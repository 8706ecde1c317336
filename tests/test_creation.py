"""Making tensors: from Python data, from nothing, from other tensors' memory."""

import numpy as np
import pytest

import wisp
from tests import expressions

CASES = """
L.tensor(3)
L.tensor(3.5)
L.tensor(True)
L.tensor(1j)
L.tensor([])
L.tensor([[]])
L.tensor([[], []])
L.tensor([1, 2.5])
L.tensor([True, 2])
L.tensor([True, 2.5])
L.tensor([1, 2j])
L.tensor((1, (2)))
L.tensor(range(3))
L.tensor([range(2), (3, 4)])
L.tensor([[[1], [2]], [[3], [4]]])
L.tensor([L.tensor(1), L.tensor(2)])
L.tensor([L.tensor(1.5), 2])
L.tensor([L.tensor([1]), L.tensor([2])])
L.tensor([[L.tensor([[1.5]])], [2]])
L.ones(3, out=L.empty(0, dtype=L.uint8))
L.zeros(3, out=L.empty(0, dtype=L.bool))
L.full((3,), 2.5, out=L.empty(0, dtype=L.int64))
L.full((3,), 2, out=L.empty(0, dtype=L.complex64))
L.eye(2, out=L.empty(0, dtype=L.int32))
L.linspace(0, 3, 4, out=L.empty(0, dtype=L.int64))
L.arange(0, 3., out=L.empty(0, dtype=L.int16))
L.empty(3, out=L.empty(0, dtype=L.int16)).dtype
L.rand(3, out=L.empty(0, dtype=L.float64)).dtype
L.arange(3, dtype=L.float64, out=L.empty(0, dtype=L.float64))
L.tensor([np.array([1, 2]), np.array([3, 4])])
L.tensor([np.float32(1), 2])
L.tensor([np.float64(1), 2])
L.tensor([np.int8(1), np.int8(2)])
L.tensor(np.float32(1))
L.tensor(np.float64(1))
L.tensor(np.complex128(1))
L.tensor(np.int8(1))
L.tensor(np.bool_(True))
L.tensor(np.array([1, 2], dtype=np.int32))
L.tensor(np.array([1.5], dtype='>f4'))
L.tensor(np.array(['a']))
L.tensor(np.array([None]))
L.tensor(np.arange(6).reshape(2, 3)[:, ::-1])
L.tensor(np.arange(6).reshape(2, 3).T)
L.tensor(array.array('d', [1, 2]))
L.tensor(memoryview(array.array('i', [1, 2])))
L.tensor(b'abc')
L.tensor(bytearray(b'abc'))
L.tensor((ctypes.c_float * 2)(1, 2))
L.tensor({1, 2})
L.tensor({'a': 1})
L.tensor(x for x in range(3))
L.tensor('abc')
L.tensor(None)
L.tensor([1, None])
L.tensor(object())
L.tensor([[1], [1, 2]])
L.tensor([[1, 2], []])
L.tensor([1, 2], dtype=L.float16)
L.tensor([1, 2], dtype=L.bfloat16)
L.tensor([1.9, -1.9], dtype=L.int64)
L.tensor([0, 2, -1], dtype=L.bool)
L.tensor([-1], dtype=L.uint8)
L.tensor([300], dtype=L.uint8)
L.tensor([300.5], dtype=L.uint8)
L.tensor([-300], dtype=L.uint8)
L.tensor([2**63])
L.tensor([2**63], dtype=L.float64)
L.tensor([2**70], dtype=L.int64)
L.tensor([2**70], dtype=L.float32)
L.tensor([1e300], dtype=L.float32)
L.tensor([float('nan')], dtype=L.int32)
L.tensor(float('inf'), dtype=L.int64)
L.tensor([1j], dtype=L.float32)
L.tensor([1, 2], dtype=float)
L.tensor([1, 2], dtype=bool)
L.tensor([1, 2], dtype=int)
L.tensor([1, 2], dtype='float32')
L.tensor([1, 2], device='cpu')
L.tensor([1, 2], device='foo')
L.tensor([1., 2], requires_grad=True)
L.tensor([1, 2], requires_grad=True)
L.tensor()
L.tensor(1, 2)
L.tensor(data=[1])
L.tensor([1], foo=1)
L.as_tensor([1, 2])
L.as_tensor(np.array([1, 2]))
L.as_tensor(3.0, dtype=L.int32)
L.as_tensor(np.arange(3)[::-1])
L.asarray([1, 2])
L.asarray(np.arange(3), dtype=L.float32)
L.asarray(np.float64(1))
L.asarray(b'ab', dtype=L.uint8)
L.asarray([1, 2], copy=False)
L.scalar_tensor(3)
L.scalar_tensor(3, dtype=L.int64)
L.zeros(2, 3)
L.zeros((2, 3))
L.zeros([2, 3])
L.zeros(L.Size([2, 3]))
L.zeros(())
L.zeros(0)
L.zeros(2, dtype=L.bool)
L.zeros(L.tensor(2))
L.zeros(2, L.tensor(3))
L.zeros(size=(2,))
L.zeros(2.5)
L.zeros('a')
L.zeros((2, 'a'))
L.zeros(-1)
L.zeros(2**62, 2**62)
L.ones(2, dtype=L.complex64)
L.full((2,), 3)
L.full((2,), 3.)
L.full((2,), True)
L.full((2,), 1j)
L.full((2,), L.tensor(4))
L.full((2,), 300, dtype=L.uint8)
L.full((2,), 1e300)
L.full(2, 3)
L.full((2,), 'a')
L.arange(5)
L.arange(5.)
L.arange(1, 5)
L.arange(1, 5, 2)
L.arange(5, 1, -1)
L.arange(0, 1, .25)
L.arange(start=1, end=3)
L.arange(end=3)
L.arange(3, dtype=L.float32)
L.arange(3, dtype=L.bool)
L.arange(5, 1)
L.arange(0)
L.arange(1, 5, 0)
L.arange(L.tensor(3))
L.arange(0, L.tensor(3.))
L.arange(float('nan'))
L.arange(float('inf'))
L.arange(1j)
L.arange(-1)
L.linspace(0, 1, 5)
L.linspace(0, 1, 1)
L.linspace(0, 1, 0)
L.linspace(1, 0, 3)
L.linspace(0, 10, 4, dtype=L.int64)
L.linspace(0, 1, -1)
L.linspace(0, 1j, 3)
L.linspace(0, 1, steps=2.5)
L.logspace(0, 2, 3)
L.logspace(0, 2, 3, base=2)
L.logspace(0, 2, -3)
L.eye(3)
L.eye(2, 3)
L.eye(3, 2, dtype=L.int8)
L.eye(0)
L.eye(-1)
L.eye(2, -1)
L.zeros_like(L.ones(2, dtype=L.int8))
L.zeros_like(L.ones(2), dtype=L.bool)
L.zeros_like([1])
L.ones_like(L.ones(2, 3).t())
L.ones_like(L.ones(2, 3).t(), memory_format=L.contiguous_format)
L.full_like(L.ones(2), 3)
L.full_like(L.ones(2, dtype=L.int8), 300)
L.empty_like(L.ones(2, 3).t()).stride()
L.empty_strided((2, 3), (1, 2)).stride()
L.empty_strided((2, 3), (1,)).stride()
L.empty_strided((2, 3), (-1, 1)).stride()
L.ones(2).new_zeros(3)
L.ones(2).new_zeros((2, 1))
L.ones(2, dtype=L.int8).new_ones(2, 2)
L.ones(2).new_full((2,), 7)
L.ones(2).new_tensor([1, 2])
L.ones(2, dtype=L.int8).new_tensor([1.5, 2])
L.ones(2).new_empty(3).shape
L.FloatTensor([1, 2])
L.LongTensor([1, 2])
L.Tensor([1, 2])
L.Tensor(2, 3).shape
L.Tensor()
L.frombuffer(bytearray(b'abcd'), dtype=L.uint8)
L.frombuffer(bytearray(8), dtype=L.float32)
L.frombuffer(bytearray(8), dtype=L.int64, count=2**60)
L.frombuffer(bytearray(8), dtype=L.float32, offset=4)
L.frombuffer(bytearray(8), dtype=L.float32, count=1)
L.frombuffer(bytearray(8), dtype=L.float32, count=3)
L.frombuffer(bytearray(8), dtype=L.float32, offset=3)
L.frombuffer(bytearray(8), dtype=L.float32, offset=9)
L.frombuffer(bytearray(8), dtype=L.float32, offset=-1)
L.frombuffer(bytearray(0), dtype=L.float32)
L.frombuffer(3, dtype=L.float32)
L.zeros(1).fill_(1e300)
L.zeros(1, dtype=L.uint8).fill_(300)
L.zeros(1, dtype=L.uint8).fill_(-1)
L.zeros(1).fill_(1j)
L.zeros(2).fill_(L.ones(2))
L.empty(2, 3, 4, 4, memory_format=L.channels_last).stride()
L.empty(2, 3, memory_format=L.channels_last)
"""
ORACLES = {"creation": expressions.table(CASES)}


@pytest.mark.parametrize("expression", expressions.split(CASES))
def test_as_pytorch(expression):
    expressions.check("creation", ORACLES["creation"], expression)


def test_copies_and_shares():
    """tensor() copies; as_tensor() and asarray() share where they can."""
    a = np.arange(3.0)
    copied, shared, converted = wisp.tensor(a), wisp.as_tensor(a), wisp.as_tensor(a, dtype=wisp.float32)
    a[0] = 7
    assert copied[0] == 0 and shared[0] == 7 and converted[0] == 0
    shared[1] = 8
    assert a[1] == 8
    t = wisp.ones(2)
    assert wisp.as_tensor(t) is t and wisp.asarray(t) is t
    assert wisp.asarray(t, copy=True).data_ptr() != t.data_ptr()
    grown = wisp.ones(2, requires_grad=True) + 1
    assert wisp.asarray(grown) is grown  # gradients are not lost unless that is asked for
    assert not wisp.asarray(grown, requires_grad=False).requires_grad
    assert wisp.asarray(wisp.ones(2), requires_grad=True).requires_grad
    b = bytearray(4)
    wisp.frombuffer(b, dtype=wisp.uint8)[2] = 9
    assert b[2] == 9


def test_default_dtype():
    wisp.set_default_dtype(wisp.float64)
    assert wisp.tensor(1.5).dtype == wisp.zeros(1).dtype == wisp.arange(1.0).dtype == wisp.float64
    assert wisp.tensor(1j).dtype == wisp.complex128 and wisp.tensor(1).dtype == wisp.int64
    with pytest.raises(TypeError):
        wisp.set_default_dtype(wisp.int64)


def test_nested_depth():
    """At most 64 dimensions; data that contains itself is refused."""
    deep = 1
    for _ in range(64):
        deep = [deep]
    assert wisp.tensor(deep).dim() == 64
    for bad in ([deep], [[deep]]):
        with pytest.raises(ValueError, match="dimensions"):
            wisp.tensor(bad)
    loop = []
    loop.append(loop)
    with pytest.raises(ValueError):
        wisp.tensor(loop)
    with pytest.raises(ValueError):
        wisp.tensor([[1], loop])


def test_copy_construction_warns():
    with pytest.warns(UserWarning, match="copy construct"):
        assert wisp.tensor(wisp.ones(2)).tolist() == [1, 1]


def test_old_constructors_take_arrays_of_any_shape():
    assert wisp.LongTensor(np.arange(6).reshape(2, 3)).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert wisp.FloatTensor(np.array([1.5])).tolist() == [1.5]
    assert wisp.FloatTensor(np.int64(3)).shape == (3,)


@pytest.mark.parametrize("name", ["tril_indices", "triu_indices"])
def test_indices_of_triangles(name):
    """Of all shapes and diagonals, and at once where they are too many or none."""
    make = getattr(wisp, name)
    far = 2**63 - 1
    for rows in range(5):
        for cols in range(5):
            for offset in (-far - 1, *range(-6, 7), far):
                near = max(-6, min(6, offset))
                want = np.array(getattr(np, name)(rows, near, cols)).reshape(2, -1)
                assert make(rows, cols, offset).tolist() == want.tolist(), (rows, cols, offset)
    assert make(2**40, 0).shape == (2, 0) and make(0, 2**40).shape == (2, 0)
    assert make(2**40, 2, -(2**40) + 1 if name == "tril_indices" else 1).shape == (2, 1)
    with pytest.raises(RuntimeError):
        make(2**40, 2**40)


@pytest.mark.parametrize(
    ("bounds", "numbers"),
    [
        ((0.5, 4.7), [0, 1, 2, 3]),
        ((-0.9, 3.5), [0, 1, 2]),
        ((1.9, 4.1, 1.9), [1, 2, 3]),
        ((5.5, 0.2, -1.5), [5, 4, 3, 2, 1]),
    ],
)
def test_ranges_of_integers_with_fractional_bounds(bounds, numbers):
    """Bounds and step lose their fractions before anything is counted."""
    for dtype in (wisp.int64, wisp.uint8):
        assert wisp.arange(*bounds, dtype=dtype).tolist() == numbers
    assert wisp.arange(*bounds, out=wisp.empty(0, dtype=wisp.int32)).tolist() == numbers
    with pytest.raises(RuntimeError, match="nonzero"):
        wisp.arange(1, 4, 0.5, dtype=wisp.int64)


def test_ranges_fill_an_out_of_any_shape():
    for fill, numbers in (
        (lambda out: wisp.arange(6, out=out), [[0, 1, 2], [3, 4, 5]]),
        (lambda out: wisp.range(1, 6, out=out), [[1, 2, 3], [4, 5, 6]]),
        (lambda out: wisp.linspace(0, 10, 6, out=out), [[0, 2, 4], [6, 8, 10]]),
        (lambda out: wisp.logspace(0, 5, 6, base=2, out=out), [[1, 2, 4], [8, 16, 32]]),
    ):
        for out in (wisp.empty(2, 3), wisp.empty(3, 2).t()):
            assert fill(out) is out and out.tolist() == numbers
    with pytest.warns(UserWarning, match="resized"):
        assert wisp.arange(5, out=wisp.empty(2, 3)).shape == (5,)


def test_a_dtype_that_out_does_not_have():
    x = wisp.ones(3, 2)
    for call in (
        lambda **out: wisp.sum(x, 0, **out),
        lambda **out: wisp.cumsum(x, 0, **out),
        lambda **out: wisp.softmax(x, 0, **out),
        lambda **out: wisp.zeros(2, **out),
        lambda **out: wisp.arange(2, **out),
    ):
        with pytest.raises(RuntimeError, match="Expected out tensor to have dtype float64, but got float32"):
            call(dtype=wisp.float64, out=wisp.empty(2))


def test_out_does_not_change_what_is_computed():
    """float16 overflows, whatever the dtype of ``out``."""
    x = wisp.tensor([65504.0], dtype=wisp.float16)
    assert wisp.add(x, x, out=wisp.empty(1)).tolist() == [float("inf")]
    y = wisp.tensor([1.001], dtype=wisp.bfloat16)
    assert wisp.exp(y, out=wisp.empty(1)).tolist() == y.exp().float().tolist()


def test_numbers_rows_and_arrays_may_be_mixed():
    array = np.array
    assert wisp.tensor(((7, array(5)), (array(9), 5.0))).tolist() == [[7.0, 5.0], [9.0, 5.0]]
    assert wisp.tensor([array([1, 2]), [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert wisp.tensor([[1, 2], array([3, 4]), wisp.tensor([5, 6])]).tolist() == [[1, 2], [3, 4], [5, 6]]
    for ragged in ([[1, 2], array([3])], [array([1, 2]), [3]], [1, array([2, 3])], [array([1, 2]), 3]):
        with pytest.raises(ValueError):
            wisp.tensor(ragged)


LAYOUTS = ["sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"]


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts_of_sparse_tensors_can_be_compared_with(name):
    layout = getattr(wisp, name)
    assert repr(layout) == f"wisp.{name}" and isinstance(layout, wisp.layout)
    assert wisp.ones(2).layout != layout and wisp.ones(2).layout == wisp.strided


@pytest.mark.parametrize("name", LAYOUTS)
def test_no_tensor_is_made_sparse(name):
    layout = getattr(wisp, name)
    makers = [wisp.zeros, wisp.rand, wisp.arange, wisp.eye, wisp.hann_window, wisp.tensor(1.0).new_ones]
    for make in makers:
        with pytest.raises(RuntimeError, match=f"all tensors are strided, got layout {name}"):
            make(3, layout=layout)
    with pytest.raises(RuntimeError, match=f"got layout {name}"):
        wisp.ones_like(wisp.ones(2), layout=layout)
    with pytest.raises(ValueError, match=f"strided tensors only, got: wisp.{name}"):
        wisp.signal.windows.hamming(5, layout=layout)


@pytest.mark.parametrize("name", ["linspace", "logspace"])
def test_complex_ends_are_not_cut_to_their_real_parts(name):
    space = getattr(wisp, name)
    for arguments in ({"dtype": wisp.float32}, {"out": wisp.empty(3)}, {"dtype": wisp.int64, "device": "meta"}):
        with pytest.raises(RuntimeError, match=rf"{name}\(\): .* cannot hold complex numbers"):
            space(0, 1j, 3, **arguments)
    assert space(0, 1j, 3).dtype == wisp.complex64
