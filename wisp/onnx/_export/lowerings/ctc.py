"""The loss of sequences that are not aligned (CTC): its states are blank, label, blank, label, ..., blank."""

import math

import wisp
from wisp.onnx._export.formula import Formula
from wisp.onnx._export.inner import scan
from wisp.onnx._export.lowerings.creation import counted, filled
from wisp.onnx._export.lowerings.scans import log_of_sum

_INT = wisp.int64


def _lengths(g, lengths):
    """One number for each sample, as a column."""
    return g.reshape(g.cast(lengths if hasattr(lengths, "name") else g.ints(lengths), _INT), [-1, 1])


def _padded_targets(g, targets, lengths):
    """Labels as rows; those that are given one after the other are cut into rows."""
    targets = g.cast(targets, _INT)
    if targets.rank == 2:
        return targets
    longest = g.reduce("ReduceMax", lengths)
    ends = g.op("CumSum", lengths, g.number(0, _INT))
    starts = g.op("Sub", ends, lengths)
    numbers = g.op("Range", g.number(0, _INT), longest, g.number(1, _INT), sizes=(None,))
    at = g.op("Add", starts, g.unsqueeze(numbers, [0]))
    padded = g.op("Concat", targets, wisp.zeros(1, dtype=_INT), axis=0)
    return g.op("Gather", padded, g.op("Min", at, g.op("Size", targets)), axis=0, sizes=(None, None))


def _states(g, targets, blank, classes):
    """The labels of all states."""
    targets = Formula(g, targets).at_least(0).at_most(classes - 1)
    pairs = [(targets * 0 + blank).ref, targets.ref]
    both = g.op("Concat", *(g.unsqueeze(part, [2]) for part in pairs), axis=2)
    flat = g.op("Reshape", both, [0, -1])
    first = g.op("Gather", g.op("Shape", targets.ref), [0], axis=0)
    last = filled(g, g.op("Concat", first, g.ints([1]), axis=0), blank, _INT)
    return g.op("Concat", flat, last, axis=1, sizes=(None, None))


def _shifted(g, x, count, value):
    """Columns moved to the right."""
    pads = g.op("Pad", x, [0, count, 0, 0], g.number(value, x.dtype))
    return g.op("Slice", pads, [0], [-count], [1], sizes=(None, None))


def _forward(g, probs, states, lengths):
    """The log-probabilities of all states after the last step of each sample."""
    width = g.op("Gather", g.op("Shape", states), g.number(1, _INT), axis=0, sizes=())
    numbers = g.op("Range", g.number(0, _INT), width, g.number(1, _INT), sizes=(None,))
    is_first = g.op("Equal", g.unsqueeze(numbers, [0]), g.number(0, _INT))
    zeros = g.cast(g.op("Mul", states, g.number(0, _INT), sizes=(None, None)), probs.dtype)
    start = g.op("Where", is_first, zeros, g.number(-math.inf, probs.dtype), sizes=(None, None))
    differs = g.op("Not", g.op("Equal", states, _shifted(g, states, 2, -1)))
    skips = g.op("And", differs, g.op("Greater", g.unsqueeze(numbers, [0]), g.number(1, _INT)))
    steps = g.unsqueeze(counted(g, g.size(probs, 0)), [1])

    def step(carried, items):
        before, (row, time) = carried[0], items
        one, two = (Formula(g, _shifted(g, before, n, -math.inf)) for n in (1, 2))
        total = log_of_sum(Formula(g, before), one)
        total = Formula(g, skips).choose(log_of_sum(total, two), total)
        made = g.op("Add", total.ref, g.op("GatherElements", row, states, axis=1))
        return [g.op("Where", g.op("Less", time, lengths), made, before)], []

    return scan(g, [start], [probs, steps], 0, step, collected=[])[0]


def _each(g, probs, targets, input_lengths, target_lengths, blank):
    lengths, labels = _lengths(g, input_lengths), _lengths(g, target_lengths)
    states = _states(g, _padded_targets(g, targets, labels), blank, probs.fixed(2))
    alpha = _forward(g, probs, states, lengths)
    last = g.op("Mul", labels, g.number(2, _INT))
    before = g.op("Max", g.op("Sub", last, g.number(1, _INT)), g.number(0, _INT))
    ends = [Formula(g, g.op("GatherElements", alpha, at, axis=1, sizes=(None, 1))) for at in (last, before)]
    nothing = Formula(g, g.op("Equal", labels, g.number(0, _INT), sizes=(None, 1)))
    found = -log_of_sum(ends[0], nothing.choose(-math.inf, ends[1]))
    return g.squeeze(found.ref, [1]), g.squeeze(labels, [1])


def _ctc_loss(g, probs, targets, input_lengths, target_lengths, blank=0, reduction=1, zero_infinity=False):
    alone = probs.rank == 2
    if alone:
        probs = g.unsqueeze(probs, [1])
        targets = g.unsqueeze(targets, [0]) if targets.rank == 1 else targets
    found, labels = _each(g, probs, targets, input_lengths, target_lengths, blank)
    if zero_infinity:
        found = g.op("Where", g.op("IsInf", found), g.number(0, probs.dtype), found)
    if reduction == 1:
        counts = g.cast(g.op("Max", labels, g.number(1, _INT)), probs.dtype)
        return g.reduce("ReduceMean", g.op("Div", found, counts))
    if reduction == 2:
        return g.reduce("ReduceSum", found)
    return g.reshape(found, []) if alone else found


LOWERINGS = {**dict.fromkeys(("ctc_loss", "ctc_loss.tensor"), _ctc_loss)}
