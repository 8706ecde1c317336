"""Elements that are masked out are replaced by what does not change the result: 0 in sums, 1 in products, and so on.

Where nothing is left the result is that neutral number, or NaN for a mean, median, variance or softmax.
"""

from math import inf, nan

import wisp


def _lowest(dtype):
    """The neutral element of maxima."""
    if dtype.is_floating_point:
        return -inf
    if dtype is wisp.bool:
        raise NotImplementedError(f"identity of amax on {dtype} input")
    return wisp.iinfo(dtype).min


def _highest(dtype):
    """The neutral element of minima."""
    if dtype.is_floating_point:
        return inf
    if dtype is wisp.bool:
        raise NotImplementedError(f"identity of amin on {dtype} input")
    return wisp.iinfo(dtype).max


def _full_mask(input, mask):
    """The mask in the shape of the input, as bools; None without a mask."""
    return None if mask is None else mask.to(wisp.bool).expand(input.shape)


def _filled(input, mask, neutral):
    """The input with another number where it is masked out."""
    mask = _full_mask(input, mask)
    return input if mask is None else wisp.where(mask, input, wisp.tensor(neutral, dtype=input.dtype))


def _dims(input, dim):
    """The reduced dimensions as a tuple: all of them if none is given."""
    if dim is None or dim == () or dim == []:
        return tuple(range(input.dim()))
    dims = []
    for d in (dim,) if isinstance(dim, int) else dim:
        n = max(input.dim(), 1)
        if not -n <= d < n:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {d})")
        if d % n in dims:
            raise RuntimeError(f"dim={d % n} appears multiple times in the list of dims")
        dims.append(d % n)
    return tuple(sorted(dims))


def _sum_dtype(input, dtype):
    """Sums and products of integers are of 64 bits."""
    if dtype is None and not (input.is_floating_point() or input.is_complex()):
        return wisp.int64
    return dtype or input.dtype


def _count(input, dims, keepdim, mask, dtype):
    """How many elements count towards each result."""
    mask = _full_mask(input, mask)
    ones = wisp.ones(input.shape, dtype=wisp.bool) if mask is None else mask
    return ones.to(wisp.int64).sum(dims, keepdim=keepdim, dtype=dtype) if dims else ones.to(dtype)


