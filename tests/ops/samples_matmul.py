"""Samples of matrix products and what is made of them."""

import numpy as np

from tests.ops.sampling import COMPLEX, FLOAT, NUMBER, A, B, E, I, S, T, errors, samples

# float16 and bfloat16 results are sums of products: rounding happens once here, several times elsewhere.
MATH = ("float32", "float64") + COMPLEX


@samples("mm", dtypes=NUMBER)
def mm():
    yield S(T(2, 3), T(3, 2))
    yield S(T(1, 3), T(3, 4))
    yield S(T(3, 2), T(2, 1))
    yield S(T(3, 2, layout="transposed"), T(2, 3, layout="transposed"))
    yield S(T(3, 2, layout="expanded"), T(2, 3, layout="strided"))
    yield S(T(2, 0), T(0, 3))
    yield S(T(0, 2), T(2, 3))
    yield S(T(2, 3), T(3, 0))
    yield S(T(7, 9, low=-1, high=1), T(9, 17, low=-1, high=1), _grad=False)
    yield S(T(70, 65, low=-1, high=1), T(65, 90, low=-1, high=1), _dtypes=MATH + ("int64", "uint8"), _grad=False)
    yield S(T(70, 65, layout="transposed"), T(65, 90, layout="strided"), _dtypes=MATH, _grad=False, _tol=1e-4)


@errors("mm")
def bad_mm():
    yield E(RuntimeError, "self must be a matrix", T(2), T(2, 2))
    yield E(RuntimeError, "mat2 must be a matrix", T(2, 2), T(2))
    yield E(RuntimeError, r"shapes cannot be multiplied \(2x3 and 2x3\)", T(2, 3), T(2, 3))
    yield E(RuntimeError, "same dtype", T(2, 2), T(2, 2, dtype="float64"))
    yield E(NotImplementedError, "'Bool'", B(2, 2), B(2, 2))


@samples("bmm", dtypes=NUMBER)
def bmm():
    yield S(T(2, 2, 3), T(2, 3, 1))
    yield S(T(2, 1, 2), T(2, 2, 3))
    yield S(T(3, 2, 2, layout="transposed"), T(3, 2, 1, layout="transposed"))
    yield S(T(2, 2, 3, layout="expanded"), T(2, 3, 1))
    yield S(T(0, 2, 3), T(0, 3, 2))
    yield S(T(2, 2, 0), T(2, 0, 3))
    yield S(T(2, 0, 2), T(2, 2, 3))
    yield S(T(20, 5, 7, low=-1, high=1), T(20, 7, 6, low=-1, high=1), _grad=False)
    yield S(T(3, 70, 65, low=-1, high=1), T(3, 65, 66, low=-1, high=1), _dtypes=MATH, _grad=False)


@errors("bmm")
def bad_bmm():
    yield E(RuntimeError, "batch1 must be a 3D tensor", T(2, 2), T(2, 2, 2))
    yield E(RuntimeError, "batch2 must be a 3D tensor", T(2, 2, 2), T(2, 2))
    yield E(RuntimeError, r"to be: \[2, 2\] but got: \[3, 2\]", T(2, 2, 2), T(3, 2, 2))
    yield E(RuntimeError, "expected scalar type Float but found Double", T(1, 2, 2), T(1, 2, 2, dtype="float64"))


@samples("mv", dtypes=NUMBER)
def mv():
    yield S(T(2, 3), T(3))
    yield S(T(3, 2, layout="transposed"), T(2, layout="strided"))
    yield S(T(2, 3, layout="strided"), T(3))
    yield S(T(2, 0), T(0))
    yield S(T(0, 2), T(2))
    yield S(T(40, 30, low=-1, high=1), T(30, low=-1, high=1), _grad=False)


@errors("mv")
def bad_mv():
    yield E(RuntimeError, "size mismatch", T(2, 2), T(3))
    yield E(RuntimeError, "expected a matrix and a vector", T(2), T(2))
    yield E(RuntimeError, "same dtype", T(2, 2), T(2, dtype="float64"))


