"""The functions of wisp.nn.functional on images that take their arguments in several forms."""

import math
import warnings

from wisp import _C
from wisp._C import Tensor

__all__ = [
    "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool1d_with_indices",
    "adaptive_max_pool2d", "adaptive_max_pool2d_with_indices", "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices", "affine_grid", "fractional_max_pool2d", "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d", "fractional_max_pool3d_with_indices", "grid_sample", "interpolate", "local_response_norm",
    "lp_pool1d", "lp_pool2d", "lp_pool3d", "max_unpool1d", "max_unpool2d", "max_unpool3d", "upsample",
    "upsample_bilinear", "upsample_nearest",
]  # fmt: skip

_functions, _table = _C._functions, _C._functional


def _per_dim(value, dims):
    """One number for each of the last dimensions, which may be given as one for all."""
    return (value,) * dims if not isinstance(value, (tuple, list)) else tuple(value)


def _output_size(input, output_size, dims):
    """An output size whose missing numbers are those of the input."""
    if isinstance(output_size, (tuple, list)):
        if input.dim() <= len(output_size):
            raise ValueError(f"Input dimension should be at least {len(output_size) + 1}")
        own = input.shape[input.dim() - len(output_size) :]
        return tuple(there if asked is None else asked for asked, there in zip(output_size, own))
    return tuple(input.shape[-dims:]) if output_size is None else output_size


# --- Pooling


def _adaptive_avg(input, sizes, dims):
    if _per_dim(sizes, dims) == (1,) * dims and input.dim() in (dims + 1, dims + 2) and input.numel():
        return input.mean(tuple(range(-dims, 0)), keepdim=True)  # one window: the mean of all
    return _table[f"adaptive_avg_pool{dims}d"](input, sizes)


def adaptive_avg_pool2d(input: Tensor, output_size) -> Tensor:
    """The means of windows that cover the input, (height, width) of them; None keeps the input's size."""
    return _adaptive_avg(input, _output_size(input, output_size, 2), 2)


def adaptive_avg_pool3d(input: Tensor, output_size) -> Tensor:
    """The means of windows that cover the input, (depth, height, width) of them; None keeps the input's size."""
    return _adaptive_avg(input, _output_size(input, output_size, 3), 3)


def adaptive_max_pool1d_with_indices(input: Tensor, output_size, return_indices: bool = False):
    """The maxima of windows that cover the input, and their indices."""
    return _functions["adaptive_max_pool1d"](input, output_size)


def adaptive_max_pool1d(input: Tensor, output_size, return_indices: bool = False):
    """The maxima of windows that cover the input; with ``return_indices``, also their indices."""
    both = adaptive_max_pool1d_with_indices(input, output_size)
    return both if return_indices else both[0]


def adaptive_max_pool2d_with_indices(input: Tensor, output_size, return_indices: bool = False):
    """The maxima of windows that cover the input, and their indices in a plane."""
    return _table["adaptive_max_pool2d_with_indices"](input, _output_size(input, output_size, 2))


def adaptive_max_pool2d(input: Tensor, output_size, return_indices: bool = False):
    """The maxima of windows that cover the input; with ``return_indices``, also their indices."""
    both = adaptive_max_pool2d_with_indices(input, output_size)
    return both if return_indices else both[0]


def adaptive_max_pool3d_with_indices(input: Tensor, output_size, return_indices: bool = False):
    """The maxima of windows that cover the input, and their indices in a volume."""
    return _table["adaptive_max_pool3d_with_indices"](input, _output_size(input, output_size, 3))


def adaptive_max_pool3d(input: Tensor, output_size, return_indices: bool = False):
    """The maxima of windows that cover the input; with ``return_indices``, also their indices."""
    both = adaptive_max_pool3d_with_indices(input, output_size)
    return both if return_indices else both[0]


def _fractional(dims, input, kernel_size, output_size, output_ratio, samples):
    name = f"fractional_max_pool{dims}d"
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    if output_size is None:
        ratios = _per_dim(output_ratio, dims)
        output_size = [int(size * ratio) for size, ratio in zip(input.shape[-dims:], ratios)]
    if samples is None:
        batch = input.shape[0] if input.dim() == dims + 2 else 1
        samples = input.new_empty((batch, input.shape[-dims - 1], dims)).uniform_()
    kernel_size, output_size = _per_dim(kernel_size, dims), _per_dim(output_size, dims)
    for what, sizes in (("kernel_size", kernel_size), ("output_size", output_size)):
        if len(sizes) != dims:
            raise RuntimeError(f"{name}: {what} must either be a single Int or tuple of Ints")
    return _table[f"_{name}"](input, kernel_size, output_size, samples)


