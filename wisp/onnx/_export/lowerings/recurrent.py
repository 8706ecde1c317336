"""Recurrent layers."""

from dataclasses import dataclass

import wisp
from wisp.onnx._export.inner import scan
from wisp.onnx._export.lowerings.creation import filled
from wisp.onnx._export.lowerings.matmul import linear
from wisp.onnx._export.values import Ref, Unsupported

# How ONNX orders the gates, in terms of the order here.
_GATES = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2), "RNN": (0,)}


def _ordered(g, kind, weight):
    """Weights with their gates in the order of ONNX, and a first dimension for the direction."""
    order = _GATES[kind]
    if len(order) > 1:
        size = weight.fixed(0) // len(order)
        parts = g.op("Split", weight, [size] * len(order), outputs=len(order), axis=0)
        weight = g.op("Concat", *(parts[i] for i in order), axis=0)
    return weight


def _stacked(g, tensors):
    tensors = [g.op("Unsqueeze", tensor, [0]) for tensor in tensors]
    return tensors[0] if len(tensors) == 1 else g.op("Concat", *tensors, axis=0)


def _weights(g, kind, directions, has_biases):
    """W, R and B of a layer."""
    inputs = [_stacked(g, [_ordered(g, kind, params[i]) for params in directions]) for i in range(2)]
    if not has_biases:
        return (*inputs, None)
    biases = [g.op("Concat", *(_ordered(g, kind, params[i]) for i in (2, 3)), axis=0) for params in directions]
    return (*inputs, _stacked(g, biases))


@dataclass
class _Kind:
    """What the layers of a network have in common."""

    name: str
    activation: str | None
    has_biases: bool
    bidirectional: bool
    lengths: Ref | None = None  # of sequences that are padded

    @property
    def directions(self):
        return 2 if self.bidirectional else 1


def _layer(g, kind, x, directions, states):
    """One layer: its output, and its last states."""
    hidden = directions[0][1].fixed(1)
    settings = {"hidden_size": hidden, "direction": "bidirectional" if kind.bidirectional else "forward"}
    if kind.activation:
        settings["activations"] = [kind.activation] * kind.directions
    if kind.name == "GRU":
        settings["linear_before_reset"] = 1
    weights = _weights(g, kind.name, directions, kind.has_biases)
    out, *last = g.op(kind.name, x, *weights, kind.lengths, *states, outputs=1 + len(states), **settings)
    out.sizes = (None,) * 4  # step, direction, batch, number
    merged = g.op("Reshape", g.transpose(out, [0, 2, 1, 3]), [0, 0, hidden * kind.directions], sizes=(None,) * 3)
    return merged, last


def _recurrent(kind, activation=None):
    def lower(g, x, hx, params, has_biases, layers, dropout, train, bidirectional, batch_first):
        _refuse_dropout(dropout, train)
        hx = hx if isinstance(hx, list) else [hx]
        alone = x.rank == 2
        if alone:
            x, hx = g.unsqueeze(x, [1]), [g.unsqueeze(h, [1]) for h in hx]
        elif batch_first:
            x = g.swap(x, 0, 1)
        x, last = _layers(g, _Kind(kind, activation, has_biases, bidirectional), x, hx, params, layers)
        if alone:
            return tuple(g.op("Squeeze", value, [1]) for value in (x, *last))
        return (g.swap(x, 0, 1) if batch_first else x, *last)

    return lower


def _refuse_dropout(dropout, train):
    if dropout and train:
        raise Unsupported("dropout between recurrent layers, which only training has")


def _layers(g, kind, x, hx, params, layers):
    is_projected = params[0].fixed(0) // len(_GATES[kind.name]) != params[1].fixed(1)
    step = (4 if kind.has_biases else 2) + is_projected
    run, ends = _projected_layer if is_projected else _layer, []
    for layer in range(layers):
        first = layer * kind.directions
        own = [params[(first + d) * step : (first + d + 1) * step] for d in range(kind.directions)]
        states = [g.slice(h, [first], [first + kind.directions], [0]) if layers > 1 else h for h in hx]
        x, last = run(g, kind, x, own, states)
        ends.append(last)
    if layers == 1:
        return x, ends[0]
    return x, [g.op("Concat", *parts, axis=0) for parts in zip(*ends, strict=True)]


# --- an LSTM whose output is a product with a matrix: ONNX has none, so that it is written as its steps


def _projected_layer(g, kind, x, directions, states):
    found = []
    for d, params in enumerate(directions):
        own = [g.op("Gather", state, g.number(d, wisp.int64), axis=0, sizes=(None, None)) for state in states]
        found.append(_projected_steps(g, x, params, own, kind.lengths, reverse=d == 1))
    outs, *last = zip(*found, strict=True)
    joined = outs[0] if len(outs) == 1 else g.op("Concat", *outs, axis=2, sizes=(None,) * 3)
    return joined, [_stacked(g, part) for part in last]


