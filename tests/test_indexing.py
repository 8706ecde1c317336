"""x[...] and x[...] = y: values as NumPy's and PyTorch's, views where PyTorch gives views, errors that say why."""

import random

import numpy as np
import pytest

import wisp
from tests.oracle import HAS_TORCH

if HAS_TORCH:
    import torch


def arange(lib, *shape, dtype="int64"):
    n = int(np.prod(shape))
    if lib is np:
        return np.arange(n).astype(dtype).reshape(shape)
    return lib.arange(n).to(getattr(lib, dtype)).reshape(shape).clone()


def translate(lib, index):
    """An index written with NumPy arrays, for `lib`."""
    if isinstance(index, tuple):
        return tuple(translate(lib, i) for i in index)
    if isinstance(index, np.ndarray) and lib is not np:
        return lib.tensor(index.tolist(), dtype=getattr(lib, index.dtype.name)).reshape(index.shape)
    return index


def values(t):
    return np.asarray(t.tolist()).reshape(tuple(t.shape))


def same_as_numpy(shape, index):
    want = arange(np, *shape)[index]
    for given in (translate(wisp, index), index):  # tensors, and NumPy arrays, as indices
        got = arange(wisp, *shape)[given]
        assert tuple(got.shape) == want.shape
        np.testing.assert_array_equal(values(got), want)


i64 = np.array
mask = np.array([True, False, True, True])

BASIC = [
    0, -1, np.int64(2), slice(None), slice(1, 3), slice(None, None, 2), slice(1, None, 3), slice(-3, -1), slice(3, 1), slice(7, 9),
    slice(-100, 100), ..., None, (), (..., 0), (0, ...), (1, 2), (1, 2, -1), (slice(None), 1), (..., None), (None, 0, None, ..., None),
    (slice(None, None, 2), ..., slice(1, None, 2)), (0, slice(1, 2)), (slice(None), slice(None), slice(None)), (None, None),
]  # fmt: skip


@pytest.mark.parametrize("index", BASIC, ids=str)
def test_basic(index):
    """Numbers, slices, Ellipsis and None give views of the same memory."""
    same_as_numpy((4, 3, 5), index)
    x = arange(wisp, 4, 3, 5)
    view = x[index]
    assert view._base is x and view._is_view()
    assert view.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    if view.numel():
        view.fill_(-1)
        y = arange(np, 4, 3, 5)
        y[index] = -1
        np.testing.assert_array_equal(values(x), y)


ADVANCED = [
    [0], [0, 2, -1], [], i64([[0, 1], [3, -4]]), mask, [True, False, True, True], range(0, 4, 2), (i64([1]),),
    (i64([0, 1]), i64([2, 0])), (i64([[0], [1]]), i64([2, 0])), (slice(None), i64([2, 0, 0])), (slice(None), [0, 1], i64([4, -5])),
    (i64([0, 1]), slice(None), i64([4, 3])), (..., i64([4, 3])), (None, i64([0, 1])), (i64([0, 1]), None), (i64([0, 1]), None, i64([2, 1])),
    (mask, slice(0, 2)), (mask, ..., i64([0, 1, 2])), (slice(1, 3), np.array([True, False, True])), (i64([], dtype=np.int64),),
    np.array([[True, False, True]] * 4), (np.zeros((4, 3), bool),), True, False, (True, slice(None)), (i64(2),), (slice(None, None, 2), i64([[0, 1]])),
    (i64([3, 0], dtype=np.int32), i64([0])),
]  # fmt: skip


@pytest.mark.parametrize("index", ADVANCED, ids=str)
def test_advanced(index):
    """Tensors, lists and masks give copies."""
    same_as_numpy((4, 3, 5), index)
    x = arange(wisp, 4, 3, 5)
    assert arange(wisp, 4, 3, 5)[translate(wisp, index)]._base is None or index == (i64(2),)
    if HAS_TORCH and not isinstance(index, range):
        want = arange(torch, 4, 3, 5)[translate(torch, index)]
        np.testing.assert_array_equal(values(x[translate(wisp, index)]), values(want))