@samples("dot", "vdot", dtypes=NUMBER)
def dot():
    yield S(T(5), T(5))
    yield S(T(1), T(1))
    yield S(T(0), T(0))
    yield S(T(6, layout="strided"), T(6))
    yield S(T(70, low=-1, high=1), T(70, low=-1, high=1), _grad=False)


@errors("dot", "vdot")
def bad_dot():
    yield E(RuntimeError, r"inconsistent tensor size, expected tensor \[2\] and src \[3\]", T(2), T(3))
    yield E(RuntimeError, "1D tensors expected, but got 2D and 1D tensors", T(2, 2), T(2))
    yield E(RuntimeError, "to have same dtype, but found Float and Double", T(2), T(2, dtype="float64"))
    yield E(NotImplementedError, "'Bool'", B(2), B(2))


@samples("matmul", dtypes=NUMBER)
def matmul():
    yield S(T(3), T(3))
    yield S(T(2, 3), T(3))
    yield S(T(3), T(3, 2))
    yield S(T(2, 3), T(3, 2))
    yield S(T(2, 2, 3), T(3))
    yield S(T(2, 2, 2), T(2, 3))
    yield S(T(2), T(3, 2, 2))
    yield S(T(2, 2), T(3, 2, 1))
    yield S(T(2, 2, 2), T(2, 2, 1))
    yield S(T(2, 1, 1, 2), T(3, 2, 1))
    yield S(T(1, 2, 1, 2), T(2, 1, 2, 1))
    yield S(T(2, 2, 3, layout="transposed"), T(3, 2))
    yield S(T(2, 2, 2, layout="expanded"), T(2, 2, 2, layout="transposed"))
    yield S(T(2, 0), T(0, 3))
    yield S(T(0, 2, 3), T(3, 2))
    yield S(T(2, 2, 0), T(0))
    yield S(T(2, 2, 0), T(1, 0, 2))
    yield S(T(4, 5, 6, low=-1, high=1), T(6, 7, low=-1, high=1), _grad=False)


@errors("matmul")
def bad_matmul():
    yield E(RuntimeError, "both arguments to matmul need to be at least 1D, but they are 0D and 1D", T(), T(2))
    yield E(RuntimeError, r"size of tensor a \(2\) must match the size of tensor b \(3\)", T(2, 2, 3), T(3, 3, 2))
    yield E(RuntimeError, r"cannot be multiplied \(2x3 and 2x3\)", T(2, 3), T(2, 3))
    yield E(RuntimeError, "cannot be multiplied", T(2, 2, 3), T(4))
    yield E(RuntimeError, "same dtype", T(2, 2, 3), T(3, dtype="float64"))


@samples("inner", dtypes=NUMBER)
def inner():
    yield S(T(3), T(3))
    yield S(T(2, 3), T(3))
    yield S(T(2, 2), T(3, 2))
    yield S(T(2, 2, 2), T(1, 2))
    yield S(T(), T(3))
    yield S(T(2, 2), T())
    yield S(T(2, 0), T(3, 0))


@errors("inner")
def bad_inner():
    yield E(RuntimeError, r"must match on both input tensors but got shapes \[2, 3\] and \[2\]", T(2, 3), T(2))


@samples("outer", "ger", dtypes=("bool",) + NUMBER)
def outer():
    yield S(T(3), T(2))
    yield S(T(0), T(2))
    yield S(T(2), I(3))


@errors("outer")
def bad_outer():
    yield E(RuntimeError, "Expected 1-D argument self, but got 2-D", T(2, 2), T(2))
    yield E(RuntimeError, "Expected 1-D argument vec2, but got 0-D", T(2), T())


@samples("vecdot", dtypes=FLOAT + COMPLEX, call="linalg")
def vecdot():
    yield S(T(3), T(3))
    yield S(T(2, 3), T(3))
    yield S(T(2, 3), T(2, 3), dim=0)


