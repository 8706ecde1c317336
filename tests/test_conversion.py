"""Tensors to other dtypes, Python numbers and lists, NumPy, DLPack, buffers, and back."""

import array
import gc
import warnings
import weakref

import numpy as np
import pytest

import wisp
from tests import expressions

CASES = """
L.ones(2).to(L.int64)
L.ones(2).to('cpu')
L.ones(2).to(L.device('cpu'))
L.ones(2).to('cpu', L.int8)
L.ones(2).to(L.tensor(1))
L.ones(2).to(dtype=L.int8, copy=True)
L.ones(2).to(L.int8, False, True)
L.ones(2).to('cpu', non_blocking=True)
L.ones(2).to('foo')
L.ones(2).to([1])
L.ones(2).to()
L.ones(2).to(None)
L.ones(2).to(bool)
L.ones(2).to(foo=1)
L.ones(2).to(L.int8, L.int16)
(lambda x: x.to(L.float32) is x)(L.ones(2))
(lambda x: x.to(L.float32, copy=True) is x)(L.ones(2))
(lambda x: x.to('cpu') is x)(L.ones(2))
(lambda x: x.float() is x)(L.ones(2))
(lambda x: x.type_as(x) is x)(L.ones(2))
L.ones(2).type()
L.ones(2, dtype=L.bool).type()
L.ones(2).type(L.int8)
L.ones(2).type(L.IntTensor)
L.ones(2).type('foo')
L.ones(2).type(3)
L.tensor([1.7, -1.7]).int()
L.tensor([1.5, 0, float('nan')]).bool()
L.tensor([1 + 2j]).float()
L.tensor([0j, 1j]).bool()
L.tensor([300., -1]).long().byte()
L.tensor([300, -1]).char()
L.tensor([1, 2]).short()
L.tensor([1, 70000]).half()
L.tensor([1.001]).bfloat16()
L.tensor([1, 2]).cfloat()
L.tensor([1, 2]).cdouble()
L.tensor([16777217]).float().long()
L.tensor([1e300], dtype=L.float64).float()
L.ones(2, 2).item()
L.ones(1, 1).item()
L.tensor([]).item()
L.tensor(True).item()
L.tensor(1j).item()
L.ones(2, 2).tolist()
L.tensor(1).tolist()
L.zeros(0, 2).tolist()
L.zeros(2, 0).tolist()
L.ones(2, dtype=L.bfloat16).tolist()
L.arange(6).reshape(2, 3).t().tolist()
L.ones(2).numpy()
L.ones(2, requires_grad=True).numpy()
L.ones(2, requires_grad=True).numpy(force=True)
L.ones(2, dtype=L.bfloat16).numpy()
L.ones(2, 3).t().numpy().strides
L.zeros(2, 0).numpy()
L.tensor(2.5).numpy()
np.asarray(L.ones(2))
np.asarray(L.ones(2), dtype='float64')
np.array(L.ones(2), dtype=int)
np.asarray(L.ones(2, requires_grad=True))
np.asarray([L.tensor(1), L.tensor(2)])
L.from_numpy(np.ones(2))
L.from_numpy([1])
L.from_numpy(np.float64(3))
L.from_numpy(np.arange(3)[::-1])
L.from_numpy(np.ones(2, dtype='>f4'))
L.from_numpy(np.array(['a']))
L.from_numpy(np.array([object()]))
L.from_numpy(np.ones(2, dtype='M8[s]'))
L.from_numpy(np.ones(2, dtype=[('a', 'i4')]))
L.from_numpy(np.zeros((2, 0, 3)))
L.from_numpy(np.array(3))
L.from_numpy(np.arange(6).reshape(2, 3).T)
L.from_numpy(np.broadcast_to(np.arange(3), (2, 3)))
L.from_numpy(np.arange(12)[1::3])
L.from_numpy(np.ones(2, dtype=np.longdouble))
L.from_dlpack(np.arange(3))
L.from_dlpack(L.arange(6).reshape(2, 3).t())
L.from_dlpack(L.tensor([True]))
L.from_dlpack(L.ones(2, dtype=L.bfloat16))
L.from_dlpack(L.ones(2, requires_grad=True))
L.from_dlpack(L.zeros(0, 3))
L.from_dlpack(3)
np.from_dlpack(L.arange(3))
L.utils.dlpack.from_dlpack(L.utils.dlpack.to_dlpack(L.arange(3)))
int(L.tensor(3.9))
int(L.tensor([3]))
int(L.tensor(float('nan')))
int(L.tensor(float('inf')))
int(L.tensor(2 + 0j))
int(L.ones(2))
float(L.tensor(2))
float(L.tensor(1j))
float(L.tensor([1, 2]))
complex(L.tensor(1.5))
bool(L.tensor([[0.]]))
bool(L.tensor(float('nan')))
bool(L.tensor([]))
bool(L.ones(2))
L.tensor(3).__index__()
L.tensor(True).__index__()
L.tensor(3.).__index__()
[1, 2, 3][L.tensor(1)]
list(range(L.tensor(3)))
'%d' % L.tensor(3)
f'{L.tensor(3.14159):.2f}'
format(L.ones(2), '.2f')
L.ones(2).element_size()
L.ones(2).nbytes
L.Size([1, 2]) + (3,)
(1,) + L.Size([2])
L.Size([1, 2])[0:1]
L.Size((2, 3)).numel()
L.Size([1, 2]) * 2
L.Size(['a'])
L.Size([1.5])
L.Size(L.tensor([1, 2]))
L.iinfo(L.int8).max
L.finfo(L.bfloat16).eps
L.float32.itemsize
L.float32.is_floating_point
L.float32.to_complex()
L.complex64.to_real()
str(L.float32)
repr(L.device('cpu', 0))
L.device('cpu:0') == L.device('cpu')
L.device(type='cpu', index=0)
L.device('foo')
"""
ORACLES = {"conversion": expressions.table(CASES)}
DTYPES = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]


