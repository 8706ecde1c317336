"""Samples of interpolation, sampling at places, patches and shuffles."""

import warnings

from tests.ops.samples_pool import declare
from tests.ops.sampling import COMPLEX, FLOAT, INT, A, E, S, T, errors, samples


@declare("interpolate", dtypes=FLOAT)
def interpolate():
    for mode in ("nearest", "nearest-exact", "area"):
        yield S(T(1, 1, 5), 3, mode=mode)
        yield S(T(1, 1, 2, 3), (3, 5), mode=mode)
        yield S(T(1, 1, 3, 4), scale_factor=(1.7, 0.5), mode=mode)
        yield S(T(1, 1, 2, 2, 2), (1, 3, 2), mode=mode)
    yield S(T(1, 1, 2, 3), scale_factor=2, mode="nearest")
    for corners in (False, True):
        yield S(T(1, 2, 4), 7, mode="linear", align_corners=corners)
        for mode in ("bilinear", "bicubic"):
            yield S(T(1, 1, 3, 4), (5, 2), mode=mode, align_corners=corners)
            yield S(T(1, 1, 3, 4), scale_factor=(1.7, 0.6), mode=mode, align_corners=corners)
            yield S(T(1, 1, 3, 4), (2, 7), mode=mode, align_corners=corners, antialias=True, _dtypes=FLOAT[:2])
        yield S(T(1, 1, 2, 2, 3), (3, 1, 4), mode="trilinear", align_corners=corners)
    yield S(T(1, 1, 3, 4), scale_factor=1.7, mode="bilinear", recompute_scale_factor=True)
    yield S(T(2, 3, 6, 5, layout="transposed", grad=False), (3, 9), mode="bilinear")
    yield S(T(0, 1, 3, 4), (2, 2), mode="bilinear")
    yield S(T(1, 2, 3, 4, low=0, high=200), (5, 7), mode="nearest", _dtypes=("uint8",))


def raw_upsample(name, mode):
    def run(lib, x, size):
        if lib.__name__ == "wisp":
            return getattr(lib.nn.functional, name)(x, size, mode, False, name.endswith("_aa"), ())
        return lib.nn.functional.interpolate(x, size, mode=mode, antialias=name.endswith("_aa"))

    return run


for stem, mode in (("nearest", "nearest"), ("nearest_exact", "nearest-exact")):
    for dims in (1, 2, 3):

        @samples(f"_upsample_{stem}{dims}d", dtypes=FLOAT, call=raw_upsample(f"_upsample_{stem}{dims}d", mode))
        def upsample_nearest(dims=dims):
            yield S(T(1, 1, *(2,) * dims), (3,) * dims)


for name, mode, dims in (("linear1d", "linear", 1), ("bilinear2d", "bilinear", 2), ("trilinear3d", "trilinear", 3),
                         ("bicubic2d", "bicubic", 2), ("bilinear2d_aa", "bilinear", 2), ("bicubic2d_aa", "bicubic", 2)):  # fmt: skip

    @samples(f"_upsample_{name}", dtypes=FLOAT[:2], call=raw_upsample(f"_upsample_{name}", mode))
    def upsample_linear(dims=dims):
        yield S(T(1, 1, *(2,) * dims), (3,) * dims)


