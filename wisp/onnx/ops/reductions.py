"""Reductions over axes."""

import math

import wisp
from wisp.onnx.ops._common import given_axes, positive


def _reducer(function):
    """The operator that reduces axes with a function of a tensor, a list of axes and whether they stay with size 1."""

    def run(node, x, axes=None):
        axes = given_axes(node, axes)
        if not axes and node["noop_with_empty_axes"]:
            return function(x.unsqueeze(-1), [x.ndim], False)  # each element by itself
        axes = sorted({positive(axis, x.ndim) for axis in axes} if axes else range(x.ndim))
        if not axes:
            return function(x.unsqueeze(-1), [0], False)
        return function(x, axes, bool(node["keepdims"]))

    return run


def _sum(x, axes, keep):
    return wisp.sum(x, axes, keepdim=keep, dtype=x.dtype)


def _mean(x, axes, keep):
    if x.is_floating_point():
        return wisp.mean(x, axes, keepdim=keep)
    count = math.prod(x.shape[axis] for axis in axes)
    return wisp.div(_sum(x, axes, keep), count, rounding_mode="trunc")


def _prod(x, axes, keep):
    for axis in reversed(axes):
        x = wisp.prod(x, axis, keepdim=keep, dtype=x.dtype)
    return x


def _extreme(function, limit):
    """The largest or smallest element; of none at all, a limit of the type."""

    def run(x, axes, keep):
        if all(x.shape[axis] for axis in axes):
            return function(x, axes, keepdim=keep)
        sizes = [1 if i in axes else size for i, size in enumerate(x.shape) if keep or i not in axes]
        return wisp.full(sizes, limit(x.dtype), dtype=x.dtype)

    return run


def lowest(dtype):
    """The least number of a type."""
    if dtype.is_floating_point:
        return -math.inf
    return False if dtype == wisp.bool else wisp.iinfo(dtype).min


def _highest(dtype):
    if dtype.is_floating_point:
        return math.inf
    return True if dtype == wisp.bool else wisp.iinfo(dtype).max


def _norm_1(x, axes, keep):
    return _sum(x.abs(), axes, keep)


def _sum_of_squares(x, axes, keep):
    return _sum(x * x, axes, keep)


def _norm_2(x, axes, keep):
    squares = _sum_of_squares(x, axes, keep)
    return wisp.sqrt(squares).to(x.dtype)


def _log_sum(x, axes, keep):
    return wisp.log(_sum(x, axes, keep)).to(x.dtype)


def _log_sum_exp(x, axes, keep):
    if not x.is_floating_point():
        return wisp.logsumexp(x.to(wisp.float64), axes, keepdim=keep).to(x.dtype)
    return wisp.logsumexp(x, axes, keepdim=keep)


OPERATORS = {
    name: [(1, _reducer(function))]
    for name, function in {
        "ReduceL1": _norm_1,
        "ReduceL2": _norm_2,
        "ReduceLogSum": _log_sum,
        "ReduceLogSumExp": _log_sum_exp,
        "ReduceMax": _extreme(wisp.amax, lowest),
        "ReduceMean": _mean,
        "ReduceMin": _extreme(wisp.amin, _highest),
        "ReduceProd": _prod,
        "ReduceSum": _sum,
        "ReduceSumSquare": _sum_of_squares,
    }.items()
}