@pytest.mark.parametrize("index", BASIC + ADVANCED, ids=str)
@pytest.mark.parametrize("value", ["number", "row", "full", "tensor0", "list"])
def test_assignment(index, value):
    """Values broadcast to what the bracket names."""
    y, x = arange(np, 4, 3, 5), arange(wisp, 4, 3, 5)
    shape = y[index].shape
    if value == "row":
        new = np.arange(shape[-1] if shape else 1) * 10
        new = new if shape else new[0]
    elif value == "full":
        new = np.arange(int(np.prod(shape))).reshape(shape) * 7
    else:
        new = np.array(-5)
    y[index] = new
    given = {"number": -5, "list": new.tolist()}.get(value)
    x[translate(wisp, index)] = (
        given if given is not None else wisp.tensor(new.tolist(), dtype=wisp.int64).reshape(new.shape)
    )
    np.testing.assert_array_equal(values(x), y)


def test_assignment_of_other_dtypes_and_arrays():
    x = wisp.zeros(3)
    x[0] = True
    x[1] = wisp.tensor(3)
    x[2:] = np.array([2.5])
    assert x.tolist() == [1.0, 3.0, 2.5]
    x[[0, 2]] = wisp.tensor([7, 8])
    assert x.tolist() == [7.0, 3.0, 8.0]
    y = wisp.zeros(2, 3)
    y[:, 1:] = wisp.ones(1, 1, 2, 1)[0]  # leading ones are dropped
    y[0] = [4, 5, 6]
    assert y.tolist() == [[4, 5, 6], [0, 1, 1]]
    z = wisp.zeros(3, dtype=wisp.int64)
    z[1] = 2.9
    assert z.tolist() == [0, 2, 0]


def test_assignment_from_own_memory():
    x = wisp.arange(6)
    x[1:] = x[:-1]
    assert x.tolist() == [0, 0, 1, 2, 3, 4]
    y = wisp.arange(9).reshape(3, 3)
    y[[0, 2]] = y[[2, 0]]
    assert y.tolist() == [[6, 7, 8], [3, 4, 5], [0, 1, 2]]


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "uint8", "complex64"])
def test_index_put_accumulates(dtype):
    """Repeated indices add up with accumulate=True."""
    x = wisp.zeros(3, dtype=getattr(wisp, dtype))
    got = x.index_put_((wisp.tensor([0, 2, 0, 0]),), wisp.ones(4, dtype=x.dtype), accumulate=True)
    assert got is x and x.tolist() == [3, 0, 1]
    y = wisp.zeros(2, 2, dtype=x.dtype)
    y.index_put_((wisp.tensor([[0], [1]]), wisp.tensor([1, 1])), wisp.tensor(2, dtype=x.dtype), accumulate=True)
    assert y.tolist() == [[0, 4], [0, 4]]


ERRORS = [
    ((2, 3), 2, IndexError, "index 2 is out of bounds for dimension 0 with size 2"),
    ((2, 3), -3, IndexError, "index -3 is out of bounds"),
    ((2, 3), (0, 3), IndexError, "out of bounds for dimension"),
    ((2, 3), (0, 0, 0), IndexError, "too many indices for tensor of dimension 2"),
    ((2, 3), (..., ..., 0), IndexError, "single ellipsis"),
    ((), 0, IndexError, "invalid index of a 0-dim tensor"),
    ((0,), 0, IndexError, "out of bounds"),
    ((2, 3), i64([0, 2]), IndexError, "out of bounds"),
    ((2, 3), i64([-3]), IndexError, "out of bounds"),
    ((2, 3), (i64([0, 1]), i64([0, 1, 2])), IndexError, "could not be broadcast"),
    ((2, 3), np.array([True]), IndexError, "The shape of the mask"),
    ((2, 3), np.ones((2, 4), bool), IndexError, "The shape of the mask"),
    ((2, 3), np.ones((2, 3, 1), bool), IndexError, "too many indices"),
    ((2, 3), np.array([0.5]), IndexError, "must be long, int, byte or bool"),
    ((2, 3), slice(None, None, -1), ValueError, "step must be greater than zero"),
    ((2, 3), slice(None, None, 0), ValueError, "step"),
    ((2, 3), 1.5, (TypeError, IndexError), None),
    ((2, 3), "a", (TypeError, IndexError), None),
    ((2, 3), slice("a", None), TypeError, None),
    ((2, 3), {}, (TypeError, IndexError), None),
    ((2, 3), 2**70, (ValueError, IndexError), None),
]