@pytest.mark.parametrize("expression", expressions.split(CASES))
def test_as_pytorch(expression):
    expressions.check("conversion", ORACLES["conversion"], expression)


@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_shares_memory(dtype):
    t = wisp.zeros(2, 3, dtype=getattr(wisp, dtype))
    a = t.numpy()
    assert a.dtype == dtype and a.ctypes.data == t.data_ptr()
    a[1, 2] = 1
    assert t[1, 2] == 1
    t[0, 0] = 1
    assert a[0, 0] == 1
    back = wisp.from_numpy(a)
    assert back.data_ptr() == t.data_ptr() and back.dtype == t.dtype
    m = memoryview(t)
    assert m.shape == (2, 3) and m.contiguous and not m.readonly and m.itemsize == t.element_size()


@pytest.mark.parametrize("dtype", DTYPES)
def test_all_conversions(dtype):
    """Every dtype to every other, as NumPy's astype."""
    a = np.array([0, 1, 2, 100]).astype(dtype)
    for other in DTYPES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about imaginary parts
            want = a.astype(other)
        np.testing.assert_array_equal(wisp.tensor(a).to(getattr(wisp, other)).numpy(), want)


def test_lifetimes():
    """Memory lives as long as anybody uses it."""
    a = wisp.arange(1000).numpy()
    m = memoryview(wisp.arange(1000))
    view = wisp.arange(1000)[500:].numpy()
    capsule = wisp.arange(1000).__dlpack__()
    gc.collect()
    junk = [wisp.full((1000,), -1) for _ in range(50)]
    assert a[999] == 999 and m[999] == 999 and view[0] == 500
    assert wisp.from_dlpack(capsule)[999] == 999
    with pytest.raises((RuntimeError, ValueError)):
        wisp.from_dlpack(capsule)  # capsules are used once
    del junk
    source = np.arange(1000)
    alive = weakref.ref(source)
    t = wisp.from_numpy(source)[10:20]
    del source
    gc.collect()
    assert alive() is not None and t[0] == 10
    del t
    gc.collect()
    assert alive() is None
    unused = wisp.arange(3).__dlpack__()
    del unused


def test_read_only_memory():
    """Read-only arrays become tensors that cannot be written."""
    a = np.arange(3)
    a.flags.writeable = False
    with pytest.warns(UserWarning, match="not writable"):
        t = wisp.from_numpy(a)
    for write in (lambda: t.add_(1), lambda: t.fill_(0), lambda: t.__setitem__(0, 5), lambda: wisp.add(a0, a0, out=t)):
        a0 = wisp.ones(3, dtype=wisp.int64)
        with pytest.raises(RuntimeError, match="read-only"):
            write()
    assert t.tolist() == [0, 1, 2] and not t.numpy().flags.writeable
    with pytest.raises((BufferError, ValueError, TypeError)):
        memoryview(t).cast("B")[0] = 1
    b = wisp.frombuffer(b"abc", dtype=wisp.uint8)
    with pytest.raises(RuntimeError, match="read-only"):
        b.zero_()
    assert wisp.tensor(a).add_(1).tolist() == [1, 2, 3]


def test_exported_memory_is_not_resized():
    """A tensor whose memory others use does not move it."""
    t = wisp.arange(4)
    a = t.numpy()
    try:
        t.resize_(100000)
    except RuntimeError:
        pass
    assert a.tolist() == [0, 1, 2, 3]