def fractional_max_pool2d_with_indices(input: Tensor, kernel_size, output_size=None, output_ratio=None,
                                       return_indices: bool = False, _random_samples=None):  # fmt: skip
    """The maxima of windows at pseudo-random places, and their indices."""
    return _fractional(2, input, kernel_size, output_size, output_ratio, _random_samples)


def fractional_max_pool2d(input: Tensor, kernel_size, output_size=None, output_ratio=None,
                          return_indices: bool = False, _random_samples=None):  # fmt: skip
    """The maxima of windows at pseudo-random places; with ``return_indices``, also their indices."""
    both = _fractional(2, input, kernel_size, output_size, output_ratio, _random_samples)
    return both if return_indices else both[0]


def fractional_max_pool3d_with_indices(input: Tensor, kernel_size, output_size=None, output_ratio=None,
                                       return_indices: bool = False, _random_samples=None):  # fmt: skip
    """The maxima of windows at pseudo-random places, and their indices."""
    return _fractional(3, input, kernel_size, output_size, output_ratio, _random_samples)


def fractional_max_pool3d(input: Tensor, kernel_size, output_size=None, output_ratio=None,
                          return_indices: bool = False, _random_samples=None):  # fmt: skip
    """The maxima of windows at pseudo-random places; with ``return_indices``, also their indices."""
    both = _fractional(3, input, kernel_size, output_size, output_ratio, _random_samples)
    return both if return_indices else both[0]


def _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, average, dims):
    sizes = _per_dim(kernel_size, dims)
    stride = None if stride is None else _per_dim(stride, dims)
    out = average(input.pow(norm_type), sizes, stride, 0, ceil_mode)
    return (out.sign() * out.abs().relu()).mul(math.prod(sizes)).pow(1.0 / norm_type)


def lp_pool1d(input: Tensor, norm_type, kernel_size, stride=None, ceil_mode: bool = False) -> Tensor:
    """The sum of ``x ** norm_type`` over every window, to the power ``1 / norm_type``."""
    return _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, _table["avg_pool1d"], 1)


def lp_pool2d(input: Tensor, norm_type, kernel_size, stride=None, ceil_mode: bool = False) -> Tensor:
    """The sum of ``x ** norm_type`` over every window, to the power ``1 / norm_type``."""
    return _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, _table["avg_pool2d"], 2)


def lp_pool3d(input: Tensor, norm_type, kernel_size, stride=None, ceil_mode: bool = False) -> Tensor:
    """The sum of ``x ** norm_type`` over every window, to the power ``1 / norm_type``."""
    return _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, _table["avg_pool3d"], 3)


def _unpooled_size(input, kernel_size, stride, padding, output_size):
    """The size of what was pooled: what follows from the windows, or one near it that the caller names."""
    dims = len(kernel_size)
    image = input.shape[-dims:]
    default = [(n - 1) * s + k - 2 * p for n, k, s, p in zip(image, kernel_size, stride, padding)]
    if output_size is None:
        return default
    if len(output_size) == dims + 2:
        output_size = output_size[2:]
    if len(output_size) != dims:
        raise ValueError("output_size should be a sequence containing "
                         f"{dims} or {dims + 2} elements, but it has a length of '{len(output_size)}'")  # fmt: skip
    for d, size in enumerate(output_size):
        low, high = default[d] - stride[d], default[d] + stride[d]
        if not low < size < high:
            raise ValueError(f'invalid output_size "{output_size}" (dim {d} must be between {low} and {high})')
    return list(output_size)


def _unpool(dims, input, indices, kernel_size, stride, padding, output_size):
    kernel_size, padding = _per_dim(kernel_size, dims), _per_dim(padding, dims)
    stride = kernel_size if stride is None else _per_dim(stride, dims)
    for s in stride:
        if s <= 0:
            raise RuntimeError(f"strides should be greater than zero, but got stride: {stride}")
    size = _unpooled_size(input, kernel_size, stride, padding, output_size)
    return _table["_max_unpool"](input, indices, size)