@samples("linear", dtypes=NUMBER, call=lambda lib, *a, **k: functional(lib).linear(*a, **k))
def linear():
    yield S(T(2, 3), T(2, 3), T(2))
    yield S(T(2, 3), T(2, 3))
    yield S(T(3), T(2, 3), T(2))
    yield S(T(3), T(2, 3))
    yield S(T(2, 1, 3), T(2, 3), T(2))
    yield S(T(2, 2, 1, 2), T(1, 2))
    yield S(T(2, 2, 2, layout="transposed"), T(3, 2, layout="transposed"), T(3))
    yield S(T(2, 3), T(3))
    yield S(T(2, 2, 2), T(2), T())
    yield S(T(2, 3), T(2, 3), T(1))
    yield S(T(2, 3), T(2, 3), bias=None)
    yield S(T(0, 3), T(2, 3), T(2))
    yield S(T(2, 0), T(2, 0), T(2))
    yield S(T(30, 20, low=-1, high=1), T(40, 20, low=-1, high=1), T(40), _dtypes=MATH, _grad=False)


@errors("linear")
def bad_linear():
    yield E(RuntimeError, r"cannot be multiplied \(2x3 and 2x4\)", T(2, 3), T(4, 2))
    yield E(RuntimeError, "broadcast", T(2, 3), T(4, 3), T(2, 1, 4))
    yield E(RuntimeError, "match|broadcast", T(2, 3), T(4, 3), T(5))
    yield E(RuntimeError, "same dtype", T(2, 3), T(4, 3, dtype="float64"))
    yield E(RuntimeError, "same dtype", T(2, 3), T(4, 3), T(4, dtype="float64"))
    yield E(RuntimeError, "at least 1D", T(), T(4, 3))


def functional(lib):
    """nn.functional, or the part of the table it is made of."""
    nn = getattr(lib, "nn", None)
    if hasattr(nn, "functional"):
        return nn.functional
    import types

    return types.SimpleNamespace(**lib._C._functional)


@samples("addmm", dtypes=NUMBER)
def addmm():
    yield S(T(2, 2), T(2, 3), T(3, 2))
    yield S(T(2), T(2, 3), T(3, 2), beta=2, alpha=3)
    yield S(T(2, 1), T(2, 2), T(2, 3), beta=0.5, alpha=-1.5, _dtypes=FLOAT)
    yield S(T(2, 2), T(2, 2), T(2, 2), beta=1j, alpha=2 - 1j, _dtypes=COMPLEX)
    yield S(A([[np.nan, np.inf], [0.0, np.nan]]), T(2, 3), T(3, 2), beta=0, _dtypes=FLOAT, _grad=False)
    yield S(T(2, 2), T(2, 3), T(3, 2), alpha=0)
    yield S(T(), T(2, 3), T(3, 2))
    yield S(T(2, 2, layout="transposed"), T(2, 3, layout="transposed"), T(3, 2, layout="transposed"))
    yield S(T(2, 3), T(2, 0), T(0, 3), beta=2)
    yield S(T(0, 3), T(0, 2), T(2, 3))
    yield S(T(7), T(20, 9, low=-1, high=1), T(9, 7, low=-1, high=1), _grad=False)


@errors("addmm")
def bad_addmm():
    yield E(RuntimeError, "cannot be expanded", T(3), T(2, 3), T(3, 2))
    yield E(RuntimeError, "cannot be expanded", T(1, 2, 2), T(2, 3), T(3, 2))
    yield E(
        RuntimeError,
        "self and mat2 must have the same dtype, but got Double and Float",
        T(2, dtype="float64"),
        T(2, 3),
        T(3, 2),
    )
    yield E(RuntimeError, "without overflow", T(2), T(2, 3), T(3, 2), beta=1j)
    yield E(RuntimeError, "mat1 must be a matrix", T(2), T(2), T(2, 2))


