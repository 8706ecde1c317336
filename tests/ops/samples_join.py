"""Samples of joining, splitting, rearranging and padding."""

from tests.ops.sampling import ALL, COMPLEX, FLOAT, NUMBER, E, I, S, T, errors, samples


@samples("cat", "concat", "concatenate", dtypes=ALL)
def cat():
    yield S([T(2, 3), T(1, 3)])
    yield S([T(2, 3), T(2, 1)], 1)
    yield S([T(2, 1, 2), T(2, 2, 2)], dim=-2)
    yield S([T(3)])
    yield S([T(0), T(2, 2)], 1)
    yield S([T(2, 2), T(0), T(0, 2)])
    yield S([T(0), T(0)])
    yield S([T(2), I(3)])
    yield S([T(2, 2), T(2, 1, dtype="float64")], 1)
    yield S([T(3, 2, layout="transposed"), T(1, 2)])
    yield S((T(2), T(1)), axis=0)


@samples("stack", dtypes=ALL)
def stack():
    yield S([T(2, 3), T(2, 3)])
    yield S([T(2, 3), T(2, 3)], 1)
    yield S([T(2, 3), T(2, 3)], dim=-1)
    yield S([T(), T(), T()])
    yield S([T(2), I(2)])
    yield S([T(0, 2), T(0, 2)])
    yield S([T(3, 2, layout="transposed"), T(3, 2)], 2)
    yield S([T(3, 2, layout="transposed"), T(3, 2, layout="transposed")])
    yield S([T(2, 33), T(2, 33), T(2, 33)], 1)  # (rows of all of them, interleaved)
    yield S([T(2, 33), I(2, 33)], 1)


@samples("hstack", "vstack", "row_stack", "dstack", "column_stack", dtypes=FLOAT + ("int64",))
def stacks():
    yield S([T(3), T(3)])
    yield S([T(2, 3), T(2, 3)])
    yield S([T(), T()])
    yield S([T(1, 2, 2), T(1, 2, 2)])


@samples("block_diag", dtypes=ALL)
def block_diag():
    yield S(T(2, 2), T(1, 3))
    yield S(T(2), T(), T(2, 1))
    yield S(T(2, 1), I(1))
    yield S(T(0, 2), T(1, 1))
    yield S()


@samples("meshgrid", dtypes=FLOAT + ("int64",))
def meshgrid():
    yield S(T(2), T(3))
    yield S(T(2), T(3), indexing="ij")
    yield S(T(2), T(3), T(2), indexing="xy")
    yield S([T(2), T()], indexing="ij")
    yield S(T(2), indexing="xy")


@samples("cartesian_prod", dtypes=FLOAT + ("int64",))
def cartesian_prod():
    yield S(T(2), T(3))
    yield S(T(2), T(1), T(2))
    yield S(T(3))


@samples("combinations", dtypes=FLOAT + ("int64",))
def combinations():
    yield S(T(4))
    yield S(T(4), 3)
    yield S(T(3), 2, True)
    yield S(T(3), r=1, with_replacement=True)
    yield S(T(2), 3)
    yield S(T(3), 0, _grad=False)


@samples("split", dtypes=ALL)
def split():
    yield S(T(5), 2)
    yield S(T(2, 5), 3, 1)
    yield S(T(5, 2), [1, 0, 4])
    yield S(T(2, 4), (3, 1), dim=-1)
    yield S(T(3), 7)
    yield S(T(0, 2), 2)
    yield S(T(0, 2), 0)


@samples("split_with_sizes")
def split_with_sizes():
    yield S(T(5), [2, 3])
    yield S(T(2, 3), (1, 2), 1)


@samples("chunk")
def chunk():
    yield S(T(5), 2)
    yield S(T(2, 4), 3, 1)
    yield S(T(3), 5)
    yield S(T(0), 3)


@samples("tensor_split")
def tensor_split():
    yield S(T(5), 3)
    yield S(T(2, 5), 7, 1)
    yield S(T(5), (1, 3))
    yield S(T(5), (-3, 10))
    yield S(T(5), (3, 1))
    yield S(T(5, 2), I(2, low=1, high=3))
    yield S(T(5), I(low=2, high=3))
    yield S(T(2, 3), [1], dim=-1)