def max_unpool1d(input: Tensor, indices: Tensor, kernel_size, stride=None, padding=0, output_size=None) -> Tensor:
    """The opposite of max_pool1d: maxima go back to their places, and everything else is zero."""
    return _unpool(1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(input: Tensor, indices: Tensor, kernel_size, stride=None, padding=0, output_size=None) -> Tensor:
    """The opposite of max_pool2d: maxima go back to their places, and everything else is zero."""
    return _unpool(2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(input: Tensor, indices: Tensor, kernel_size, stride=None, padding=0, output_size=None) -> Tensor:
    """The opposite of max_pool3d: maxima go back to their places, and everything else is zero."""
    return _unpool(3, input, indices, kernel_size, stride, padding, output_size)


# --- Interpolation

_LINEAR = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5}
_OPERATORS = {"nearest": "_upsample_nearest{}d", "nearest-exact": "_upsample_nearest_exact{}d",
              "linear": "_upsample_linear{}d", "bilinear": "_upsample_bilinear{}d",
              "bicubic": "_upsample_bicubic{}d", "trilinear": "_upsample_trilinear{}d"}  # fmt: skip


def _known(value):
    """Whether a value is known before the program runs. Only in scripts there are others."""
    return True


def _check_modes(input, mode, align_corners, antialias):
    if mode in ("nearest", "area", "nearest-exact") and align_corners is not None:
        raise ValueError("align_corners option can only be set with the interpolating modes: "
                         "linear | bilinear | bicubic | trilinear")  # fmt: skip
    if antialias and not (mode in ("bilinear", "bicubic") and input.dim() == 4):
        raise ValueError("Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as "
                         "input")  # fmt: skip
    if input.dim() not in (3, 4, 5) or (mode not in _OPERATORS and mode != "area"):
        modes = "nearest | linear | bilinear | bicubic | trilinear | area | nearest-exact"
        raise NotImplementedError("Input Error: Only 3D, 4D and 5D input Tensors supported "
                                  f"(got {input.dim()}D) for the modes: {modes} (got {mode})")  # fmt: skip
    if mode in _LINEAR and _LINEAR[mode] != input.dim():
        raise NotImplementedError(f"Got {input.dim()}D input, but {mode} mode needs {_LINEAR[mode]}D input")


def _check_count(input, dims, given, what):
    if isinstance(given, (tuple, list)) and len(given) != dims:
        raise ValueError("Input and output must have the same number of spatial dimensions, but got input with spatial "
                         f"dimensions of {list(input.shape[2:])} and {what} of {given}. Please provide input tensor in "
                         "(N, C, d1, d2, ...,dK) format and "
                         f"{what} in {'(o1, o2, ...,oK)' if what == 'output size' else '(s1, s2, ...,sK)'} format.")  # fmt: skip


def _target_size(input, dims, size, scale_factor, recompute_scale_factor):
    """(size, factors to compute with) of the result."""
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        if recompute_scale_factor:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        _check_count(input, dims, size, "output size")
        sizes = _per_dim(size, dims)
        if not all(hasattr(n, "__index__") for n in sizes):
            raise TypeError(f"expected size to be one of int or tuple of ints, but got size {size}")
        return sizes, ()
    if scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    _check_count(input, dims, scale_factor, "scale_factor")
    factors = [float(factor) for factor in _per_dim(scale_factor, dims)]
    sizes = tuple(math.floor(n * factor) for n, factor in zip(input.shape[2:], factors))
    return sizes, () if recompute_scale_factor else factors


def interpolate(input: Tensor, size=None, scale_factor=None, mode: str = "nearest", align_corners=None,
                recompute_scale_factor=None, antialias: bool = False) -> Tensor:  # fmt: skip
    """Images (N, C, ...) of another size.

    Args:
        size: of the result; a number stands for all dimensions.
        scale_factor: the size of the result in sizes of the input, instead.
        mode: 'nearest', 'nearest-exact', 'area' (means), 'linear' (3-d inputs), 'bilinear' and 'bicubic' (4-d) or
            'trilinear' (5-d).
        align_corners: whether the first and last pixels of both lie on each other, instead of the corners of these.
        recompute_scale_factor: forget the factor once the size is known, which was rounded.
        antialias: average over all pixels that a smaller image stands for.

    >>> wisp.nn.functional.interpolate(wisp.tensor([[[0., 1.]]]), size=3, mode='linear', align_corners=True)
    tensor([[[0.0000, 0.5000, 1.0000]]])
    """
    _check_modes(input, mode, align_corners, antialias)
    how = (size, scale_factor, mode, align_corners, recompute_scale_factor, antialias)
    if _known(mode) and mode in _LINEAR:
        return _resized(input, _LINEAR[mode] - 2, *how)
    # One call for each number of dimensions: where it is known, scripts can be compiled.
    if input.dim() == 3:
        return _resized(input, 1, *how)
    return _resized(input, 2, *how) if input.dim() == 4 else _resized(input, 3, *how)


def _resized(input, dims, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias):
    sizes, factors = _target_size(input, dims, size, scale_factor, recompute_scale_factor)
    if mode == "area":
        return _table[f"adaptive_avg_pool{dims}d"](input, sizes)
    # They differ by the names that graphs show: each does what the mode says.
    known = _known(mode) and _known(antialias)
    name = _OPERATORS[mode].format(dims) + ("_aa" if antialias else "") if known else "_upsample_linear1d"
    return _table[name](input, sizes, mode, bool(align_corners), antialias, factors)


def upsample(input: Tensor, size=None, scale_factor=None, mode="nearest", align_corners=None) -> Tensor:
    """An older name of :func:`interpolate`."""
    warnings.warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size=None, scale_factor=None) -> Tensor:
    """:func:`interpolate` in mode 'nearest'."""
    warnings.warn("`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.",
                  stacklevel=2)  # fmt: skip
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Tensor, size=None, scale_factor=None) -> Tensor:
    """:func:`interpolate` in mode 'bilinear', with corners aligned."""
    warnings.warn("`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.",
                  stacklevel=2)  # fmt: skip
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


