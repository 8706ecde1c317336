"""Samples of convolutions."""

from tests.ops.sampling import COMPLEX, FLOAT, INT, E, S, T, errors, samples

REAL = FLOAT + INT
# What PyTorch computes with a dilation or transposed, besides floating-point numbers.
WIDE = FLOAT + ("int64",) + COMPLEX


@samples("conv1d", dtypes=REAL + COMPLEX)
def conv1d():
    yield S(T(1, 2, 5), T(2, 2, 2), T(2))
    yield S(T(2, 5), T(1, 2, 3), padding=1)  # no batch
    yield S(T(2, 1, 6), T(2, 1, 2), None, 2)
    yield S(T(1, 2, 4), T(4, 1, 2), T(4), groups=2)
    yield S(T(1, 2, 4), T(2, 1, 3), stride=(2,), padding=(1,), groups=2)  # depthwise
    yield S(T(1, 1, 7), T(1, 1, 3), T(1), 1, 2, 2, _dtypes=WIDE)
    yield S(T(1, 1, 5), T(2, 1, 2), padding="same")
    yield S(T(1, 1, 5), T(2, 1, 2), T(2), 2, "valid")
    yield S(T(1, 1, 6), T(1, 1, 3), padding="same", dilation=3, _dtypes=WIDE)
    yield S(T(0, 2, 5), T(3, 2, 2), T(3))
    yield S(T(1, 0, 5), T(3, 0, 2), _grad=False)
    yield S(T(1, 2, 4, layout="transposed"), T(2, 2, 2, layout="transposed"), T(2))
    yield S(T(2, 2, 3, layout="expanded"), T(2, 2, 1))


@samples("conv2d", dtypes=REAL + COMPLEX)
def conv2d():
    yield S(T(1, 2, 3, 3), T(1, 2, 2, 2), T(1))
    yield S(T(1, 3, 4), T(2, 1, 2, 3), T(2), padding=(1, 0))  # no batch
    yield S(T(2, 1, 3, 3), T(2, 1, 2, 2), stride=(2, 1), padding=1)
    yield S(T(1, 2, 3, 2), T(4, 1, 2, 1), T(4), groups=2)
    yield S(T(1, 2, 3, 3), T(2, 1, 3, 3), padding=1, groups=2)  # depthwise
    yield S(T(1, 1, 4, 4), T(1, 1, 2, 2), T(1), dilation=(2, 3), _dtypes=WIDE)
    yield S(T(1, 1, 3, 3), T(1, 1, 2, 3), T(1), padding="same")
    yield S(T(2, 3, 3), T(1, 2, 2, 2), padding="valid")
    yield S(T(2, 2, 2, 2), T(2, 2, 1, 1), T(2))
    yield S(T(1, 2, 3, 3), T(2, 2, 1, 1), None, 2)
    yield S(T(0, 2, 5, 5), T(3, 2, 2, 2), T(3))
    yield S(T(1, 1, 2, 2), T(1, 1, 5, 5), padding=2, _grad=False)  # a window larger than the image


@samples("conv3d", dtypes=FLOAT + ("int64",) + COMPLEX)
def conv3d():
    yield S(T(1, 1, 2, 3, 2), T(1, 1, 2, 2, 2), T(1))
    yield S(T(1, 2, 2, 3), T(2, 1, 1, 2, 2), T(2), padding=(0, 1, 0))  # no batch
    yield S(T(1, 2, 2, 2, 2), T(2, 1, 2, 1, 2), stride=(1, 2, 1), padding=(1, 0, 1), groups=2)
    yield S(T(1, 1, 3, 3, 1), T(1, 1, 2, 2, 1), dilation=(2, 1, 2))
    yield S(T(1, 1, 2, 2, 3), T(1, 1, 2, 1, 3), padding="same")
    yield S(T(0, 1, 3, 3, 3), T(2, 1, 2, 2, 2), T(2))


