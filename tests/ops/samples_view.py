"""Samples of views: other sizes, strides and offset on the same memory."""

from tests.ops.sampling import ALL, COMPLEX, FLOAT, B, Dtype, E, S, T, errors, samples


def shapes(strided=True):
    yield S(T(2, 6), (3, 4), _strided=strided)
    yield S(T(2, 6), 4, -1, _strided=strided)
    yield S(T(2, 3), (-1,), _strided=strided)
    yield S(T(), (1, 1))
    yield S(T(1), ())
    yield S(T(2, 0), (0, 5), _strided=strided)
    yield S(T(0, 3), (-1, 3))
    yield S(T(2, 3, layout="offset"), (6,))


@samples("view", dtypes=ALL)
def view():
    yield from shapes(strided=False)
    yield S(
        T(4), Dtype("float32"), _grad=False, _strided=False, _dtypes=("float32", "int32", "int64", "uint8", "complex64")
    )
    yield S(T(2, 4), Dtype("int16"), _grad=False, _strided=False, _dtypes=("float64", "int16", "uint8"))


@samples("reshape", dtypes=ALL)
def reshape():
    yield from shapes()
    yield S(T(3, 2, layout="transposed"), (6,))


@samples("view_as")
def view_as():
    yield S(T(2, 6), B(3, 4), _strided=False)
    yield S(T(1), B())


@samples("reshape_as")
def reshape_as():
    yield S(T(2, 6), B(3, 4))
    yield S(T(1), B())


@samples("flatten", dtypes=ALL)
def flatten():
    yield S(T(2, 3, 2))
    yield S(T(2, 3, 2), 1)
    yield S(T(2, 3, 2), 0, 1)
    yield S(T(2, 3, 2), start_dim=-2, end_dim=-1)
    yield S(T(2, 3, 2), 1, 1)
    yield S(T())
    yield S(T(2, 0, 3), 0, 1)
    yield S(T(3, 2, layout="transposed"))


@samples("unflatten")
def unflatten():
    yield S(T(2, 6), 1, (2, 3))
    yield S(T(6, 2), 0, (2, -1))
    yield S(T(2, 6), -1, (1, 6, 1))
    yield S(T(0, 2), 0, (0, 2))


@samples("ravel", dtypes=ALL)
def ravel():
    yield S(T(2, 3))
    yield S(T(3, 2, layout="transposed"))
    yield S(T())
    yield S(T(4))


@samples("expand", dtypes=ALL)
def expand():
    yield S(T(2, 1), (2, 3))
    yield S(T(2, 1), 2, 2, 3)
    yield S(T(2, 1), -1, 3)
    yield S(T(3), (2, -1))
    yield S(T(), (2, 3))
    yield S(T(1), (0,))
    yield S(T(1, 3), (2, 3))


@samples("broadcast_to", dtypes=ALL)
def broadcast_to():
    yield S(T(3), (2, 3))
    yield S(T(), (2,))
    yield S(T(2, 1), (2, 3))


@samples("expand_as")
def expand_as():
    yield S(T(2, 1), B(2, 3))
    yield S(T(), B(2))
    yield S(T(1), B(), _ref=lambda torch, x, y: x.reshape(()))
    yield S(T(1, 1), B(), _ref=lambda torch, x, y: x.reshape(()))


@samples("broadcast_tensors")
def broadcast_tensors():
    yield S(T(2, 1), T(3))
    yield S(T(2), T(), T(1))
    yield S([T(2), T(1)], _ref=lambda torch, ts: torch.broadcast_tensors(*ts))
    yield S(T(2))


@samples("squeeze", dtypes=ALL)
def squeeze():
    yield S(T(1, 2, 1, 3))
    yield S(T(1, 2, 1), 0)
    yield S(T(1, 2, 1), 1)
    yield S(T(1, 2, 1), -1)
    yield S(T(1, 2, 1), (0, 1))
    yield S(T(1, 2, 1), (0, -1))
    yield S(T(2, 1), ())
    yield S(T(1, 1))
    yield S(T())
    yield S(T(), 0)
    yield S(T(1, 2, 3, layout="transposed"), dim=0)


@samples("unsqueeze", dtypes=ALL)
def unsqueeze():
    yield S(T(2, 3), 0)
    yield S(T(2, 3), 1)
    yield S(T(2, 3), -1)
    yield S(T(2, 3), -3)
    yield S(T(), 0)


@samples("atleast_1d", "atleast_2d", "atleast_3d")
def at_least():
    yield S(T())
    yield S(T(2))
    yield S(T(2, 3))
    yield S(T(1, 2, 3))
    yield S(T(), T(2))
    yield S([T(), T(2)])


@samples("transpose", "swapaxes", "swapdims", dtypes=ALL)
def transpose():
    yield S(T(2, 3), 0, 1)
    yield S(T(2, 3, 2), -1, 0)
    yield S(T(2, 3), 1, 1)
    yield S(T(), 0, 0)
    yield S(T(), 0, -1)


