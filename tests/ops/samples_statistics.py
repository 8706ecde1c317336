"""Samples of covariance, positions, repeats, windows and derivatives of samples."""

from tests.ops.sampling import ALL, INT, NUMBER, A, Dtype, E, I, S, T, errors, samples

WIDE = ("float32", "float64")


@samples("cov", dtypes=WIDE + ("complex64", "complex128", "int64"))
def cov():
    yield S(T(2, 4))
    yield S(T(4))
    yield S(T(2, 4), correction=0)
    yield S(T(2, 3), fweights=A([1, 2, 1], "int64"))
    yield S(T(2, 3), aweights=A([0.1, 0.2, 0.3], "float32"), _dtypes=("float32",))
    yield S(T(2, 3), fweights=A([1, 2, 1], "int64"), aweights=A([0.1, 0.2, 0.3], "float64"), _dtypes=("float64",))
    yield S(T(1, 1), _grad=False)


@samples("corrcoef", dtypes=WIDE + ("complex64", "complex128", "int64"))
def corrcoef():
    yield S(A([[1.0, 2.0, 4.0, 3.0], [0.5, -1.0, 2.0, 5.0]]))
    yield S(A([1.0, 2.0, 5.0]), _grad=False)


@samples("repeat_interleave", dtypes=ALL)
def repeat_interleave():
    yield S(T(2, 2), 2)
    yield S(T(2, 3), 3, dim=1)
    yield S(T(2, 3), 2, -2, output_size=4)
    yield S(T(2, 3), A([1, 0, 2], "int64"), 1)
    yield S(T(2), A([1, 2], "int32"))
    yield S(T(2, 3), A([2], "int64"), dim=0)
    yield S(T(3), A(2, "int64"))
    yield S(T(), 2)
    yield S(T(2, 3), 0, 1)
    yield S(A([1, 0, 2], "int64"))
    yield S(A([1, 0, 2], "int32"), output_size=3)


@samples("nonzero_static", dtypes=ALL)
def nonzero_static():
    yield S(A([[1, 0, 2], [0, 3, 0]]), size=2, _grad=False)
    yield S(A([[1, 0, 2], [0, 3, 0]]), size=5, fill_value=7, _grad=False)
    yield S(T(), size=2, _grad=False)


@samples("fill_diagonal_", dtypes=NUMBER)
def fill_diagonal():
    # A leaf must not be written: the product stands for something computed.
    yield S(T(3, 3), 5, _grad=False)
    yield S(T(2, 4), 5, _grad=False)
    yield S(T(7, 2), 5, wrap=True, _grad=False)
    yield S(T(2, 2, 2), 1, _grad=False)


@samples("fill_diagonal_of_product", call=lambda lib, x, *args: (x * 2).fill_diagonal_(*args))
def fill_diagonal_grad():
    yield S(T(3, 2), 5.0)
    yield S(T(5, 2), 5.0, True)
    yield S(T(2, 2, 2), 5.0)


@samples("slice_inverse", dtypes=ALL, call=lambda lib, x: x[1:].slice_inverse(x, 0, 1))
def slice_inverse():
    yield S(T(3), _grad=False)


def _strided(lib, x):
    if lib.__name__ == "torch":
        return x.as_strided((2, 2), (1, 2), 1)
    return x._as_strided((2, 2), (1, 2), 1, x.shape, x.stride(), x.storage_offset())


@samples("_as_strided", dtypes=ALL, call=_strided)
def as_strided():
    yield S(T(6), _strided=False)


@samples(
    "as_strided_",
    dtypes=ALL,
    call=lambda lib, x: (x * 2 if x.is_floating_point() else x.clone()).as_strided_((2, 2), (1, 2), 1),
)
def as_strided_in_place():
    yield S(T(6), _strided=False)


def _copied(name):
    return name + "_copy"


COPIES = {
    "alias": [()],
    "as_strided": [((2,), (2,)), ((2, 2), (1, 1), 1)],
    "detach": [()],
    "diagonal": [(), (1,)],
    "narrow": [(1, 0, 2)],
    "permute": [((1, 0),)],
    "select": [(0, 1), (-1, 2)],
    "slice": [(1, 1, 3), (1, 0, 3, 2)],
    "split": [(2, 1)],
    "split_with_sizes": [([1, 2], 1)],
    "t": [()],
    "transpose": [(0, 1)],
    "unbind": [(), (1,)],
    "unfold": [(1, 2, 1)],
    "unsqueeze": [(1,)],
    "view": [((3, 2),)],
}


def _copy_samples(arguments, grad):
    def make():
        for args in arguments:
            yield S(T(2, 3), *args, _grad=grad, _strided=False)

    return make


for _name, _arguments in COPIES.items():
    samples(_copied(_name), dtypes=ALL)(_copy_samples(_arguments, _name != "detach"))


@samples("expand_copy", dtypes=ALL)
def expand_copy():
    yield S(T(1, 3), (2, 3))


@samples("squeeze_copy", dtypes=ALL)
def squeeze_copy():
    yield S(T(1, 3, 1))
    yield S(T(1, 3, 1), 0)
    yield S(T(1, 3, 1), (0, 2))


@samples("view_as_real_copy", dtypes=("complex64", "complex128"))
def view_as_real_copy():
    yield S(T(2))


@samples("view_as_complex_copy", dtypes=WIDE)
def view_as_complex_copy():
    yield S(T(3, 2), _strided=False)