@samples("conv_transpose1d", dtypes=WIDE)
def conv_transpose1d():
    yield S(T(1, 2, 4), T(2, 2, 2), T(2))
    yield S(T(2, 3), T(2, 1, 3), stride=2, padding=1, output_padding=1)  # no batch
    yield S(T(1, 2, 3), T(2, 2, 2), T(4), 2, groups=2)
    yield S(T(1, 1, 3), T(1, 1, 2), T(1), 1, 0, 0, 1, 3)
    yield S(T(1, 1, 3), T(1, 1, 2), stride=1, dilation=4, output_padding=3)  # more than the stride
    yield S(T(1, 1, 3), T(1, 2, 2), stride=2, dilation=5, output_padding=4)
    yield S(T(0, 2, 5), T(2, 3, 2), T(3))


@samples("conv_transpose2d", dtypes=WIDE)
def conv_transpose2d():
    yield S(T(1, 2, 2, 2), T(2, 1, 2, 2), T(1))
    yield S(T(1, 2, 3), T(1, 2, 2, 3), T(2), stride=(2, 1), padding=(1, 0), output_padding=(1, 0))  # no batch
    yield S(T(1, 2, 2, 3), T(2, 2, 2, 1), T(4), 2, groups=2)
    yield S(T(2, 1, 2, 2), T(1, 2, 2, 2), T(2), dilation=(2, 1))
    yield S(T(2, 2, 2, 2), T(2, 3, 1, 1))
    yield S(T(0, 2, 3, 3), T(2, 3, 2, 2), T(3))


@samples("conv_transpose3d", dtypes=WIDE)
def conv_transpose3d():
    yield S(T(1, 1, 2, 2, 2), T(1, 1, 2, 1, 2), T(1))
    yield S(T(2, 2, 2, 1), T(2, 1, 2, 2, 1), stride=(1, 2, 1), padding=(1, 0, 0), groups=2)  # no batch
    yield S(T(1, 1, 2, 1, 2), T(1, 2, 1, 2, 2), T(2), 2, 0, 1, 1, (1, 2, 1))


@samples("convolution")
def convolution():
    yield S(T(1, 2, 3, 3), T(2, 1, 2, 2), T(2), [1, 2], [1, 0], [1, 1], False, [0, 0], 2)
    yield S(T(1, 2, 4), T(2, 1, 2), None, [2], [0], [1], True, [1], 1)
    yield S(T(1, 1, 3, 3), T(1, 1, 2, 2), None, [2], [1], [1], False, [0], 1)  # one number for all dimensions


@samples("conv_tbc", dtypes=REAL + COMPLEX)
def conv_tbc():
    yield S(T(4, 1, 2), T(2, 2, 2), T(2))
    yield S(T(3, 2, 1), T(3, 1, 2), T(2), 1)


@errors("conv1d")
def bad_conv1d():
    yield E(RuntimeError, r"Expected 2D \(unbatched\) or 3D \(batched\) input to conv1d", T(1, 1, 1, 5), T(1, 1, 2))
    yield E(RuntimeError, "Expected 4-dimensional input for 4-dimensional weight", T(1, 2, 5), T(3, 2, 3, 3))
    yield E(RuntimeError, "at most 4611686018427387903", T(1, 1, 1), T(1, 1, 1), padding=2**62)
    yield E(RuntimeError, "sizes are too large|Kernel size", T(1, 1, 1), T(1, 1, 3), dilation=2**62)


