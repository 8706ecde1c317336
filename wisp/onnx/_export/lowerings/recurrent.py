"""Recurrent layers."""

from wisp.onnx._export.lowerings.matmul import linear
from wisp.onnx._export.values import Unsupported

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


def _layer(g, kind, x, directions, has_biases, states, activation):
    """One layer: its output, and its last states."""
    both = len(directions) == 2
    hidden = directions[0][1].fixed(1)
    settings = {"hidden_size": hidden, "direction": "bidirectional" if both else "forward"}
    if activation:
        settings["activations"] = [activation] * len(directions)
    if kind == "GRU":
        settings["linear_before_reset"] = 1
    weights = _weights(g, kind, directions, has_biases)
    out, *last = g.op(kind, x, *weights, None, *states, outputs=1 + len(states), **settings)
    out.sizes = (None,) * 4  # step, direction, batch, number
    merged = g.op("Reshape", g.transpose(out, [0, 2, 1, 3]), [0, 0, hidden * len(directions)], sizes=(None,) * 3)
    return merged, last


def _recurrent(kind, activation=None):
    def lower(g, x, hx, params, has_biases, layers, dropout, train, bidirectional, batch_first):
        if dropout and train:
            raise Unsupported("dropout between recurrent layers, which only training has")
        hx = hx if isinstance(hx, list) else [hx]
        if params[0].fixed(0) // len(_GATES[kind]) != params[1].fixed(1):
            raise Unsupported("recurrent layers with a projection")
        alone = x.rank == 2
        if alone:
            x, hx = g.unsqueeze(x, [1]), [g.unsqueeze(h, [1]) for h in hx]
        elif batch_first:
            x = g.swap(x, 0, 1)
        x, last = _layers(g, kind, x, hx, params, (has_biases, layers, bidirectional, activation))
        if alone:
            return tuple(g.op("Squeeze", value, [1]) for value in (x, *last))
        return (g.swap(x, 0, 1) if batch_first else x, *last)

    return lower


def _layers(g, kind, x, hx, params, settings):
    has_biases, layers, bidirectional, activation = settings
    directions = 2 if bidirectional else 1
    step = 4 if has_biases else 2
    ends = []
    for layer in range(layers):
        first = layer * directions
        own = [params[(first + d) * step : (first + d + 1) * step] for d in range(directions)]
        states = [g.slice(h, [first], [first + directions], [0]) if layers > 1 else h for h in hx]
        x, last = _layer(g, kind, x, own, has_biases, states, activation)
        ends.append(last)
    if layers == 1:
        return x, ends[0]
    return x, [g.op("Concat", *parts, axis=0) for parts in zip(*ends, strict=True)]


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
    parts = [g.op("Add", a, b) for a, b in zip(*_added_up(g, x, h, weights, 4), strict=True)]
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


LOWERINGS = {
    "lstm_cell": _lstm_cell, "gru_cell": _gru_cell, "rnn_tanh_cell": _rnn_cell("Tanh"),
    "rnn_relu_cell": _rnn_cell("Relu"),
    "lstm.input": _recurrent("LSTM"), "gru.input": _recurrent("GRU"), "rnn_tanh.input": _recurrent("RNN", "Tanh"),
    "rnn_relu.input": _recurrent("RNN", "Relu"),
}  # fmt: skip