@samples("t", dtypes=ALL)
def t():
    yield S(T(2, 3))
    yield S(T(3))
    yield S(T())


@samples("adjoint", dtypes=ALL)
def adjoint():
    yield S(T(2, 3))
    yield S(T(2, 2, 3))
    yield S(T())


@samples("permute", dtypes=ALL)
def permute():
    yield S(T(2, 3, 2), (2, 0, 1))
    yield S(T(2, 3, 2), 1, 0, 2)
    yield S(T(2, 3), (-1, 0))
    yield S(T(2, 3), dims=(1, 0))
    yield S(T(), ())


@samples("movedim", "moveaxis")
def movedim():
    yield S(T(2, 3, 2), 0, 1)
    yield S(T(2, 3, 2), -1, 0)
    yield S(T(2, 3, 2), (0, 1), (2, 0))
    yield S(T(2, 3, 2), (0, -1), (-1, 0))
    yield S(T(2, 3, 2), (), ())
    yield S(T(1, 2, 3, 2), (3, 1), (0, 2))
    yield S(T(), 0, 0)


@samples("select", dtypes=ALL)
def select():
    yield S(T(2, 3), 0, 1)
    yield S(T(2, 3), 1, -1)
    yield S(T(2, 3), -1, 0)
    yield S(T(3), 0, 2)


@samples("narrow", dtypes=ALL)
def narrow():
    yield S(T(4, 2), 0, 1, 2)
    yield S(T(2, 4), -1, -3, 2)
    yield S(T(2, 4), 1, 4, 0)
    yield S(T(2, 4), 1, T(dtype="int64", low=1, high=2), 2)


@samples("diagonal", dtypes=ALL)
def diagonal():
    yield S(T(3, 3))
    yield S(T(3, 4), 1)
    yield S(T(3, 4), -1)
    yield S(T(2, 3), 5)
    yield S(T(2, 3), -5)
    yield S(T(2, 2, 3), 0, 1, 2)
    yield S(T(2, 2, 3), offset=1, dim1=-1, dim2=0)


@samples("unfold", dtypes=ALL)
def unfold():
    yield S(T(6), 0, 3, 2)
    yield S(T(6), 0, 2, 1)
    yield S(T(2, 5), 1, 2, 3)
    yield S(T(4, 2), 0, 4, 1)
    yield S(T(3), 0, 0, 1)
    yield S(T(), 0, 1, 1)


@samples("as_strided", dtypes=ALL)
def as_strided():
    yield S(T(6), (2, 3), (3, 1), _strided=False)
    yield S(T(6), (2, 2), (1, 2), 1, _strided=False)
    yield S(T(6), (3, 2), (1, 1), _strided=False)
    yield S(T(6), (), (), 2, _strided=False)
    yield S(T(2, 3), (2, 0), (1, 1))


@samples("view_as_real", dtypes=COMPLEX)
def view_as_real():
    yield S(T(2, 3))
    yield S(T())
    yield S(T(3, 2, layout="transposed"))


@samples("view_as_complex", dtypes=("float32", "float64"))
def view_as_complex():
    yield S(T(3, 2), _strided=False)
    yield S(T(2), _strided=False)
    yield S(T(2, 3, 2), _strided=False)


@samples("real", dtypes=ALL)
def real():
    yield S(T(2, 3))
    yield S(T())


@samples("imag", dtypes=COMPLEX)
def imag():
    yield S(T(2, 3))
    yield S(T())


@samples("conj", "conj_physical", dtypes=ALL)
def conj():
    yield S(T(2, 3))
    yield S(T())


@samples("detach", dtypes=ALL)
def detach():
    yield S(T(2, 3), _grad=False)


@samples("sum_to_size", dtypes=FLOAT)
def sum_to_size():
    yield S(T(2, 3), (1, 3))
    yield S(T(2, 3), 3)
    yield S(T(2, 2, 3), (2, 1))
    yield S(T(2, 3), ())
    yield S(T(2, 3), (2, 3))


@samples("as_strided_scatter", dtypes=FLOAT)
def as_strided_scatter():
    yield S(T(6), T(2, 2), (2, 2), (1, 2))
    yield S(T(2, 3), T(2), (2,), (3,), 1)


@errors("view")
def bad_view():
    yield E(RuntimeError, r"shape '\[3, 3\]' is invalid for input of size 6", T(2, 3), (3, 3))
    yield E(RuntimeError, "only one dimension can be inferred", T(2, 3), (-1, -1))
    yield E(RuntimeError, "invalid shape dimension -2", T(2, 3), (-2, 3))
    yield E(RuntimeError, "not compatible with input tensor's size and stride", T(2, 3, layout="transposed"), (6,))
    yield E(RuntimeError, "ambiguous", T(0, 3), (-1, 0))
    yield E(RuntimeError, "divisible by 2 to view", T(3), Dtype("float64"))
    yield E(RuntimeError, "cannot be 0 to view", T(), Dtype("float64"))


