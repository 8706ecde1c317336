"""Recurrent cells: one step of a recurrent network."""

import math

from wisp import _C
from wisp.nn import functional as F
from wisp.nn.modules.module import Module
from wisp.nn.parameter import Parameter

__all__ = ["GRUCell", "LSTMCell", "RNNCell", "RNNCellBase"]

_empty = _C._functions["empty"]


class RNNCellBase(Module):
    """What all cells have in common: weights for the input and for the hidden state, of several gates each.

    Args:
        input_size, hidden_size: the number of features of input and state.
        bias: whether to have biases.
        num_chunks: the number of gates.
    """

    def __init__(self, input_size, hidden_size, bias, num_chunks, device=None, dtype=None):
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows, how = num_chunks * hidden_size, {"device": device, "dtype": dtype}
        self.weight_ih = Parameter(_empty(rows, input_size, **how))
        self.weight_hh = Parameter(_empty(rows, hidden_size, **how))
        self.register_parameter("bias_ih", Parameter(_empty(rows, **how)) if bias else None)
        self.register_parameter("bias_hh", Parameter(_empty(rows, **how)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draws new weights, as the constructor does."""
        from wisp.nn.init import uniform_

        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            uniform_(weight, -bound, bound)

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        if not self.bias:
            text += f", bias={self.bias}"
        return text + (f", nonlinearity={self.nonlinearity}" if getattr(self, "nonlinearity", "tanh") != "tanh" else "")

    def _checked(self, input, state):
        """The input, and the state or zeros in its place."""
        name = type(self).__name__
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        if state is None:
            return input.new_zeros((*input.shape[:-1], self.hidden_size), dtype=input.dtype)
        if state.dim() != input.dim():
            raise ValueError(f"{name}: Expected hidden to be {input.dim()}D like the input, got {state.dim()}D instead")
        return state

    def _products(self, input, state):
        return F.linear(input, self.weight_ih, self.bias_ih), F.linear(state, self.weight_hh, self.bias_hh)


class RNNCell(RNNCellBase):
    """The next state is the tanh (or relu) of a linear function of input and state."""

    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None):
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        from_input, from_state = self._products(input, self._checked(input, hx))
        total = from_input + from_state
        return total.tanh() if self.nonlinearity == "tanh" else total.relu()


class LSTMCell(RNNCellBase):
    """One step of a long short-term memory; its state is a pair (h, c)."""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input, hx=None):
        hidden, cell = (None, None) if hx is None else hx
        hidden, cell = self._checked(input, hidden), self._checked(input, cell)
        from_input, from_state = self._products(input, hidden)
        write, forget, candidate, read = (from_input + from_state).chunk(4, -1)
        cell = forget.sigmoid() * cell + write.sigmoid() * candidate.tanh()
        return read.sigmoid() * cell.tanh(), cell


class GRUCell(RNNCellBase):
    """One step of a gated recurrent unit."""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input, hx=None):
        state = self._checked(input, hx)
        from_input, from_state = (product.chunk(3, -1) for product in self._products(input, state))
        reset, update = ((a + b).sigmoid() for a, b in zip(from_input[:2], from_state[:2]))
        candidate = (from_input[2] + reset * from_state[2]).tanh()
        return candidate + update * (state - candidate)