def _projected_steps(g, x, params, states, lengths, reverse):
    """(outputs, last h, last c) of one direction. Where a sequence is over, or has not begun, states stay."""
    w_ih, w_hh, *biases, projection = params
    b_ih, b_hh = biases or (None, None)
    sums = linear(g, x, w_ih, b_ih)
    sums.sizes = (*x.sizes[:-1], w_ih.fixed(0))
    sequences = [sums] if lengths is None else [sums, _present_steps(g, x, lengths)]

    def step(states, items):
        h, c = states
        past, size = linear(g, h, w_hh, b_hh), w_hh.fixed(0) // 4
        parts = g.op("Split", g.op("Add", items[0], past), [size] * 4, outputs=4, axis=1, sizes=(None, size))
        wide, cell = _lstm_step(g, parts, c)
        made = linear(g, wide, projection)
        if lengths is None:
            return [made, cell], [made]
        kept = [g.op("Where", items[1], new, old) for new, old in ((made, h), (cell, c))]
        return kept, [g.op("Where", items[1], made, g.number(0, x.dtype))]

    h, c, out = scan(g, states, sequences, 0, step, collected=[x.dtype], sizes=(None, None), reverse=reverse)
    return out, h, c


def _present_steps(g, x, lengths):
    """Which sequences go on at each step, with a last dimension to be spread."""
    steps = g.op("Range", *(g.number(n, wisp.int64) for n in (0, g.size(x, 0), 1)), sizes=(None,))
    found = g.op("Less", g.unsqueeze(steps, [1]), g.unsqueeze(g.cast(lengths, wisp.int64), [0]))
    return g.unsqueeze(found, [2])


# --- packed sequences


def _packed(kind, activation=None):
    """Padded for the layers, and packed again."""

    def lower(g, data, sizes, hx, params, has_biases, layers, dropout, train, bidirectional):
        _refuse_dropout(dropout, train)
        hx = hx if isinstance(hx, list) else [hx]
        sizes = g.cast(sizes, wisp.int64)
        steps, first = g.size(sizes, 0), g.op("Gather", sizes, g.number(0, wisp.int64), axis=0, sizes=())
        first.number = True
        members = g.op("Range", g.number(0, wisp.int64), first, g.number(1, wisp.int64), sizes=(None,))
        present = g.op("Less", g.unsqueeze(members, [0]), g.unsqueeze(sizes, [1]), sizes=(None, None))
        places = g.op("Transpose", g.op("NonZero", present), perm=[1, 0])
        empty = filled(g, [steps, first, data.fixed(1)], 0, data.dtype)
        padded = g.op("ScatterND", empty, places, data, sizes=(None, None, data.fixed(1)))
        lengths = g.reduce("ReduceSum", g.cast(present, wisp.int32), [0])
        settings = _Kind(kind, activation, has_biases, bidirectional, lengths)
        out, last = _layers(g, settings, padded, hx, params, layers)
        return (g.op("GatherND", out, places), *last)

    return lower


# --- single steps


def _sums(g, x, weight, bias, count):
    """What a step adds up from its input or state, for each of its gates."""
    found = linear(g, x, weight, bias)
    if count == 1:
        return [found]
    size = weight.fixed(0) // count
    return list(g.op("Split", found, [size] * count, outputs=count, axis=x.rank - 1))


def _added_up(g, x, h, weights, count):
    w_ih, w_hh, b_ih, b_hh = (*weights, None, None)[:4]
    return _sums(g, x, w_ih, b_ih, count), _sums(g, h, w_hh, b_hh, count)


def _lstm_cell(g, x, hx, *weights):
    h, c = hx
    return _lstm_step(g, [g.op("Add", a, b) for a, b in zip(*_added_up(g, x, h, weights, 4), strict=True)], c)


def _lstm_step(g, parts, c):
    """The next state of the sums that the gates are made of."""
    let_in, kept, out = (g.op("Sigmoid", parts[i]) for i in (0, 1, 3))
    c = g.op("Add", g.op("Mul", kept, c), g.op("Mul", let_in, g.op("Tanh", parts[2])))
    return g.op("Mul", out, g.op("Tanh", c)), c


def _gru_cell(g, x, h, *weights):
    own, past = _added_up(g, x, h, weights, 3)
    reset, kept = (g.op("Sigmoid", g.op("Add", own[i], past[i])) for i in (0, 1))
    new = g.op("Tanh", g.op("Add", own[2], g.op("Mul", reset, past[2])))
    return g.op("Add", new, g.op("Mul", kept, g.op("Sub", h, new)))


def _rnn_cell(activation):
    def lower(g, x, h, *weights):
        (own,), (past,) = _added_up(g, x, h, weights, 1)
        return g.op(activation, g.op("Add", own, past))

    return lower


_LAYERS = {"lstm": ("LSTM",), "gru": ("GRU",), "rnn_tanh": ("RNN", "Tanh"), "rnn_relu": ("RNN", "Relu")}
LOWERINGS = {
    "lstm_cell": _lstm_cell, "gru_cell": _gru_cell, "rnn_tanh_cell": _rnn_cell("Tanh"),
    "rnn_relu_cell": _rnn_cell("Relu"), **{f"{name}.input": _recurrent(*kind) for name, kind in _LAYERS.items()},
    **{f"{name}.data": _packed(*kind) for name, kind in _LAYERS.items()},
}  # fmt: skip