@samples("hsplit")
def hsplit():
    yield S(T(4), 2)
    yield S(T(2, 4), 2)
    yield S(T(2, 4), (1, 2))


@samples("vsplit")
def vsplit():
    yield S(T(4, 2), 2)
    yield S(T(4, 2), (1,))


@samples("dsplit")
def dsplit():
    yield S(T(1, 2, 4), 2)
    yield S(T(1, 2, 4), (1, 3))


@samples("unbind", dtypes=ALL)
def unbind():
    yield S(T(3, 2))
    yield S(T(2, 3), 1)
    yield S(T(3), dim=-1)
    yield S(T(0, 2))


@samples("repeat", dtypes=ALL)
def repeat():
    yield S(T(2, 1), (2, 3))
    yield S(T(2), 2, 2)
    yield S(T(), 3)
    yield S(T(2, 2), (0, 1))
    yield S(T(), ())
    yield S(T(1, 3), (2, 1, 2))


@samples("tile", dtypes=ALL)
def tile():
    yield S(T(2, 2), (2,))
    yield S(T(2), (2, 2))
    yield S(T(2, 1), ())
    yield S(T(2, 1), dims=(1, 2))


@samples("flip", dtypes=ALL)
def flip():
    yield S(T(2, 3), (0,))
    yield S(T(2, 3), (0, -1))
    yield S(T(2, 3), ())
    yield S(T(), (0,))
    yield S(T(3, 2, layout="transposed"), 1)
    yield S(T(2, 0), (0,))
    yield S(T(2, 2, 2), [0, 2])


@samples("fliplr", "flipud", dtypes=FLOAT + ("int64",))
def flip_sides():
    yield S(T(2, 3))
    yield S(T(2, 2, 2))


@samples("rot90", dtypes=FLOAT + ("int64",))
def rot90():
    yield S(T(2, 3))
    yield S(T(2, 3), 2)
    yield S(T(2, 3), -1, (1, 0))
    yield S(T(2, 3), 4)
    yield S(T(2, 1, 3), k=1, dims=[0, 2])


@samples("roll", dtypes=ALL)
def roll():
    yield S(T(5), 2)
    yield S(T(5), -7)
    yield S(T(2, 3), 1)
    yield S(T(2, 3), 1, 0)
    yield S(T(2, 3), (1, -1), (0, 1))
    yield S(T(2, 3), (1, 1), (1, 1))
    yield S(T(), 1)
    yield S(T(0, 2), 1, 0)
    yield S(T(3, 2, layout="transposed"), 1)
    yield S(T(3, 2, layout="transposed"), shifts=(1,), dims=(-1,))
    yield S(T(2, 3), 1, None)


@samples("tril", "triu", dtypes=ALL)
def triangles():
    yield S(T(3, 3))
    yield S(T(2, 4), 1)
    yield S(T(4, 2), -1)
    yield S(T(2, 2, 3), diagonal=1)
    yield S(T(3, 3), 100)
    yield S(T(3, 3), -100)
    yield S(T(3, 4, layout="transposed"))
    yield S(T(0, 3))


@samples("diag", dtypes=ALL)
def diag():
    yield S(T(3))
    yield S(T(2), 1)
    yield S(T(2), -1)
    yield S(T(3, 3))
    yield S(T(2, 3), diagonal=1)
    yield S(T(0))


@samples("diag_embed", dtypes=ALL)
def diag_embed():
    yield S(T(3))
    yield S(T(2, 2))
    yield S(T(2), 1)
    yield S(T(2, 2), -1, 0, 2)
    yield S(T(2), offset=0, dim1=-1, dim2=-2)
    yield S(T(2), 2, 1, 0)
    yield S(T(0))


@samples("diagflat", dtypes=FLOAT + ("int64",))
def diagflat():
    yield S(T(2, 2))
    yield S(T(3), -1)
    yield S(T())


@samples("trace", dtypes=NUMBER)
def trace():
    yield S(T(3, 3))
    yield S(T(2, 4))
    yield S(T(0, 3))