@pytest.mark.parametrize("shape, index, exception, message", ERRORS, ids=str)
def test_errors(shape, index, exception, message):
    x = arange(wisp, *shape) if shape else wisp.tensor(1)
    before = x.clone()
    with pytest.raises(exception, match=message):
        x[translate(wisp, index)]
    with pytest.raises(exception):
        x[translate(wisp, index)] = 0
    assert (x == before).all()
    if HAS_TORCH and shape:
        with pytest.raises(Exception):
            arange(torch, *shape)[translate(torch, index)]


def test_assignment_errors():
    x = wisp.zeros(2, 3)
    with pytest.raises(RuntimeError):
        x[0] = wisp.ones(2)
    with pytest.raises(RuntimeError):
        x[:, [0, 1]] = wisp.ones(3)
    with pytest.raises(TypeError):
        del x[0]
    with pytest.raises(TypeError):
        x[0] = "a"
    with pytest.raises((RuntimeError, TypeError)):
        x[0] = None
    assert not x.any()


def test_byte_masks():
    """uint8 tensors are masks too, as PyTorch has it."""
    assert wisp.arange(3)[wisp.tensor([1, 0, 1], dtype=wisp.uint8)].tolist() == [0, 2]
    yes, no = wisp.tensor(1, dtype=wisp.uint8), wisp.tensor(0, dtype=wisp.uint8)
    assert wisp.zeros(2, 3)[yes].shape == (1, 2, 3) and wisp.zeros(2, 3)[no].shape == (0, 2, 3)
    assert wisp.tensor(5)[yes].tolist() == [5] and wisp.tensor(5)[no].tolist() == []


@pytest.mark.parametrize(
    "index", [True, [0, 1], (slice(None), [0, 2]), np.array([[True, False, True], [False, True, True]])], ids=str
)
def test_values_may_have_more_dimensions_of_size_one_in_front(index):
    """As in x[0] = y: also where the bracket holds masks and lists."""
    x = wisp.zeros(2, 3)
    new = wisp.arange(1.0, x[index].numel() + 1).reshape(1, 1, *x[index].shape)
    want = x.clone()
    want[index] = new[0, 0]
    x[index] = new
    assert x.tolist() == want.tolist() and x.count_nonzero() == new.numel()
    with pytest.raises(RuntimeError):
        x[index] = new.expand(2, *new.shape[1:])


def test_zero_dimensional():
    x = wisp.tensor(5)
    assert (
        x[()].item() == 5
        and x[...].item() == 5
        and x[None].shape == (1,)
        and x[True].shape == (1,)
        and x[False].shape == (0,)
    )
    assert x[x > 3].tolist() == [5] and x[wisp.tensor(False)].shape == (0,)
    x[...] = 6
    assert x.item() == 6
    x[()] = 7
    x[x == 7] = 8
    assert x.item() == 8
    y = wisp.arange(4)
    assert y[wisp.tensor(2)].item() == 2 and y[wisp.tensor(2)].dim() == 0
    assert y[wisp.tensor(-1, dtype=wisp.int32)].item() == 3


def test_bool_vectors_on_empty():
    assert wisp.zeros(0, 3)[wisp.zeros(0, dtype=wisp.bool)].shape == (0, 3)
    assert wisp.zeros(2, 0)[:, []].shape == (2, 0)
    assert wisp.zeros(3)[[]].shape == (0,)
    assert wisp.zeros(3, 0)[[0, 2]].shape == (2, 0)


def test_gradients():
    x = wisp.arange(12.0).reshape(3, 4).requires_grad_()
    (x[1:, ::2].sum() + 2 * x[[0, 0, 2], [1, 1, 3]].sum() + x[x > 10].sum() + x[-1, None, 0].sum()).backward()
    want = np.zeros((3, 4))
    want[1:, ::2] += 1
    np.add.at(want, ([0, 0, 2], [1, 1, 3]), 2)
    want[2, 3] += 1
    want[2, 0] += 1
    np.testing.assert_array_equal(values(x.grad), want)
    y = wisp.ones(3, requires_grad=True)
    z = wisp.zeros(2, 3)
    z[0] = y
    z[:, [2, 1]] = 3 * y[:2]
    z.sum().backward()
    assert y.grad.tolist() == [7.0, 6.0, 0.0]