def sum(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The sum of the elements that count.

    >>> wisp.masked.sum(wisp.tensor([1., 2., 3.]), mask=wisp.tensor([True, False, True]))
    tensor(4.)
    """
    dims, dtype = _dims(input, dim), _sum_dtype(input, dtype)
    return _filled(input, mask, 0).to(dtype).sum(dims, keepdim=bool(keepdim))


def prod(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The product of the elements that count.

    >>> wisp.masked.prod(wisp.tensor([1., 2., 3.]), mask=wisp.tensor([True, False, True]))
    tensor(3.)
    """
    result = _filled(input, mask, 1).to(_sum_dtype(input, dtype))
    for d in reversed(_dims(input, dim)):
        result = result.prod(d, keepdim=bool(keepdim))
    return result


def cumsum(input, dim, *, dtype=None, mask=None):
    """Sums of the elements that count, from the first on.

    >>> wisp.masked.cumsum(wisp.tensor([1., 2., 3.]), 0, mask=wisp.tensor([True, False, True]))
    tensor([1., 1., 4.])
    """
    return _filled(input, mask, 0).to(_sum_dtype(input, dtype)).cumsum(dim)


def cumprod(input, dim, *, dtype=None, mask=None):
    """Products of the elements that count, from the first on.

    >>> wisp.masked.cumprod(wisp.tensor([1., 2., 3.]), 0, mask=wisp.tensor([True, False, True]))
    tensor([1., 1., 3.])
    """
    return _filled(input, mask, 1).to(_sum_dtype(input, dtype)).cumprod(dim)


def amax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The largest element that counts.

    >>> wisp.masked.amax(wisp.tensor([1., 2., 3.]), mask=wisp.tensor([True, True, False]))
    tensor(2.)
    """
    filled = _filled(input, mask, _lowest(input.dtype))
    return filled.amax(_dims(input, dim), keepdim=bool(keepdim)).to(dtype or input.dtype)


def amin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The smallest element that counts.

    >>> wisp.masked.amin(wisp.tensor([1., 2., 3.]), mask=wisp.tensor([False, True, True]))
    tensor(2.)
    """
    filled = _filled(input, mask, _highest(input.dtype))
    return filled.amin(_dims(input, dim), keepdim=bool(keepdim)).to(dtype or input.dtype)


def argmax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Where the largest element that counts is, as a number of the input's dtype.

    >>> wisp.masked.argmax(wisp.tensor([1., 2., 3.]), mask=wisp.tensor([True, True, False]))
    tensor(1.)
    """
    return _filled(input, mask, _lowest(input.dtype)).argmax(dim, bool(keepdim)).to(dtype or input.dtype)


def argmin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Where the smallest element that counts is, as a number of the input's dtype.

    >>> wisp.masked.argmin(wisp.tensor([1., 2., 3.]), mask=wisp.tensor([False, True, True]))
    tensor(1.)
    """
    return _filled(input, mask, _highest(input.dtype)).argmin(dim, bool(keepdim)).to(dtype or input.dtype)


def mean(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The mean of the elements that count.

    >>> wisp.masked.mean(wisp.tensor([1., 2., 3.]), mask=wisp.tensor([True, False, True]))
    tensor(2.)
    """
    if dtype is None and not (input.is_floating_point() or input.is_complex()):
        raise ValueError(
            "mean(): Could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
            f"Got: {input.dtype}"
        )
    dims, dtype = _dims(input, dim), dtype or input.dtype
    total = sum(input, dims, keepdim=keepdim, dtype=dtype, mask=mask)
    return total / _count(input, dims, bool(keepdim), mask, dtype)


def median(input, dim=-1, *, keepdim=False, dtype=None, mask=None):
    """The median of the elements that count.

    >>> wisp.masked.median(wisp.tensor([1., 2., 3.]), mask=wisp.tensor([False, True, True]))
    tensor(2.)
    """
    dtype, mask = dtype or input.dtype, _full_mask(input, mask)
    if mask is None:
        return input.to(dtype).median(dim, keepdim).values
    if dtype.is_floating_point:
        return wisp.where(mask, input.to(dtype), nan).nanmedian(dim, keepdim).values
    if not mask.any(dim).all():
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    # Floats hold all integers that matter here, but those of 64 bits: take the element by its place.
    order = wisp.where(mask, input, _highest(input.dtype)).sort(dim).values
    middle = (mask.sum(dim, keepdim=True) - 1) // 2
    result = order.gather(dim, middle).to(dtype)
    return result if keepdim else result.squeeze(dim)


def logsumexp(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The logarithm of the sum of the exponentials of the elements that count.

    >>> wisp.masked.logsumexp(wisp.tensor([0., 0., 9.]), mask=wisp.tensor([True, True, False]))
    tensor(0.6931)
    """
    dtype = dtype or input.dtype
    filled = _filled(input, mask, -inf if dtype.is_complex else _lowest(input.dtype))
    return filled.logsumexp(_dims(input, dim), keepdim=keepdim).to(dtype)


def logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None):
    """``log(exp(input) + exp(other))``, where what is masked out counts as -inf.

    >>> wisp.masked.logaddexp(wisp.tensor([1.]), wisp.tensor([2.]), other_mask=wisp.tensor([False]))
    tensor([1.])
    """
    dtype = dtype or input.dtype
    return _filled(input, input_mask, -inf).logaddexp(_filled(other, other_mask, -inf)).to(dtype)


def norm(input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The vector norm of the elements that count.

    >>> wisp.masked.norm(wisp.tensor([3., 9., 4.]), mask=wisp.tensor([True, False, True]))
    tensor(5.)
    """
    ord = 2.0 if ord is None else ord
    filled = _filled(input, mask, inf if ord == -inf else 0)
    return wisp.linalg.vector_norm(filled, ord, _dims(input, dim), bool(keepdim), dtype=dtype or input.dtype)


def _variance(input, dim, unbiased, correction, keepdim, dtype, mask):
    if dtype is None:
        floating = input.is_floating_point() or input.is_complex()
        dtype = input.dtype if floating else wisp.get_default_dtype()
    if unbiased is not None and correction is not None:
        raise ValueError("var(): expected either unbiased or correction, not both")
    if correction is None:
        correction = 1 if unbiased in (None, True) else 0
    dims = _dims(input, dim)
    x = input.to(dtype)
    count = _count(input, dims, True, mask, wisp.int64)
    centre = sum(x, dims, keepdim=True, mask=mask) / count.to(x.real.dtype if x.is_complex() else dtype)
    squares = (x - centre).abs() ** 2 if x.is_complex() else (x - centre) ** 2
    total = sum(squares, dims, keepdim=bool(keepdim), mask=mask)
    degrees = (count if keepdim else count.reshape(total.shape)) - correction
    return (total / degrees.clamp(min=0).to(total.dtype)).to(dtype)


def var(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The variance of the elements that count.

    >>> wisp.masked.var(wisp.tensor([1., 9., 3.]), unbiased=False, mask=wisp.tensor([True, False, True]))
    tensor(1.)
    """
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask)


def std(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The standard deviation of the elements that count.

    >>> wisp.masked.std(wisp.tensor([1., 9., 3.]), unbiased=False, mask=wisp.tensor([True, False, True]))
    tensor(1.)
    """
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask).sqrt()


def softmax(input, dim, *, dtype=None, mask=None):
    """softmax over the elements that count; 0 elsewhere.

    >>> wisp.masked.softmax(wisp.tensor([1., 9., 1.]), 0, mask=wisp.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    return _filled(input, mask, -inf).softmax(dim, dtype=dtype or input.dtype)


def log_softmax(input, dim, *, dtype=None, mask=None):
    """log_softmax over the elements that count; -inf elsewhere.

    >>> wisp.masked.log_softmax(wisp.tensor([1., 9., 1.]), 0, mask=wisp.tensor([True, False, True]))
    tensor([-0.6931,    -inf, -0.6931])
    """
    return _filled(input, mask, -inf).log_softmax(dim, dtype=dtype or input.dtype)


def softmin(input, dim, *, dtype=None, mask=None):
    """softmax of the negated elements that count; 0 elsewhere.

    >>> wisp.masked.softmin(wisp.tensor([1., 9., 1.]), 0, mask=wisp.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    return (-_filled(input, mask, inf)).softmax(dim, dtype=dtype or input.dtype)


def normalize(input, ord, dim, *, eps=1e-12, dtype=None, mask=None):
    """The elements that count divided by their norm, but by no less than eps; 0 elsewhere.

    >>> wisp.masked.normalize(wisp.tensor([3., 9., 4.]), 2.0, 0, mask=wisp.tensor([True, False, True]))
    tensor([0.6000, 0.0000, 0.8000])
    """
    dtype = dtype or input.dtype
    size = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return _filled(input, mask, 0) / size.clamp(min=eps)


# --- which elements of a result come from elements that count: for those who compare or combine results

_REDUCTIONS = ("sum", "prod", "amax", "amin", "argmax", "argmin", "mean", "median", "norm", "var", "std", "logsumexp")


def _input_mask(input, *args, mask=None, **kwargs):
    """The mask of an input, in its shape: all True without one."""
    mask = _full_mask(input, mask)
    return wisp.ones(input.shape, dtype=wisp.bool) if mask is None else mask


def _output_mask(op, input, *args, **kwargs):
    """Which elements of ``op(input, ...)`` come from at least one element that counts."""
    mask = _input_mask(input, **kwargs)
    if op.__name__ not in _REDUCTIONS:
        return mask
    if op is norm:
        args = args[1:]
    dim = args[0] if args else kwargs.get("dim")
    keepdim = bool(kwargs.get("keepdim"))
    for d in reversed(_dims(input, dim)):
        mask = mask.any(d, keepdim=keepdim)
    return mask