@samples("vander", dtypes=FLOAT + COMPLEX + ("int64",))
def vander():
    yield S(T(3))
    yield S(T(3), 2)
    yield S(T(2), 4, True)
    yield S(T(3), N=0)
    yield S(T(0))


@samples("constant_pad_nd", dtypes=ALL)
def constant_pad_nd():
    yield S(T(2, 3), (1, 2))
    yield S(T(2, 3), (1, 2, 0, 1), 1)
    yield S(T(2, 3), (-1, 1))
    yield S(T(2, 3), (-1, -1, 2, -1), 2)
    yield S(T(2, 3), (-2, -1))
    yield S(T(2, 0), (1, 1))
    yield S(T(2, 3), ())
    yield S(T(1, 2, 2, 2, layout="transposed"), (1, 0, 0, 1))


@samples("pad", call="nn.functional")
def pad():
    yield S(T(2, 3), (1, 2))
    yield S(T(2, 3), (1, 2), "constant", 1.5)
    yield S(T(2, 3), [0, 1, 1, 0], value=2)
    for mode in ("reflect", "replicate", "circular"):
        yield S(T(1, 4), (2, 1), mode)
        yield S(T(1, 3, 3), (1, 2, 2, 0), mode=mode)
        yield S(T(1, 1, 2, 2, 2), (1, 1, 1, 0, 0, 1), mode)
    yield S(T(1, 3), (5, 4), "replicate")
    yield S(T(1, 4), (3, -1), "reflect")
    yield S(T(1, 4), (-1, 2), "circular")
    yield S(T(1, 4), (-4, 5), "replicate")
    yield S(T(1, 3), (-3, 1), "reflect")
    yield S(T(1, 3), (-3, 0), "circular")


@errors("cat")
def bad_cat():
    yield E(ValueError, "expected a non-empty list of Tensors", [])
    yield E(RuntimeError, r"zero-dimensional tensor \(at position 0\) cannot be concatenated", [T(), T()])
    yield E(RuntimeError, "Tensors must have same number of dimensions: got 2 and 1", [T(2, 3), T(3)])
    yield E(RuntimeError, "Expected size 3 but got size 2 for tensor number 1 in the list", [T(2, 3), T(2, 2)])
    yield E(IndexError, "Dimension out of range", [T(2, 3)], 2)
    yield E(TypeError, "must be tuple of Tensors, not Tensor", T(2))


@errors("stack")
def bad_stack():
    yield E(RuntimeError, "non-empty TensorList", [])
    yield E(RuntimeError, r"equal size, but got \[2\] at entry 0 and \[3\] at entry 1", [T(2), T(3)])
    yield E(IndexError, "Dimension out of range", [T(2), T(2)], 2)


@errors("hstack")
def bad_hstack():
    yield E(RuntimeError, "hstack expects a non-empty TensorList", [])


@errors("block_diag")
def bad_block_diag():
    yield E(RuntimeError, "Input 1 has 3 dimensions", T(2), T(1, 1, 1))


@errors("meshgrid")
def bad_meshgrid():
    yield E(RuntimeError, "Expected 0D or 1D tensor", T(2, 2), T(2))
    yield E(RuntimeError, "same dtype", T(2), I(2))
    yield E(RuntimeError, "non-empty TensorList")
    yield E(RuntimeError, "indexing must be one of", T(2), indexing="zz")


@errors("cartesian_prod")
def bad_cartesian_prod():
    yield E(RuntimeError, "Expect a 1D vector", T(2, 2), T(2))


@errors("combinations")
def bad_combinations():
    yield E(RuntimeError, "Expect a 1D vector", T(2, 2))
    yield E(RuntimeError, "non-negative number, but got -1", T(2), -1)


@errors("split")
def bad_split():
    yield E(RuntimeError, "expects at least a 1-dimensional tensor", T(), 1)
    yield E(RuntimeError, "be non-negative, but got split_size=-1", T(3), -1)
    yield E(RuntimeError, "can only be 0 if dimension size is 0", T(3), 0)
    yield E(RuntimeError, "sum exactly to 3", T(3), [1, 1])
    yield E(RuntimeError, "only non-negative entries", T(3), [4, -1])