# --- random brackets


def random_index(rng, shape, with_numbers, with_arrays):
    """A tuple of indices that fits `shape`, or nearly does."""
    items, dims = [], list(shape)
    shared = rng.choice([(), (2,), (3,), (2, 1), (1, 3)])
    while dims and rng.random() < 0.8:
        n = dims[0]
        kind = rng.choice(["slice", "none", "number", "array", "mask"])
        if kind == "number" and with_numbers:
            items.append(rng.randint(-n, n - 1) if n and rng.random() < 0.95 else n)
        elif kind == "array" and with_arrays and n:
            items.append(
                np.array([rng.randint(-n, n - 1) for _ in range(int(np.prod(shared)))], dtype=np.int64).reshape(shared)
            )
        elif kind == "mask" and with_arrays and not any(isinstance(i, np.ndarray) for i in items):
            items.append(np.array([rng.random() < 0.5 for _ in range(n)], dtype=bool))
        elif kind == "none":
            items.append(None)
            continue
        else:
            a, b = (rng.choice([None, rng.randint(-5, 5)]) for _ in range(2))
            items.append(slice(a, b, rng.choice([None, 1, 2, 3])))
        dims.pop(0)
    if rng.random() < 0.3:
        items.append(...)
    return tuple(items)


def outcome(lib, shape, index, new=None):
    """What reading (or writing `new` to) a bracket gives: an array, or the exception's name."""
    x = arange(lib, *shape)
    try:
        if new is None:
            got = x[translate(lib, index)]
            return np.asarray(got) if lib is np else values(got)
        x[translate(lib, index)] = new
    except (IndexError, ValueError, RuntimeError):
        return "error"
    return x if lib is np else values(x)


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("against", ["numpy", "torch"])
def test_fuzz(seed, against):
    if against == "torch" and not HAS_TORCH:
        pytest.skip("torch is not installed")
    rng = random.Random(seed)
    for _ in range(25):
        shape = tuple(rng.choice([0, 1, 2, 3, 4]) for _ in range(rng.randint(1, 4)))
        arrays = rng.random() < 0.6
        # Next to arrays, NumPy counts numbers as arrays; PyTorch selects first.
        index = random_index(rng, shape, not arrays or against == "torch", arrays)
        reference = np if against == "numpy" else torch
        for new in (None, -1):
            want, got = outcome(reference, shape, index, new), outcome(wisp, shape, index, new)
            assert isinstance(want, str) == isinstance(got, str), (shape, index, want, got)
            if not isinstance(want, str):
                assert got.shape == want.shape, (shape, index)
                np.testing.assert_array_equal(got, want, err_msg=str((shape, index)))


def test_lists_that_hold_more_than_numbers_are_tuples():
    x = wisp.arange(24).reshape(2, 3, 4)
    same = {
        "x[[[0], [1]]]": "x[[0], [1]]", "x[[[0, 1], [1, 2]]]": "x[[0, 1], [1, 2]]", "x[[slice(None), 0]]": "x[:, 0]",
        "x[[wisp.tensor(0), 1]]": "x[0, 1]", "x[[None, 0]]": "x[None, 0]", "x[[..., 0]]": "x[..., 0]",
        "x[[(0, 1), (1, 2)]]": "x[(0, 1), (1, 2)]", "x[[0, 1]]": "x[wisp.tensor([0, 1])]", "x[[range(2)]]": "x[[0, 1]]",
        "x[[True, False]]": "x[wisp.tensor([True, False])]",
    }  # fmt: skip
    for one, other in same.items():
        assert wisp.equal(eval(one), eval(other)), one
    assert x[[0] * 40].shape == (40, 3, 4)
    x[[[0], [1]]] = -1
    assert (x[0, 1] == -1).all() and (x >= 0).sum() == 20