@errors("conv2d")
def bad_conv2d():
    x, w = T(1, 2, 5, 5), T(3, 2, 3, 3)
    yield E(RuntimeError, r"expected input\[1, 3, 5, 5\] to have 2 channels, but got 3", T(1, 3, 5, 5), w)
    yield E(RuntimeError, r"Expected 3D \(unbatched\) or 4D \(batched\) input to conv2d", T(5, 5), w)
    yield E(RuntimeError, "expected stride to be a single integer value or a list of 1 values", x, T(3, 2, 3))
    yield E(RuntimeError, r"input size per channel: \(1 x 1\). Kernel size: \(3 x 3\)", T(1, 2, 1, 1), w)
    yield E(RuntimeError, "negative padding is not supported", x, w, padding=-1)
    yield E(RuntimeError, "non-positive stride is not supported", x, w, stride=0)
    yield E(RuntimeError, "dilation should be greater than zero", x, w, dilation=0)
    yield E(RuntimeError, "non-positive groups is not supported", x, w, groups=0)
    yield E(RuntimeError, "divisible by 2 at dimension 0", x, T(3, 1, 3, 3), groups=2)
    yield E(RuntimeError, "at least 2 at dimension 0", x, T(1, 1, 3, 3), groups=2)
    yield E(RuntimeError, "bias to be 1-dimensional with 3 elements", x, w, T(4))
    yield E(RuntimeError, "expected scalar type Float but found Double", x, T(3, 2, 3, 3, dtype="float64"))
    yield E(RuntimeError, "bias type .* should be the same", x, w, T(3, dtype="float64"))
    yield E(RuntimeError, r"a list of 2 values .*, but got stride=\[1, 2, 3\]", x, w, stride=(1, 2, 3))
    yield E(RuntimeError, "padding='same' is not supported for strided", x, w, padding="same", stride=2)
    yield E(RuntimeError, "Invalid padding string: 'foo'", x, w, padding="foo")
    yield E(RuntimeError, "kernel size should be greater than zero", x, T(3, 2, 0, 3))
    yield E(RuntimeError, "Only zero batch or zero channel inputs", T(1, 2, 0, 5), w, padding=2)
    yield E(NotImplementedError, "Bool", T(1, 2, 5, 5, dtype="bool"), T(3, 2, 3, 3, dtype="bool"))
    yield E(TypeError, "", x)


@errors("conv_transpose2d")
def bad_conv_transpose2d():
    x, w = T(1, 2, 5, 5), T(2, 3, 3, 3)
    yield E(RuntimeError, "Given transposed=1, weight of size .* to have 2 channels", T(1, 3, 5, 5), w)
    yield E(RuntimeError, "Given transposed=1, .* bias to be 1-dimensional with 3 elements", x, w, T(4))
    yield E(RuntimeError, "output padding must be smaller than either stride or dilation", x, w, output_padding=1)
    yield E(RuntimeError, "negative output_padding is not supported", x, w, output_padding=-1)
    yield E(RuntimeError, r"output size per channel: \(-1 x -1\)", T(1, 2, 1, 1), T(2, 3, 1, 1), padding=1)


@errors("convolution")
def bad_convolution():
    ones, zeros = [1, 1], [0, 0]
    plain = (None, ones, zeros, ones, False, zeros, 1)
    yield E(RuntimeError, "Expected 4-dimensional input", T(2, 5, 5), T(3, 2, 3, 3), *plain)
    yield E(RuntimeError, "at least three dimensions", T(1, 2), T(3, 2), None, [], [], [], False, [], 1)
    plain = (None, [1], [0], [1], False, [0], 1)
    yield E(RuntimeError, "unsupported ConvNd", T(1, 2, 4, 4, 4, 4), T(3, 2, 2, 2, 2, 2), *plain)


@errors("conv_tbc")
def bad_conv_tbc():
    yield E(RuntimeError, "Input must have 3 dims", T(5, 2), T(3, 2, 4), T(4))
    yield E(RuntimeError, "Weight tensor must have 3 dims", T(5, 1, 2), T(3, 2), T(4))
    yield E(RuntimeError, "Bias must be 1-D", T(5, 1, 2), T(3, 2, 4), T(4, 1))
    yield E(RuntimeError, "Input dim 2", T(5, 1, 3), T(3, 2, 4), T(4))
    yield E(RuntimeError, "Bias size must equal dim 2", T(5, 1, 2), T(3, 2, 4), T(3))
