"""Samples of recurrent layers and cells."""

from tests.ops.sampling import A, E, I, S, T, errors, samples


def weights(gates, inputs, hidden, biases=True, projected=0):
    """The weights of one direction of a layer."""
    outputs = projected or hidden
    found = [T(gates * hidden, inputs, low=-1, high=1), T(gates * hidden, outputs, low=-1, high=1)]
    found += [T(gates * hidden, low=-1, high=1)] * (2 * biases)
    return found + [T(projected, hidden, low=-1, high=1)] * bool(projected)


def layers(gates, two_states):
    def state(*shape):
        return [T(*shape), T(*shape)] if two_states else T(*shape)

    one = weights(gates, 2, 1)
    yield S(T(3, 2, 2), state(1, 2, 1), one, True, 1, 0.0, False, False, False)
    yield S(T(2, 3, 2), state(1, 2, 1), one, True, 1, 0.5, False, False, True)
    yield S(T(2, 1, 1), state(1, 1, 2), weights(gates, 1, 2, False), False, 1, 0.0, True, False, False)
    stack = weights(gates, 1, 1, False) * 2 + weights(gates, 2, 1, False) * 2
    yield S(T(2, 2, 1), state(4, 2, 1), stack, False, 2, 0.0, False, True, False)
    yield S(T(2, 0, 2), state(1, 0, 1), one, True, 1, 0.0, False, False, False, _grad=False)
    packed = A([3, 2, 1], dtype="int64")
    yield S(T(6, 2), packed, state(1, 3, 1), one, True, 1, 0.0, False, False)
    both = weights(gates, 1, 1, False) * 2
    yield S(T(6, 1), packed, state(2, 3, 1), both, False, 1, 0.0, False, True)
    wide, exact = weights(gates, 3, 35), ("float32", "float64")  # PyTorch rounds halves after every operation
    yield S(T(5, 4, 3), state(1, 4, 35), wide, True, 1, 0.0, False, False, False, _grad=False, _dtypes=exact)


@samples("lstm")
def lstm():
    yield from layers(4, True)
    projected = weights(4, 1, 2, False, 1)
    yield S(T(2, 2, 1), [T(1, 2, 1), T(1, 2, 2)], projected, False, 1, 0.0, False, False, False)


@samples("gru")
def gru():
    yield from layers(3, False)


@samples("rnn_tanh", "rnn_relu")
def rnn():
    yield from layers(1, False)


@samples("lstm_cell")
def lstm_cell():
    yield S(T(2, 2), [T(2, 1), T(2, 1)], *weights(4, 2, 1))
    yield S(T(1, 1), [T(1, 2), T(1, 2)], *weights(4, 1, 2, False))


@samples("gru_cell")
def gru_cell():
    yield S(T(2, 2), T(2, 1), *weights(3, 2, 1))
    yield S(T(1, 1), T(1, 2), *weights(3, 1, 2, False))


@samples("rnn_tanh_cell", "rnn_relu_cell")
def rnn_cell():
    yield S(T(2, 3), T(2, 2), *weights(1, 3, 2))
    yield S(T(1, 1), T(1, 2), *weights(1, 1, 2, False))


@errors("lstm")
def bad_lstm():
    state, one = [T(1, 2, 1)] * 2, weights(4, 2, 1)
    rest = (True, 1, 0.0, False, False, False)
    yield E(RuntimeError, "lstm expects two hidden states", T(3, 2, 2), state[:1], one, *rest)
    yield E(RuntimeError, "expected 4 weights", T(3, 2, 2), state, one[:3], *rest)
    yield E(RuntimeError, "expected 8 weights", T(3, 2, 2), state, one, True, 2, 0.0, False, False, False)
    yield E(IndexError, "input with 3 dimensions", T(3, 2), state, one, *rest)
    yield E(RuntimeError, "inconsistent input_size", T(3, 2, 4), state, one, *rest)
    yield E(RuntimeError, "sequence length to be larger than 0", T(0, 2, 2), state, one, *rest)


@errors("gru")
def bad_gru():
    one, rest = weights(3, 2, 1), (True, 1, 0.0, False, False)
    yield E(RuntimeError, "do not increase", T(3, 2), A([1, 2], dtype="int64"), T(1, 1, 1), one, *rest)
    yield E(RuntimeError, "add up to the 3 rows", T(3, 2), A([1, 1], dtype="int64"), T(1, 1, 1), one, *rest)
    yield E(RuntimeError, "batch_sizes", T(3, 2), A([1.0, 1.0]), T(1, 1, 1), one, *rest)
    yield E(RuntimeError, "must have the same dtype", I(3, 1, 2), T(1, 1, 1), one, *rest, False)


@errors("lstm_cell")
def bad_lstm_cell():
    one = weights(4, 2, 1)
    yield E(RuntimeError, "Input batch size 2 doesn't match hidden1 batch size 1", T(2, 2), [T(2, 1), T(1, 1)], *one)
    yield E(RuntimeError, "hidden1 has inconsistent hidden_size: got 2, expected 1", T(2, 2), [T(2, 1), T(2, 2)], *one)
    yield E(RuntimeError, "input has inconsistent input_size: got 3 expected 2", T(2, 3), [T(2, 1), T(2, 1)], *one)
    yield E(IndexError, "input with 2 dimensions", T(2), [T(1), T(1)], *one)


@samples("norm_except_dim")
def norm_except_dim():
    yield S(T(2, 3))
    yield S(T(2, 3, 2), 2, 1)
    yield S(T(2, 3), 2, -1)
    yield S(T(3, low=0.5), 1, 0)
