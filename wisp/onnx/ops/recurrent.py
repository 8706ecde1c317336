"""Recurrent networks: RNN, GRU and LSTM, step by step."""

import wisp
from wisp.nn import functional as F

# Activation functions of x, alpha and beta, with the defaults of the latter. None: the function does not use it.
_ACTIVATIONS = {
    "affine": (lambda x, a, b: a * x + b, 1.0, 0.0),
    "elu": (lambda x, a, b: F.elu(x, a), 1.0, None),
    "hardsigmoid": (lambda x, a, b: wisp.clamp(a * x + b, 0, 1), 0.2, 0.5),
    "leakyrelu": (lambda x, a, b: F.leaky_relu(x, a), 0.01, None),
    "relu": (lambda x, a, b: wisp.relu(x), None, None),
    "scaledtanh": (lambda x, a, b: a * wisp.tanh(b * x), 1.0, 1.0),
    "sigmoid": (lambda x, a, b: wisp.sigmoid(x), None, None),
    "softplus": (lambda x, a, b: F.softplus(x), None, None),
    "softsign": (lambda x, a, b: F.softsign(x), None, None),
    "tanh": (lambda x, a, b: wisp.tanh(x), None, None),
    "thresholdedrelu": (lambda x, a, b: wisp.where(x >= a, x, 0), 1.0, None),
}


def _activations(node, defaults, directions):
    """The activation functions of each direction, with clipping of their inputs."""
    names = node["activations"] or defaults * directions
    alphas, betas = iter(node["activation_alpha"] or []), iter(node["activation_beta"] or [])
    functions = []
    for name in names[: len(defaults) * directions]:
        if name.lower() not in _ACTIVATIONS:
            raise ValueError(f"unknown activation function {name!r}")
        function, alpha, beta = _ACTIVATIONS[name.lower()]
        alpha = next(alphas, alpha) if alpha is not None else None
        beta = next(betas, beta) if beta is not None else None
        functions.append(_clipped(function, alpha, beta, node["clip"]))
    return [functions[i * len(defaults) : (i + 1) * len(defaults)] for i in range(directions)]


def _clipped(function, alpha, beta, clip):
    if not clip:
        return lambda x: function(x, alpha, beta)
    return lambda x: function(x.clamp(-clip, clip), alpha, beta)


def _recurrent(make_cell, defaults, state_count):
    """The operator whose cell a function makes from activations and the weights of one direction."""

    def run(node, x, w, r, b=None, lengths=None, *rest):
        first_states, others = list(rest[:state_count]), rest[state_count:]
        if node["layout"]:
            x = x.transpose(0, 1)
            first_states = [s if s is None else s.transpose(0, 1) for s in first_states]
        directions, hidden = len(w), r.shape[-1]
        reverse = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[node["direction"]]
        if len(reverse) != directions:
            raise ValueError(f"direction {node['direction']!r} does not fit weights for {directions} directions")
        results = []
        for i, functions in enumerate(_activations(node, defaults, directions)):
            bias = b[i] if b is not None else x.new_zeros(2 * w.shape[1])
            cell = make_cell(node, functions, r[i], bias[w.shape[1] :], *(o if o is None else o[i] for o in others))
            states = [s[i] if s is not None else x.new_zeros(x.shape[1], hidden) for s in first_states]
            states += [x.new_zeros(x.shape[1], hidden) for _ in range(state_count - len(states))]
            inputs = F.linear(_turned(x, lengths) if reverse[i] else x, w[i], bias[: w.shape[1]])
            outputs, states = _steps(cell, inputs, states, lengths)
            results.append((_turned(outputs, lengths) if reverse[i] else outputs, *states))
        return _joined(node, results)

    return run


def _steps(cell, inputs, states, lengths):
    """The outputs of all steps and the last states. States of sequences that have ended stay; their outputs are zero."""
    outputs = []
    for time, step in enumerate(inputs):
        new = cell(step, *states)
        if lengths is not None:
            alive = (time < lengths).unsqueeze(1)
            states = [wisp.where(alive, n, s) for n, s in zip(new, states)]
            outputs.append(wisp.where(alive, new[0], 0))
        else:
            states = new
            outputs.append(new[0])
    return wisp.stack(outputs), states


def _turned(x, lengths):
    """Sequences backwards, each as far as it is long."""
    if lengths is None:
        return x.flip(0)
    time = wisp.arange(len(x)).unsqueeze(1)
    places = wisp.where(time < lengths, lengths - 1 - time, time)
    return x[places, wisp.arange(x.shape[1])]


def _joined(node, results):
    """The outputs of all directions, in the layout that the node asks for."""
    outputs, *states = (list(column) for column in zip(*results))
    y, states = wisp.stack(outputs, 1), [wisp.stack(s) for s in states]
    if node["layout"]:
        y, states = y.permute(2, 0, 1, 3), [s.transpose(0, 1) for s in states]
    return (y, *states)


def _rnn_cell(node, functions, r, bias):
    (f,) = functions
    return lambda x, h: [f(x + F.linear(h, r, bias))]


def _gru_cell(node, functions, r, bias):
    f, g = functions
    r_gates, r_hidden = r.split([2 * r.shape[1], r.shape[1]])
    b_gates, b_hidden = bias.split([2 * r.shape[1], r.shape[1]])

    def cell(x, h):
        x_gates, x_hidden = x.split([2 * r.shape[1], r.shape[1]], -1)
        update, reset = f(x_gates + F.linear(h, r_gates, b_gates)).chunk(2, -1)
        if node["linear_before_reset"]:
            new = g(x_hidden + reset * F.linear(h, r_hidden, b_hidden))
        else:
            new = g(x_hidden + F.linear(reset * h, r_hidden, b_hidden))
        return [(1 - update) * new + update * h]

    return cell


def _lstm_cell(node, functions, r, bias, peepholes=None):
    f, g, h_function = functions
    p_in, p_out, p_forget = peepholes.chunk(3) if peepholes is not None else (0, 0, 0)

    def cell(x, h, c):
        i, o, forget, new = (x + F.linear(h, r, bias)).chunk(4, -1)
        i = f(i + p_in * c)
        forget = 1 - i if node["input_forget"] else f(forget + p_forget * c)
        c = forget * c + i * g(new)
        return [f(o + p_out * c) * h_function(c), c]

    return cell


OPERATORS = {
    "GRU": [(1, _recurrent(_gru_cell, ["Sigmoid", "Tanh"], 1))],
    "LSTM": [(1, _recurrent(_lstm_cell, ["Sigmoid", "Tanh", "Tanh"], 2))],
    "RNN": [(1, _recurrent(_rnn_cell, ["Tanh"], 1))],
}