@samples("new_empty_strided", call=lambda lib, x: lib.tensor(x.new_empty_strided((2, 3), (1, 2)).stride()))
def new_empty_strided():
    yield S(T(2), _grad=False)


# --- factories: compared with PyTorch although they take no tensors


@samples("tril_indices", "triu_indices", dtypes=("float32",))
def triangles():
    for row, col, offset in ((3, 3, 0), (3, 4, 1), (4, 3, -1), (2, 3, -5), (2, 3, 5), (0, 3, 0), (3, 0, 0)):
        yield S(row, col, offset)
    yield S(2, 3, dtype=Dtype("int32"))


@samples("bartlett_window", "hann_window", "hamming_window", "blackman_window", "kaiser_window", dtypes=("float32",))
def windows():
    for n in (0, 1, 2, 5):
        yield S(n)
        yield S(n, False)
        yield S(n, periodic=True, dtype=Dtype("float64"))
    yield S(4, dtype=Dtype("bfloat16"))


@samples("hamming_of_parts", dtypes=("float32",), call=lambda lib, *args: lib.hamming_window(*args))
def hamming():
    yield S(5, True, 0.5)
    yield S(5, False, 0.5, 0.3)


@samples("kaiser_of_shape", dtypes=("float32",), call=lambda lib, *args: lib.kaiser_window(*args))
def kaiser():
    yield S(5, True, 3.0)
    yield S(5, False, 0.0)


@samples("range", dtypes=("float32",))
def range_():
    yield S(0, 3)
    yield S(0, 3, 0.5)
    yield S(3, 0, -1, dtype=Dtype("int64"))
    yield S(1, 1.9)


@samples("gradient", dtypes=WIDE + ("complex64", "int64"))
def gradient():
    yield S(A([1.0, 4.0, 9.0, 16.0]))
    yield S(T(3, 4), spacing=2.0, _dtypes=WIDE)
    yield S(T(3, 4), spacing=[2.0, 0.5], edge_order=2, _dtypes=WIDE)
    yield S(T(3, 4), dim=1, edge_order=2)
    yield S(T(3, 4), dim=(-1, 0))
    yield S(T(4), spacing=(A([0.0, 1.0, 3.0, 6.0], "float64"),), edge_order=2, _dtypes=("float64",))
    yield S(T(2, 4), spacing=(A([0.0, 1.0, 3.0, 6.0], "float32"),), dim=1, _dtypes=("float32",))


@samples("segment_reduce", dtypes=WIDE)
def segment_reduce():
    for how in ("sum", "mean", "max", "min", "prod"):
        yield S(T(5, low=1, high=3), how, lengths=A([2, 0, 3], "int64"), _grad=False)
        yield S(T(5, 2), how, lengths=A([2, 3], "int64"))
        yield S(T(5), how, offsets=A([0, 1, 5], "int64"), initial=1)
    yield S(T(2, 3), "sum", lengths=A([[1, 2], [2, 1]], "int64"), axis=1)


@samples("unravel_index", dtypes=INT)
def unravel_index():
    yield S(A([[0, 5], [3, 1]]), (2, 3))
    yield S(A(5), 6)
    yield S(A([23, 7]), (2, 3, 4))


@errors("cov")
def bad_cov():
    yield E(RuntimeError, "two or fewer dimensions", T(2, 2, 2))
    yield E(RuntimeError, "bool dtype is not supported", T(2, 2), _dtypes=("bool",))
    yield E(RuntimeError, "integral dtype", T(2, 2), fweights=T(2))
    yield E(RuntimeError, "floating point dtype", T(2, 2), aweights=I(2))
    yield E(RuntimeError, "same numel", T(2, 2), fweights=I(3))
    yield E(RuntimeError, "cannot be negative", T(2, 2), fweights=A([-1, 1], "int64"))


@errors("repeat_interleave")
def bad_repeats():
    yield E(RuntimeError, "repeats can not be negative", A([-1], "int64"))
    yield E(RuntimeError, "only accept 1D", I(2, 2))
    yield E(RuntimeError, "Repeats must be non-negative", T(2), -1)
    yield E(RuntimeError, "same size as input along dim", T(2), I(3))
    yield E(RuntimeError, "does not match required size", T(2), A([1, 2], "int64"), output_size=4)
    yield E(NotImplementedError, "not implemented", T(2))


@errors("pdist")
def bad_pdist():
    yield E(RuntimeError, "only supports 2D", T(3))
    yield E(RuntimeError, "non-negative p", T(3, 2), -1.0)


@errors("fill_diagonal_")
def bad_diagonal():
    yield E(RuntimeError, "larger than 1", T(3), 1)
    yield E(RuntimeError, "equal length", T(2, 3, 2), 1)


@errors("gradient")
def bad_gradient():
    yield E(RuntimeError, "at least edge_order", T(1))
    yield E(RuntimeError, "edge_order=1 and edge_order=2", T(5), edge_order=3)
    yield E(RuntimeError, "appears multiple times", T(3, 3), dim=(0, 0))
    yield E(RuntimeError, "list of length", T(3, 3), spacing=[1.0])


@errors("hann_window")
def bad_window():
    yield E(RuntimeError, "non-negative window_length", -1)
    yield E(RuntimeError, "floating point dtypes", 3, dtype=Dtype("int64"))
    yield E(NotImplementedError, "not implemented", 3, dtype=Dtype("complex64"))
