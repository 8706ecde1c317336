"""Convolutions, and operators on images."""

import wisp
from wisp.onnx._export.values import Ref


def spread(value, count):
    """One number for each dimension."""
    value = [value] if isinstance(value, int) else list(value)
    return value * count if len(value) == 1 else value


def batched(g, x, dims, function):
    """A function of a batch, called with one sample or several."""
    if x.rank == dims + 2:
        return function(x)
    made = function(g.unsqueeze(x, [0]))
    return tuple(g.squeeze(m, [0]) for m in made) if isinstance(made, tuple) else g.squeeze(made, [0])


def of_floats(lower, *dtypes):
    """A lowering whose nodes do not exist for integers, except for some dtypes: these become float64 meanwhile."""

    def through(g, x, *args):
        if x.is_float or x.dtype in dtypes:
            return lower(g, x, *args)
        given = [g.cast(arg, wisp.float64) if isinstance(arg, Ref) else arg for arg in (x, *args)]
        made = lower(g, *given)
        return (g.cast(made[0], x.dtype), *made[1:]) if isinstance(made, tuple) else g.cast(made, x.dtype)

    return through


def _conv(dims):
    def lower(g, x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        kernel = [weight.fixed(2 + i) for i in range(dims)]
        dilation = spread(dilation, dims)
        pads = _pads(padding, kernel, dilation, dims)
        return batched(g, x, dims, lambda batch: g.op(
            "Conv", batch, weight, bias, kernel_shape=kernel, strides=spread(stride, dims), pads=pads,
            dilations=dilation, group=groups))  # fmt: skip

    return lower


def _pads(padding, kernel, dilation, dims):
    if padding == "valid":
        return [0] * (2 * dims)
    if padding == "same":
        total = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
        return [t // 2 for t in total] + [t - t // 2 for t in total]
    return spread(padding, dims) * 2


def _conv_transpose(dims):
    def lower(g, x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        kernel = [weight.fixed(2 + i) for i in range(dims)]
        stride, extra = spread(stride, dims), spread(output_padding, dims)
        if any(e >= s for e, s in zip(extra, stride, strict=True)):  # whole steps are zeros at the end of the input
            more = [e // s for e, s in zip(extra, stride, strict=True)]
            rank, extra = x.rank, [e % s for e, s in zip(extra, stride, strict=True)]
            x = g.op("Pad", x, [*[0] * rank, *[0] * (rank - dims), *more])
            x.sizes = (None,) * rank
        return batched(g, x, dims, lambda batch: g.op(
            "ConvTranspose", batch, weight, bias, kernel_shape=kernel, strides=stride,
            pads=spread(padding, dims) * 2, dilations=spread(dilation, dims), group=groups,
            output_padding=extra if any(extra) else None))  # fmt: skip

    return lower


def _convolution(g, x, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    dims = weight.rank - 2
    if transposed:
        return _conv_transpose(dims)(g, x, weight, bias, stride, padding, output_padding, groups, dilation)
    return _conv(dims)(g, x, weight, bias, stride, padding, dilation, groups)


# --- resizing and sampling

_MODES = {"nearest": "nearest", "nearest-exact": "nearest", "linear": "linear", "bilinear": "linear",
          "trilinear": "linear", "bicubic": "cubic"}  # fmt: skip


def _resize(g, x, sizes, mode, align_corners, antialias, scales):
    if antialias and align_corners:
        return _resized_by_matrices(g, x, sizes, mode)
    if antialias:
        g.need_opset(18, "resizing with antialias")
    dims = x.rank - 2
    given = [s for s in scales if s] if not isinstance(scales, Ref) else []
    if mode == "nearest":
        how = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    elif mode == "nearest-exact":
        how = {"coordinate_transformation_mode": "half_pixel", "nearest_mode": "round_prefer_ceil"}
    else:
        how = {"coordinate_transformation_mode": "align_corners" if align_corners else "half_pixel"}
    if mode == "bicubic":
        how["cubic_coeff_a"] = -0.75 if not antialias else -0.5
    if antialias:
        how |= {"antialias": 1, "exclude_outside": 1}
    how["mode"] = _MODES[mode]
    if len(given) == dims and not align_corners:
        return g.op("Resize", x, None, wisp.tensor([1.0, 1.0, *given], dtype=wisp.float32), **how)
    if g.opset >= 18:
        return g.op("Resize", x, None, None, list(sizes), axes=list(range(2, x.rank)), **how)
    front = [g.size(x, 0), g.size(x, 1)]
    return g.op("Resize", x, None, None, [*front, *sizes], **how)


def _resized_by_matrices(g, x, sizes, mode):
    """What ONNX places otherwise: a product along each dimension, with what becomes of a line of one 1."""
    for axis, size in enumerate(sizes, 2):
        whole = x.fixed(axis)
        lines = wisp.eye(whole, dtype=x.dtype).reshape(1, whole, whole, 1)
        made = wisp.nn.functional.interpolate(lines, (size, 1), mode=mode, align_corners=True, antialias=True)
        known = tuple(size if dim == axis else own for dim, own in enumerate(x.sizes))
        moved = g.op("MatMul", g.swap(x, axis, -1), made.reshape(whole, size))
        moved.sizes = (None,) * x.rank
        x = g.swap(moved, axis, -1)
        x.sizes = known
    return x


def _grid_sample(g, x, grid, interpolation, padding, align_corners):
    g.need_opset(16 if x.rank == 4 else 20, "sampling at places of a grid")
    names = ("linear", "nearest", "cubic") if g.opset >= 20 else ("bilinear", "nearest", "bicubic")
    return g.op("GridSample", x, grid, mode=names[interpolation], align_corners=int(align_corners),
                padding_mode=("zeros", "border", "reflection")[padding])  # fmt: skip


def _affine_grid(g, theta, size, align_corners):
    """The places of an image as rows (x, y, 1), times the matrices."""
    image = list(size)[2:]
    if any(isinstance(n, Ref) for n in image):
        g.need_opset(20, "affine_grid of an image whose size is computed")
        return g.op("AffineGrid", theta, g.ints(size), align_corners=int(align_corners))
    dims = len(image)
    same = wisp.eye(dims, dims + 1, dtype=theta.dtype).unsqueeze(0)
    places = wisp.affine_grid_generator(same, [1, 1, *image], align_corners).reshape(1, -1, dims)
    found = g.op("MatMul", wisp.nn.functional.pad(places, (0, 1), value=1.0), g.swap(theta))
    return g.reshape(found, [g.size(theta, 0), *image, dims])


def _as_images(function):
    """A function of images, called with any number of dimensions in front of a channel, or none."""

    def lower(g, x, *args):
        if x.rank == 4:
            return function(g, x, *args)
        flat = g.reshape(x, [-1, *g.sizes(x)[-3:]])
        flat.sizes = (None, *x.sizes[-3:])
        made = function(g, flat, *args)
        made.sizes = (None,) * made.rank if made.sizes is not None else (None,) * 4
        return g.reshape(made, [*g.sizes(x)[:-3], *g.sizes(made)[1:]])

    return lower


def _pixel_shuffle(g, x, factor):
    return g.op("DepthToSpace", x, blocksize=factor, mode="CRD")


def _pixel_unshuffle(g, x, factor):
    found = g.op("SpaceToDepth", x, blocksize=factor)  # its channels are ordered by place first
    batch, height, width = (g.op("Slice", g.shape(found), [i], [i + 1], [0]) for i in (0, 2, 3))
    channels = g.ints([g.size(x, 1)])
    apart = g.reshape(found, g.op("Concat", batch, [factor * factor], channels, height, width, axis=0))
    apart = g.op("Transpose", apart, perm=[0, 2, 1, 3, 4])
    return g.reshape(apart, g.op("Concat", batch, [-1], height, width, axis=0))


def _channel_shuffle(g, x, groups):
    channels = x.fixed(1)
    order = wisp.arange(channels).reshape(groups, channels // groups).t().reshape(-1)
    return g.op("Gather", x, order, axis=1)


def _fold(g, x, output_size, kernel, dilation=1, padding=0, stride=1):
    g.need_opset(18, "fold")
    if x.rank != 3:
        return g.squeeze(_fold(g, g.unsqueeze(x, [0]), output_size, kernel, dilation, padding, stride), [0])
    dilation, padding, stride = (spread(value, 2) for value in (dilation, padding, stride))
    return g.op("Col2Im", x, list(output_size), list(kernel), dilations=dilation, pads=padding * 2, strides=stride)


def _im2col(g, x, kernel, dilation=1, padding=0, stride=1):
    """Windows: rows and columns are gathered one after the other."""
    if x.rank != 4:
        return g.squeeze(_im2col(g, g.unsqueeze(x, [0]), kernel, dilation, padding, stride), [0])
    kernel, dilation, padding, stride = (spread(v, 2) for v in (kernel, dilation, padding, stride))
    sizes = [x.fixed(2 + i) + 2 * padding[i] for i in range(2)]
    if any(padding):
        pads = [0, 0, *padding] * 2
        x = g.op("Pad", x, pads, sizes=(*x.sizes[:2], *sizes))
    found = x
    for i in range(2):
        count = (sizes[i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1
        places = [[at * stride[i] + k * dilation[i] for at in range(count)] for k in range(kernel[i])]
        found = g.op("Gather", found, wisp.tensor(places, dtype=wisp.int64), axis=2 + 2 * i)
    found.sizes = (None,) * 6  # batch, channel, kernel row, row, kernel column, column
    ordered = g.transpose(found, [0, 1, 2, 4, 3, 5])
    return g.reshape(ordered, [g.size(x, 0), x.fixed(1) * kernel[0] * kernel[1], -1])


LOWERINGS = {
    **{f"conv{n}d{kind}": of_floats(_conv(n)) for n in (1, 2, 3) for kind in ("", ".padding")},
    **{f"conv_transpose{n}d": of_floats(_conv_transpose(n)) for n in (1, 2, 3)}, "convolution": of_floats(_convolution),
    **dict.fromkeys((f"_upsample_{kind}" for kind in (
        "nearest1d", "nearest2d", "nearest3d", "nearest_exact1d", "nearest_exact2d", "nearest_exact3d", "linear1d",
        "bilinear2d", "trilinear3d", "bicubic2d", "bilinear2d_aa", "bicubic2d_aa")), _resize),
    **dict.fromkeys(("grid_sampler", "grid_sampler_2d", "grid_sampler_3d"), _grid_sample),
    "affine_grid_generator": _affine_grid,
    "pixel_shuffle": _as_images(_pixel_shuffle), "pixel_unshuffle": _as_images(_pixel_unshuffle),
    **dict.fromkeys(("channel_shuffle", "native_channel_shuffle"), _channel_shuffle),
    "fold": _fold, "unfold.im2col": _im2col,
}  # fmt: skip