@samples("addmv", dtypes=NUMBER)
def addmv():
    yield S(T(2), T(2, 3), T(3))
    yield S(T(2), T(2, 3), T(3), beta=2, alpha=3)
    yield S(T(1), T(2, 3), T(3))
    yield S(T(), T(2, 3), T(3))
    yield S(A([np.nan, 1.0]), T(2, 3), T(3), beta=0, _dtypes=FLOAT, _grad=False)
    yield S(T(2), T(2, 0), T(0), beta=3)
    yield S(T(3, layout="strided"), T(3, 2, layout="transposed"), T(2, layout="strided"))


@errors("addmv")
def bad_addmv():
    yield E(RuntimeError, r"size mismatch, got input \(3\), mat \(2x3\), vec \(3\)", T(3), T(2, 3), T(3))
    yield E(RuntimeError, "got 1, 1, 1", T(2), T(2), T(2))
    yield E(RuntimeError, "got Double, Float, and Float", T(2, dtype="float64"), T(2, 3), T(3))


@samples("addr", dtypes=("bool",) + NUMBER)
def addr():
    yield S(T(2, 3), T(2), T(3))
    yield S(T(3), T(2), T(3), beta=2, alpha=3, _dtypes=NUMBER)
    yield S(T(2, 3), T(2), T(3), beta=True, alpha=False, _dtypes=("bool",))
    yield S(T(), T(2), T(3))
    yield S(T(2, 2), T(2), I(2))
    yield S(I(2, 2), T(2), T(2, dtype="float64"))
    yield S(A([[np.nan, 1.0]]), T(1), T(2), beta=0, _dtypes=FLOAT, _grad=False)
    yield S(T(0, 2), T(0), T(2))


@errors("addr")
def bad_addr():
    yield E(RuntimeError, "Expected 1-D argument vec1", T(2, 2), T(2, 2), T(2))
    yield E(RuntimeError, "alpha must not be a floating point number", I(2, 2), I(2), I(2), alpha=1.5)
    yield E(RuntimeError, "must match|expanded", T(2, 2), T(3), T(2))


@samples("baddbmm", dtypes=NUMBER)
def baddbmm():
    yield S(T(2, 2, 2), T(2, 2, 3), T(2, 3, 2))
    yield S(T(2), T(2, 2, 2), T(2, 2, 2), beta=2, alpha=3)
    yield S(T(2, 1, 1), T(2, 2, 2), T(2, 2, 2))
    yield S(A(np.full((1, 1, 2), np.nan)), T(1, 1, 3), T(1, 3, 2), beta=0, _dtypes=FLOAT, _grad=False)
    yield S(T(2, 2, 3), T(2, 2, 0), T(2, 0, 3), beta=2)
    yield S(T(0, 2, 2), T(0, 2, 3), T(0, 3, 2))
    yield S(T(2, 2, 2, layout="transposed"), T(2, 2, 2, layout="transposed"), T(2, 2, 2, layout="expanded"))


@samples("addbmm", dtypes=NUMBER)
def addbmm():
    yield S(T(2, 2), T(2, 2, 3), T(2, 3, 2))
    yield S(T(2), T(2, 2, 2), T(2, 2, 2), beta=2, alpha=3)
    yield S(T(), T(2, 2, 2), T(2, 2, 1))
    yield S(A([[np.nan, 1.0]]), T(2, 1, 3), T(2, 3, 2), beta=0, _dtypes=FLOAT, _grad=False)
    yield S(T(2, 2), T(0, 2, 3), T(0, 3, 2), beta=2)
    yield S(T(2, 2, layout="transposed"), T(3, 2, 2, layout="transposed"), T(3, 2, 2, layout="strided"))