@errors("expand")
def bad_expand():
    yield E(RuntimeError, "must be greater or equal to the number of dimensions", T(2, 3), (3,))
    yield E(RuntimeError, r"expanded size of the tensor \(4\) must match the existing size \(3\)", T(2, 3), (2, 4))
    yield E(RuntimeError, "leading, non-existing dimension 0", T(2), (-1, 2))
    yield E(RuntimeError, "the expanded size -2 is negative", T(2, 3), (2, -2))


@errors("expand_as")
def bad_expand_as():
    yield E(RuntimeError, "must be greater or equal to the number of dimensions", T(2), T())


@errors("transpose")
def bad_transpose():
    yield E(IndexError, r"Dimension out of range \(expected to be in range of \[-2, 1\], but got 2\)", T(2, 3), 0, 2)


@errors("t")
def bad_t():
    yield E(RuntimeError, "expects a tensor with <= 2 dimensions, but self is 3D", T(1, 1, 1))


@errors("permute")
def bad_permute():
    yield E(RuntimeError, "does not match the length of the desired ordering", T(2, 3), (0,))
    yield E(RuntimeError, "dim 0 appears multiple times", T(2, 3), (0, 0))


@errors("movedim")
def bad_movedim():
    yield E(RuntimeError, "should contain the same number of dims", T(2, 3), (0, 1), (1,))
    yield E(RuntimeError, "appears multiple times", T(2, 3), (0, 0), (0, 1))
    yield E(IndexError, "Dimension out of range", T(2, 3), 0, 5)


@errors("select")
def bad_select():
    yield E(IndexError, "index 2 out of range for tensor of size", T(2, 3), 0, 2)
    yield E(IndexError, "cannot be applied to a 0-dim tensor", T(), 0, 0)


@errors("narrow")
def bad_narrow():
    yield E(RuntimeError, r"start \(0\) \+ length \(3\) exceeds dimension size \(2\)", T(2), 0, 0, 3)
    yield E(IndexError, "start out of range", T(2), 0, 3, 0)
    yield E(RuntimeError, "length must be non-negative", T(2), 0, 0, -1)
    yield E(RuntimeError, "cannot be applied to a 0-dim tensor", T(), 0, 0, 1)


@errors("flatten")
def bad_flatten():
    yield E(RuntimeError, "start_dim cannot come after end_dim", T(2, 3), 1, 0)


@errors("unflatten")
def bad_unflatten():
    yield E(RuntimeError, r"don't multiply up to the size of dim 1 \(3\)", T(2, 3), 1, (2, -1))
    yield E(RuntimeError, "sizes must be non-empty", T(2, 3), 1, ())
    yield E(RuntimeError, "only one dimension can be inferred", T(2, 3), 1, (-1, -1))


@errors("squeeze")
def bad_squeeze():
    yield E(IndexError, "Dimension out of range", T(2, 3), 2)
    yield E(RuntimeError, "appears multiple times", T(2, 3), (0, 0))


@errors("adjoint")
def bad_adjoint():
    yield E(RuntimeError, "only supported on matrices", T(2))


@errors("diagonal")
def bad_diagonal():
    yield E(RuntimeError, "diagonal dimensions cannot be identical", T(2, 3), 0, 1, -1)


@errors("unfold")
def bad_unfold():
    yield E(RuntimeError, "maximum size for tensor at dimension 0 is 3 but size is 4", T(3), 0, 4, 1)
    yield E(RuntimeError, "step is 0 but must be > 0", T(3), 0, 1, 0)


@errors("as_strided")
def bad_as_strided():
    yield E(RuntimeError, "need a storage of 7 elements; this one has 6", T(6), (7,), (1,))
    yield E(RuntimeError, "Negative strides", T(6), (2,), (-1,))
    yield E(RuntimeError, "mismatch in length of strides", T(6), (2,), (1, 1))
    yield E(RuntimeError, "storage_offset must be non-negative", T(6), (2,), (1,), -1)


@errors("view_as_real")
def bad_view_as_real():
    yield E(RuntimeError, "only supported for complex tensors", T(2))


@errors("view_as_complex")
def bad_view_as_complex():
    yield E(RuntimeError, "last dimension of size 2", T(3))
    yield E(RuntimeError, "float and double tensors", T(2), _dtypes=("int64",))


@errors("imag")
def bad_imag():
    yield E(RuntimeError, "not implemented for tensors with non-complex dtypes", T(2))


@errors("sum_to_size")
def bad_sum_to_size():
    yield E(RuntimeError, "is not expandable to size", T(2, 3), (3, 3))