def test_buffer_protocol():
    t = wisp.arange(6, dtype=wisp.int32).reshape(2, 3)
    assert bytes(t) == t.numpy().tobytes() and array.array("i", t.flatten().tolist()).tolist() == [0, 1, 2, 3, 4, 5]
    assert memoryview(t.t()).strides == (4, 12)
    assert np.frombuffer(t, dtype=np.int32)[5] == 5
    for bad in (wisp.ones(2, dtype=wisp.bfloat16), wisp.ones(2, requires_grad=True)):
        with pytest.raises((BufferError, TypeError)):
            memoryview(bad)
    with pytest.raises((BufferError, ValueError)):
        np.frombuffer(t.t(), dtype=np.int32)


def test_dlpack_between_libraries():
    t = wisp.arange(6.0).reshape(2, 3)
    a = np.from_dlpack(t)
    assert a.ctypes.data == t.data_ptr()
    back = wisp.from_dlpack(np.arange(4).reshape(2, 2)[:, 1:])
    assert back.tolist() == [[1], [3]]
    assert t.__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError):
        wisp.ones(1, requires_grad=True).__dlpack__()


def test_numpy_operators():
    """Arrays next to tensors: results are tensors."""
    x, a = wisp.ones(2), np.array([2.0, 3.0])
    for got in (x + a, x * a, np.float32(2) * x, x * np.float64(2)):
        assert isinstance(got, wisp.Tensor)
    assert (x * a).tolist() == [2, 3] and (x == np.ones(2)).all() and (x != a).all() and not (np.zeros(2) == x).any()
    assert (x * np.float64(2)).dtype == wisp.float32
    y = np.zeros(2)
    y += wisp.ones(2).numpy()
    assert isinstance(np.sin(x), wisp.Tensor) and y.tolist() == [1, 1]
    assert np.add(x.numpy(), x).sum() == 4


def test_history():
    """Conversions between floats are differentiable."""
    x = wisp.ones(3, requires_grad=True)
    y = x.double().half().to(wisp.complex64)
    y.real.sum().backward()
    assert x.grad.tolist() == [1, 1, 1] and x.grad.dtype == wisp.float32
    assert not x.int().requires_grad and x.float() is x


def test_devices_that_are_not_there_have_names_only():
    assert str(wisp.device("cuda:1")) == "cuda:1" and wisp.device("meta").type == "meta"
    assert wisp.device(0) == wisp.device("cuda", 0) != wisp.device("cpu")
    x = wisp.ones(2)
    for use in (
        lambda: wisp.zeros(2, device=wisp.device("cuda")), lambda: x.to("cuda"), lambda: x.cuda(),
        lambda: wisp.device("xla").__enter__(), lambda: wisp.set_default_device("mps"),
        lambda: wisp.nn.Linear(2, 2).to("cuda"), lambda: wisp.Generator(device="cuda"),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match="is not available: wisp computes on the CPU"):
            use()
    with pytest.raises(RuntimeError, match="there is one CPU device"):
        x.to("cpu:1")
    for made in (wisp.ones(2, device="cpu:0"), x.to(wisp.device("cpu", 0))):
        assert made.device == x.device
    assert wisp.ones(2, device="meta:3").device == wisp.device("meta")
    with pytest.raises(RuntimeError, match="Expected one of cpu, .*, meta, .* device string: toaster"):
        wisp.device("toaster:1")
    with pytest.raises(RuntimeError, match="Invalid device string: 'cpu:x'"):
        wisp.device("cpu:x")
    with pytest.raises(RuntimeError, match="must not be empty"):
        wisp.device("")


def test_arrays_of_tensors_that_require_grad_without_grad_mode():
    x = wisp.ones(2, requires_grad=True)
    with wisp.no_grad():
        assert x.numpy().tolist() == [1, 1] and np.asarray(x).tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="requires grad"):
        x.numpy()


def test_arrays_of_subclasses(tmp_path):
    """Mapped files, also those that may only be read, are arrays like any other; so are capsules of DLPack."""
    np.arange(4, dtype=np.float32).tofile(tmp_path / "x")
    for mode in ("r", "r+", "c"):
        array = np.memmap(tmp_path / "x", dtype=np.float32, mode=mode)
        for make in (wisp.tensor, wisp.as_tensor, wisp.asarray, wisp.from_numpy):
            assert make(array).tolist() == [0.0, 1.0, 2.0, 3.0]
        assert wisp.utils.data.default_collate([array, array]).shape == (2, 4)

    class Own(np.ndarray):
        pass

    own = np.arange(3).view(Own)
    shared = wisp.as_tensor(own)
    own[0] = 7
    assert shared.tolist() == [7, 1, 2]
    assert wisp.asarray(wisp.ones(2).__dlpack__()).tolist() == [1.0, 1.0]