@errors("baddbmm", "addbmm")
def bad_addbmm():
    yield E(RuntimeError, "batch1 must be a 3D tensor", T(2, 2), T(2, 3), T(2, 3, 2))
    yield E(RuntimeError, "Expected size for first two dimensions", T(2, 2), T(2, 2, 3), T(2, 2, 3))
    yield E(RuntimeError, "cannot be expanded", T(3, 3), T(2, 2, 3), T(2, 3, 2))
    yield E(RuntimeError, "Input dtypes must be the same", T(2, 2, dtype="float64"), T(2, 2, 3), T(2, 3, 2))


@samples("einsum", dtypes=NUMBER)
def einsum():
    yield S("ij,jk->ik", T(2, 3), T(3, 2))
    yield S("ij,jk", T(2, 3), T(3, 2))
    yield S("ij,kj->ki", T(2, 3), T(2, 3))
    yield S("i,j->ji", T(2), T(3))
    yield S("i,i", T(3), T(3))
    yield S("i,i->i", T(3), T(3))
    yield S("ij->ji", T(2, 3))
    yield S("ba", T(2, 3))
    yield S("aB", T(2, 3))
    yield S("ij->", T(2, 3))
    yield S("ij->j", T(2, 3))
    yield S("ii->i", T(3, 3))
    yield S("ii", T(3, 3))
    yield S("iji->j", T(2, 3, 2))
    yield S("ijij->ij", T(2, 2, 2, 2))
    yield S("bij,bjk->bik", T(2, 2, 2), T(2, 2, 1))
    yield S("b i j, b j k -> b k i", T(2, 2, 2), T(2, 2, 1))
    yield S("...ij,...jk->...ik", T(2, 2, 1), T(1, 2))
    yield S("...ij,...j", T(2, 2, 2), T(2, 2))
    yield S("...i->...", T(2, 3))
    yield S("i...->i", T(2, 3))
    yield S("...,...", T(2, 3), T(3))
    yield S("ij->i...", T(2, 3))
    yield S("i...i", T(2, 3, 2))
    yield S("ij,jk,kl->il", T(2, 2), T(2, 2), T(2, 1))
    yield S("i,j,k->kij", T(2), T(1), T(2))
    yield S("bi,oij,bj->bo", T(2, 2), T(2, 2, 1), T(2, 1))
    yield S("ij,ij->ij", T(2, 3), T(1, 3))
    yield S("ij,jk->ik", T(2, 1), T(3, 2))
    yield S("ij,kl->il", T(2, 3), T(2, 2))
    yield S("ij,jk->ik", T(2, 0), T(0, 3))
    yield S("ij,jk->ik", [T(2, 2), T(2, 2)])
    yield S("->", T())
    yield S(",", T(), T())
    yield S(T(2, 3), [0, 1], T(3, 2), [1, 2], [0, 2])
    yield S(T(2, 3), [1, 0])
    yield S(T(2, 3), [..., 0], T(3), [0])
    yield S(T(2, 2), [30, 30], [30])
    yield S("ij,ij->ij", T(2, 2), I(2, 2))


@errors("einsum")
def bad_einsum():
    yield E(ValueError, "at least one operand", "ij")
    yield E(RuntimeError, "fewer operands were provided", "ij,jk", T(2, 3))
    yield E(RuntimeError, "more operands were provided", "ij", T(2, 3), T(3))
    yield E(
        RuntimeError,
        "subscript j has size 2 for operand 1 which does not broadcast with previously seen size 3",
        "ij,jk",
        T(2, 3),
        T(2, 3),
    )
    yield E(
        RuntimeError,
        r"number of subscripts in the equation \(2\) does not match the number of dimensions \(3\) for operand 0",
        "ij",
        T(2, 3, 4),
    )
    yield E(
        RuntimeError,
        r"number of subscripts in the equation \(2\) is more than the number of dimensions \(1\)",
        "ij...",
        T(2),
    )
    yield E(RuntimeError, "invalid subscript given at index 1", "i1", T(2, 3))
    yield E(RuntimeError, "is repeated for operand 0 but the sizes don't match, 3 != 2", "ii", T(2, 3))
    yield E(RuntimeError, "output subscript k does not appear", "ij->k", T(2, 3))
    yield E(RuntimeError, "output subscript i appears more than once", "ij->ii", T(2, 3))
    yield E(RuntimeError, "not part of any ellipsis", "i.j->j", T(2, 3))
    yield E(RuntimeError, "ellipsis was already found", "......", T(2, 3))
    yield E(RuntimeError, "broadcast", "...,...", T(2), T(3))
    yield E(RuntimeError, "expected scalar type Float but found Double", "ij,jk", T(2, 2), T(2, 2, dtype="float64"))
    yield E(ValueError, r"valid range \[0, 52\)", T(2), [60])