def quiet(name):
    """The function of nn.functional, without its warnings."""

    def run(lib, *args, **kwargs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return getattr(lib.nn.functional, name)(*args, **kwargs)

    return run


@samples("upsample", "upsample_nearest", dtypes=FLOAT, call=quiet("upsample"))
def upsample():
    yield S(T(1, 1, 2, 3), scale_factor=2)


@samples("upsample_bilinear", dtypes=FLOAT, call=quiet("upsample_bilinear"))
def upsample_bilinear():
    yield S(T(1, 1, 2, 3), (3, 4))


# Places that lie between pixels, so that derivatives exist.
PLACES = [[[[-0.55, 0.3], [0.8, -1.37], [1.6, 0.1]]]]


# float16 and bfloat16: PyTorch computes places in them, which moves samples to other pixels.
@samples("grid_sampler", dtypes=FLOAT[:2])
def grid_sampler():
    for mode in (0, 1, 2):
        for outside in (0, 1, 2):
            for corners in (False, True):
                yield S(T(1, 1, 3, 4), A(PLACES, grad=mode != 1), mode, outside, corners, _tol=1e-4)
    for mode in (0, 1):
        for outside in (0, 1, 2):
            yield S(T(1, 1, 2, 2, 3), A([[[[[-0.55, 0.31, 0.17], [1.6, -1.37, 0.83]]]]], grad=mode != 1), mode, outside,
                    False, _tol=1e-4)  # fmt: skip
    yield S(T(0, 1, 3, 4), T(0, 2, 2, 2), 0, 0, False)


@samples("grid_sampler_2d", dtypes=FLOAT)
def grid_sampler_2d():
    yield S(T(1, 1, 3, 4), A(PLACES), 0, 0, False)


@samples("grid_sampler_3d", dtypes=FLOAT[:2])
def grid_sampler_3d():
    yield S(T(1, 1, 2, 2, 3), A([[[[[-0.55, 0.31, 0.17]]]]]), 0, 0, False)


@samples("grid_sample", dtypes=FLOAT, call=quiet("grid_sample"))
def grid_sample():
    yield S(T(1, 1, 3, 4), A(PLACES))
    yield S(T(1, 1, 3, 4), A(PLACES), "bicubic", "reflection", True, _tol=1e-4, _dtypes=FLOAT[:2])


@samples("affine_grid_generator", dtypes=FLOAT[:2])
def affine_grid_generator():
    for corners in (False, True):
        yield S(T(2, 2, 3), (2, 1, 2, 3), corners)
        yield S(T(1, 3, 4), (1, 1, 1, 2, 3), corners)


@samples("pixel_shuffle", dtypes=FLOAT + INT + COMPLEX)
def pixel_shuffle():
    yield S(T(1, 4, 1, 2), 2)
    yield S(T(4, 2, 1), 2)


@samples("pixel_unshuffle", dtypes=FLOAT + INT + COMPLEX)
def pixel_unshuffle():
    yield S(T(1, 1, 2, 4), 2)


@samples("channel_shuffle", "native_channel_shuffle", dtypes=FLOAT + INT)
def channel_shuffle():
    yield S(T(1, 4, 1, 2), 2)
    yield S(T(2, 6, 1), 3)


@samples("fold", dtypes=FLOAT + COMPLEX, call="nn.functional")
def fold():
    yield S(T(1, 4, 2), (2, 3), 2)
    yield S(T(2, 3), (3, 3), (1, 2), dilation=(1, 2), stride=1, padding=(0, 0))
    yield S(T(4, 8), (2, 3), 2, 1, 1, (2, 1))


def unfold(lib, *args, **kwargs):
    return lib.nn.functional.unfold(*args, **kwargs)


@samples("im2col", dtypes=FLOAT + COMPLEX, call=unfold)
def im2col():
    yield S(T(1, 2, 2, 3), 2)
    yield S(T(1, 3, 4), (2, 1), dilation=(2, 1), padding=1, stride=(1, 2))
    yield S(T(0, 1, 3, 4), 2)


@samples("local_response_norm", dtypes=FLOAT, call="nn.functional")
def local_response_norm():
    yield S(T(1, 4, 3), 2)
    yield S(T(1, 3, 2, 2), 3, 0.5, 0.6, 2.0)


@errors("interpolate")
def bad_interpolate():
    yield E(ValueError, "either size or scale_factor", T(1, 1, 3))
    yield E(ValueError, "only one of size", T(1, 1, 3), 2, 2.0)
    yield E(ValueError, "align_corners option", T(1, 1, 3), 2, align_corners=True)
    yield E(ValueError, "same number of spatial", T(1, 1, 3), (2, 2))
    yield E(ValueError, "Anti-alias", T(1, 1, 3), 2, antialias=True)
    yield E(NotImplementedError, "needs 4D input", T(1, 1, 3), 2, mode="bilinear")
    yield E(NotImplementedError, "Only 3D, 4D and 5D", T(1, 3), 2)
    yield E(RuntimeError, "greater than 0", T(1, 1, 3), 0)


@errors("grid_sample")
def bad_grid_sample():
    yield E(ValueError, "expected mode", T(1, 1, 2, 2), T(1, 1, 1, 2), "cubic")
    yield E(RuntimeError, "same batch size", T(1, 1, 2, 2), T(2, 1, 1, 2))
    yield E(RuntimeError, "size 2 in last dimension", T(1, 1, 2, 2), T(1, 1, 1, 3))
    yield E(RuntimeError, "only supports 4D", T(1, 1, 2, 2, 2), T(1, 1, 1, 1, 3), "bicubic")


@errors("pixel_shuffle")
def bad_shuffle():
    yield E(RuntimeError, "divisible by the square", T(1, 3, 2, 2), 2)
    yield E(RuntimeError, "at least 3 dimensions", T(4, 2), 2)


@errors("fold")
def bad_fold():
    yield E(RuntimeError, "divisible by the product", T(1, 5, 2), (2, 3), 2)
    yield E(RuntimeError, "number of sliding", T(1, 4, 3), (2, 3), 2)