@errors("chunk")
def bad_chunk():
    yield E(RuntimeError, "to be greater than 0, got: 0", T(3), 0)
    yield E(RuntimeError, "at most 1048576 pieces that are empty", T(2, 0), 1 << 62, 1)


@errors("tensor_split")
def bad_tensor_split():
    yield E(RuntimeError, "larger than 0, got 0", T(3), 0)
    yield E(RuntimeError, "at most 1048576 pieces that are empty", T(3), (1 << 63) - 1)
    yield E(RuntimeError, "at least a 1-dimensional tensor", T(), 1)
    yield E(RuntimeError, "dtype of long, but got Float", T(3), T(2))
    yield E(RuntimeError, "zero-dimensional or one-dimensional", T(3), I(1, 2))


@errors("hsplit")
def bad_hsplit():
    yield E(RuntimeError, "not divisible by the split_size 2", T(3), 2)
    yield E(RuntimeError, "at least 1 dimension", T(), 1)


@errors("vsplit")
def bad_vsplit():
    yield E(RuntimeError, "at least 2 dimensions", T(2), 1)


@errors("unbind")
def bad_unbind():
    yield E(IndexError, "tensor has no dimensions", T())
    yield E(IndexError, "Dimension out of range", T(2), 1)


@errors("repeat")
def bad_repeat():
    yield E(RuntimeError, "can not be smaller than number of dimensions of tensor", T(2, 2), 2)
    yield E(RuntimeError, "negative dimension", T(2, 2), 2, -1)


@errors("flip")
def bad_flip():
    yield E(RuntimeError, "dim 0 appears multiple times", T(2, 2), (0, -2))
    yield E(IndexError, "Dimension out of range", T(2, 2), (2,))


@errors("fliplr")
def bad_fliplr():
    yield E(RuntimeError, "Input must be >= 2-d", T(2))


@errors("rot90")
def bad_rot90():
    yield E(RuntimeError, "rotation dims to be different", T(2, 2), 1, (0, 0))
    yield E(RuntimeError, "rotation dims == 2", T(2, 2), 1, (0,))
    yield E(RuntimeError, "total dims >= 2", T(2))


@errors("roll")
def bad_roll():
    yield E(RuntimeError, "shifts and dimensions must align. shifts: 2, dims:0", T(2, 2), (1, 2))
    yield E(IndexError, "Dimension out of range", T(2, 2), 1, 2)


@errors("tril")
def bad_tril():
    yield E(RuntimeError, "at least 2 dimensions", T(2))


@errors("diag")
def bad_diag():
    yield E(RuntimeError, "Supports 1D or 2D tensors. Got 0D", T())
    yield E(RuntimeError, "Supports 1D or 2D tensors. Got 3D", T(1, 1, 1))


@errors("diag_embed")
def bad_diag_embed():
    yield E(RuntimeError, "diagonal dimensions cannot be identical", T(2), 0, 0, 0)
    yield E(IndexError, "Dimension out of range", T())


@errors("trace")
def bad_trace():
    yield E(RuntimeError, "expected a matrix", T(2))


@errors("vander")
def bad_vander():
    yield E(RuntimeError, "one-dimensional", T(2, 2))
    yield E(RuntimeError, "must be non-negative", T(2), -1)


@errors("pad")
def bad_pad():
    yield E(RuntimeError, "divisible by 2", T(2, 3), (1,))
    yield E(RuntimeError, "two times the input dimension", T(3), (1, 1, 1, 1))
    yield E(RuntimeError, "negative output size", T(3), (-2, -2))
    yield E(RuntimeError, "less than the corresponding input dimension", T(1, 3), (3, 0), "reflect")
    yield E(RuntimeError, "wrapping around more than once", T(1, 3), (4, 0), "circular")
    yield E(NotImplementedError, "not supported for 1D input", T(3), (1, 1), "reflect")
    yield E(NotImplementedError, "Unrecognised padding mode xx", T(1, 3), (1, 0), "xx")
    yield E(RuntimeError, "doesn't take in value argument", T(1, 3), (1, 0), "reflect", 1.0)