@samples("tensordot", dtypes=NUMBER)
def tensordot():
    yield S(T(2, 3), T(3, 2), 1)
    yield S(T(2, 3), T(2, 3))
    yield S(T(2), T(3), 0)
    yield S(T(2, 3), T(2, 3), dims=([0, 1], [0, 1]))
    yield S(T(2, 1, 3), T(3, 2), dims=([2, 0], [0, 1]))
    yield S(T(2, 3), T(2, 3), dims=([-1], [1]))
    yield S(T(2, 1), T(3, 2), dims=([1], [0]))
    yield S(T(2, 3), T(1, 2), dims=([1], [0]))
    yield S(T(2, 0), T(0, 3), 1)


@errors("tensordot")
def bad_tensordot():
    yield E(RuntimeError, "contracted dimensions need to match, but first has size 3", T(2, 3), T(2, 3), 1)
    yield E(RuntimeError, "expects dims < ndim_a or ndim_b, but got dims=3", T(2, 3), T(3, 2), 3)
    yield E(RuntimeError, "expects dims >= 0", T(2, 3), T(3, 2), -1)
    yield E(RuntimeError, "same length", T(2, 3), T(2, 3), ([0], [0, 1]))


@samples("bilinear", dtypes=FLOAT + COMPLEX)
def bilinear():
    # The terms of a sum are rounded to float16 and bfloat16 at other places.
    half = ("float32", "float64") + COMPLEX
    yield S(T(2, 2), T(2, 1), T(2, 2, 1), T(2), _dtypes=half)
    yield S(T(2, 2), T(2, 1), T(2, 2, 1), _dtypes=half)
    yield S(T(2), T(2), T(1, 2, 2), T(1), _dtypes=half)
    yield S(T(2, 1, 2), T(2, 1, 2), T(1, 2, 2), _dtypes=half)
    yield S(T(0, 2), T(0, 3), T(2, 2, 3), T(2), _dtypes=half)


@errors("bilinear")
def bad_bilinear():
    yield E(RuntimeError, "batch dimensions do not match", T(2, 2), T(3, 2), T(1, 2, 2))
    yield E(RuntimeError, "input sizes do not match the weight", T(2, 3), T(2, 2), T(1, 2, 2))


@samples("kron", dtypes=("bool",) + NUMBER)
def kron():
    yield S(T(2), T(3))
    yield S(T(2, 2), T(1, 3))
    yield S(T(2), T(2, 2))
    yield S(T(2, 1, 2), T(2))
    yield S(T(), T(2))
    yield S(T(2), I(2))
    yield S(T(0, 2), T(2, 2))


@samples("chain_matmul", dtypes=("float32", "float64") + COMPLEX)
def chain_matmul():
    yield S(T(2, 3))
    yield S(T(2, 3), T(3, 2))
    yield S(T(2, 1), T(1, 3), T(3, 2), T(2, 2))


@errors("chain_matmul")
def bad_chain_matmul():
    yield E(RuntimeError, "Expected one or more matrices")
    yield E(RuntimeError, "Tensor dimension is 1, expected 2 instead", T(2, 2), T(2))
    yield E(RuntimeError, "cannot be multiplied", T(2, 2), T(3, 2))


