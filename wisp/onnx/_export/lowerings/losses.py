"""Losses: reductions are numbers here, 0 for none, 1 for the mean, 2 for the sum."""

from wisp.onnx._export.values import Unsupported

_NAMES = ("none", "mean", "sum")


def _reduced(g, loss, reduction):
    if reduction == 0:
        return loss
    return g.reduce("ReduceMean" if reduction == 1 else "ReduceSum", loss)


def _gap(g, x, target):
    return g.op("Sub", x, g.cast(target, x.dtype))


def _mse(g, x, target, reduction):
    gap = _gap(g, x, target)
    return _reduced(g, g.op("Mul", gap, gap), reduction)


def _bent(g, gap, limit, inner, outer):
    """Squares of small differences, lines for large ones."""
    size = g.op("Abs", gap)
    square = g.op("Mul", g.op("Mul", gap, gap), g.number(inner, gap.dtype))
    line = g.op("Mul", g.op("Sub", size, g.number(limit / 2, gap.dtype)), g.number(outer, gap.dtype))
    return g.op("Where", g.op("Less", size, g.number(limit, gap.dtype)), square, line)


def _smooth_l1(g, x, target, reduction, beta):
    gap = _gap(g, x, target)
    if beta == 0:
        return _reduced(g, g.op("Abs", gap), reduction)
    return _reduced(g, _bent(g, gap, beta, 0.5 / beta, 1.0), reduction)


def _huber(g, x, target, reduction, delta):
    return _reduced(g, _bent(g, _gap(g, x, target), delta, 0.5, delta), reduction)


def _bce(g, x, target, reduction):
    one, floor = g.number(1, x.dtype), g.number(-100, x.dtype)
    logs = [g.op("Max", g.op("Log", value), floor) for value in (x, g.op("Sub", one, x))]
    parts = g.op("Mul", target, logs[0]), g.op("Mul", g.op("Sub", one, target), logs[1])
    return _reduced(g, g.op("Neg", g.op("Add", *parts)), reduction)


def _bce_logits(g, x, target, reduction):
    """max(x, 0) - x * target + log(1 + exp(-|x|))"""
    top = g.op("Max", x, g.number(0, x.dtype))
    tail = g.op("Softplus", g.op("Neg", g.op("Abs", x)))
    return _reduced(g, g.op("Add", g.op("Sub", top, g.op("Mul", x, target)), tail), reduction)


def _classes(kind):
    """A loss of classes. Scores of one sample have no batch, which ONNX wants."""

    def lower(g, x, target, weight, reduction, ignore_index):
        if target.is_float:
            raise Unsupported("probabilities as targets")
        alone = x.rank == 1
        if alone:
            x, target = g.unsqueeze(x, [0]), g.reshape(target, [1])
        loss = g.op(kind, x, target, weight, ignore_index=ignore_index, reduction=_NAMES[reduction])
        return (g.reshape(loss, []) if alone else loss,)

    return lower


LOWERINGS = {
    "_mse_loss": _mse, "_smooth_l1_loss": _smooth_l1, "_huber_loss": _huber, "_bce_loss": _bce,
    "_bce_logits_loss": _bce_logits, "_nll_loss": _classes("NegativeLogLikelihoodLoss"),
    "_cross_entropy": _classes("SoftmaxCrossEntropyLoss"),
}  # fmt: skip