# --- Sampling at given places

_SAMPLING = {"bilinear": 0, "nearest": 1, "bicubic": 2}
_OUTSIDE = {"zeros": 0, "border": 1, "reflection": 2}


def grid_sample(input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros",
                align_corners=None) -> Tensor:  # fmt: skip
    """Images sampled at the places that ``grid`` names: (x, y) from -1 to 1, last.

    Args:
        input: (N, C, height, width), or (N, C, depth, height, width).
        grid: (N, ..., 2) or (N, ..., 3).
        mode: 'bilinear', 'nearest' or (of 4-d inputs) 'bicubic'.
        padding_mode: what is outside: 'zeros', the 'border', or the 'reflection' of the image.
        align_corners: whether -1 and 1 are the centres of the outermost pixels, instead of their outer edges.
    """
    if mode not in _SAMPLING:
        raise ValueError("nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but "
                         f"got: '{mode}'")  # fmt: skip
    if padding_mode not in _OUTSIDE:
        raise ValueError("nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', "
                         f"but got: '{padding_mode}'")  # fmt: skip
    _warn_of_corners("grid_sample", align_corners)
    return _functions["grid_sampler"](input, grid, _SAMPLING[mode], _OUTSIDE[padding_mode], bool(align_corners))


def affine_grid(theta: Tensor, size, align_corners=None) -> Tensor:
    """The places that affine maps (N, 2, 3) or (N, 3, 4) take the pixels of images of this size to."""
    _warn_of_corners("affine_grid", align_corners)
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    dims = len(size) - 2
    if dims not in (2, 3):
        raise NotImplementedError("affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
                                  f"respectively. Got size {size}.")  # fmt: skip
    if theta.dim() != 3 or tuple(theta.shape[-2:]) != (dims, dims + 1):
        raise ValueError(f"Expected a batch of {dims}D affine matrices of shape Nx{dims}x{dims + 1} for size {size}. "
                         f"Got {theta.shape}.")  # fmt: skip
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    return _functions["affine_grid_generator"](theta, size, bool(align_corners))


def _warn_of_corners(name, align_corners):
    if align_corners is None:
        warnings.warn(f"Default {name} behavior has align_corners=False. Please specify align_corners=True if the "
                      "old behavior is desired.", stacklevel=3)  # fmt: skip


# --- Normalisation


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """Every element divided by ``(k + alpha * mean of squares) ** beta``, over ``size`` neighbouring channels."""
    if input.dim() < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {input.dim()} dimensions)")
    if input.numel() == 0:
        return input
    batch, channels = input.shape[:2]
    squares = input.mul(input).reshape(batch, 1, channels, -1)
    padded = _table["pad"](squares, (0, 0, size // 2, (size - 1) // 2))
    means = _table["avg_pool2d"](padded, (size, 1), 1)
    return input / means.reshape(input.shape).mul(alpha).add(k).pow(beta)