@samples("multi_dot", dtypes=("float32", "float64") + COMPLEX, call="linalg")
def multi_dot():
    yield S([T(2, 3), T(3, 2)])
    yield S([T(2), T(2, 3), T(3, 2)])
    yield S([T(2, 2), T(2, 3), T(3)])
    yield S([T(2), T(2, 3), T(3)])
    yield S([T(2, 1), T(1, 3), T(3, 1), T(1, 2)])
    yield S([T(3), T(3)])


@errors("multi_dot")
def bad_multi_dot():
    yield E(RuntimeError, "expected at least 2 tensors but got 1", [T(2, 2)])
    yield E(RuntimeError, "tensor 1 must be 2D", [T(2, 2), T(2), T(2, 2)])
    yield E(RuntimeError, "cannot be multiplied", [T(2, 2), T(3, 2)])
    yield E(RuntimeError, "the first tensor must be 1D or 2D", [T(2, 2, 2), T(2)])


@samples("cdist", dtypes=("float32", "float64"))
def cdist():
    yield S(T(3, 2), T(2, 2))
    for p in (0.0, 0.5, 1.0, 1.5, 3.0, np.inf):
        yield S(T(2, 3), T(2, 3), p)
    yield S(T(2, 2), T(3, 2), p=2.0, compute_mode="use_mm_for_euclid_dist")
    yield S(T(2, 2), T(3, 2), compute_mode="donot_use_mm_for_euclid_dist")
    yield S(T(2, 1, 2), T(1, 2, 2))
    yield S(T(2, 2, 2), T(2, 2), compute_mode="use_mm_for_euclid_dist")
    yield S(T(0, 2), T(3, 2))
    yield S(T(2, 0), T(3, 0), _grad=False)
    yield S(T(3, 2, layout="transposed"), T(2, 2, layout="strided"), 1.0)
    yield S(T(30, 9), T(28, 9), _grad=False, _tol=1e-3)  # differences of large numbers
    yield S(T(5, 20), T(6, 20), 1.0, _grad=False)


@errors("cdist")
def bad_cdist():
    yield E(RuntimeError, "at least 2D tensors, X1 got: 1D", T(2), T(2, 2))
    yield E(RuntimeError, "same number of columns. X1: 3 X2: 2", T(2, 3), T(2, 2))
    yield E(RuntimeError, "floating-point dtypes, X1 got: Long", I(2, 2), I(2, 2))
    yield E(RuntimeError, "non-negative p", T(2, 2), T(2, 2), -1.0)
    yield E(ValueError, "not a valid value for compute_mode", T(2, 2), T(2, 2), 2.0, "x")


@samples("cross", dtypes=NUMBER)
def cross():
    yield S(T(3), T(3), 0)
    yield S(T(2, 3), T(2, 3), dim=1)
    yield S(T(3, 2), T(3, 2), dim=-2)
    yield S(T(2, 3), T(1, 3), dim=-1)
    yield S(T(2, 3), T(2, 3))
    yield S(T(3, 2, layout="transposed"), T(3, 2, layout="strided"), 0)
    yield S(T(0, 3), T(0, 3), 1)


@errors("cross")
def bad_cross():
    yield E(RuntimeError, "dimension 0 must have length 3. Got 4 and 4", T(4), T(4), 0)
    yield E(RuntimeError, "no dimension of size 3", T(2, 2), T(2, 2))
    yield E(RuntimeError, "same number of dimensions", T(2, 3), T(3), 1)
    yield E(RuntimeError, "expected scalar type Float but found Double", T(3), T(3, dtype="float64"), 0)


@samples("linalg_cross", dtypes=NUMBER, call=lambda lib, *a, **k: lib.linalg.cross(*a, **k))
def linalg_cross():
    yield S(T(3), T(3))
    yield S(T(2, 3), T(2, 3))
    yield S(T(3, 2), T(3, 1), dim=0)
