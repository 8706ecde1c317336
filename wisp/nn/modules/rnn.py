"""Recurrent networks of whole sequences, and their cells: one step."""

from __future__ import annotations

import math
import numbers
import warnings

from wisp import _C
from wisp._C import Tensor
from wisp.nn.modules.module import Module
from wisp.nn.parameter import Parameter

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing takes time
    from typing import Any

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]

_empty = _C._functions["empty"]
_GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "GRU": 3, "LSTM": 4}
_OPERATORS = {mode: _C._functions[mode.lower()] for mode in _GATES}
_CELLS = {name: _C._functions[name] for name in ("rnn_tanh_cell", "rnn_relu_cell", "gru_cell", "lstm_cell")}


def _draw_uniform(module, hidden_size):
    """Draws all weights uniformly, within what keeps sums over hidden units in bounds."""
    from wisp.nn.init import uniform_

    bound = 1.0 / math.sqrt(hidden_size) if hidden_size > 0 else 0
    for weight in module.parameters():
        uniform_(weight, -bound, bound)


class RNNBase(Module):
    """What recurrent networks have in common: their weights, and the checks of what they are called with.

    Args:
        mode: "RNN_TANH", "RNN_RELU", "LSTM" or "GRU".
        input_size, hidden_size: the number of features of input and state.
        num_layers: how many layers there are, each reading what the one before gives.
        bias: whether to have biases.
        batch_first: whether sequences are (batch, time, features) instead of (time, batch, features).
        dropout: the probability of dropping what one layer hands to the next.
        bidirectional: whether each layer reads sequences from both ends.
        proj_size: the size of the hidden state of an LSTM after projection; 0: it is not projected.
    """

    def __init__(self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0,
                 device: Any = None, dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        self._check_settings(dropout)
        self._all_weights = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse")[: 2 if bidirectional else 1]:
                self._all_weights.append(self._add_weights(layer, suffix, device, dtype))
        self._flat_weights_names = [name for names in self._all_weights for name in names]
        self.reset_parameters()

    def _check_settings(self, dropout):
        if not isinstance(dropout, numbers.Number) or not 0 <= dropout <= 1 or isinstance(dropout, bool):
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if dropout > 0 and self.num_layers == 1:
            warnings.warn("dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                          f"num_layers greater than 1, but got dropout={dropout} and num_layers={self.num_layers}",
                          stacklevel=4)  # fmt: skip
        if not isinstance(self.hidden_size, int):
            raise TypeError(f"hidden_size should be of type int, got: {type(self.hidden_size).__name__}")
        if self.hidden_size <= 0:
            raise ValueError("hidden_size must be greater than zero")
        if self.num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if self.proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if self.mode not in _GATES:
            raise ValueError(f"Unrecognized RNN mode: {self.mode}")

    def _add_weights(self, layer, suffix, device, dtype):
        """Makes the weights of one direction of a layer, and returns their names."""
        rows, outputs = _GATES[self.mode] * self.hidden_size, self.proj_size or self.hidden_size
        inputs = self.input_size if layer == 0 else outputs * (2 if self.bidirectional else 1)
        shapes = {"weight_ih": (rows, inputs), "weight_hh": (rows, outputs)}
        if self.bias:
            shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        names = []
        for kind, shape in shapes.items():
            names.append(f"{kind}_l{layer}{suffix}")
            setattr(self, names[-1], Parameter(_empty(shape, device=device, dtype=dtype)))
        return names

    def reset_parameters(self) -> None:
        """Draws new weights, as the constructor does."""
        _draw_uniform(self, self.hidden_size)

    def flatten_parameters(self) -> None:
        """Does nothing here: other devices want the weights in one piece of memory."""

    @property
    def _flat_weights(self) -> list[Tensor]:
        return [getattr(self, name) for name in self._flat_weights_names]

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The weights of each direction of each layer."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def extra_repr(self) -> str:
        shown = {
            "proj_size": 0,
            "num_layers": 1,
            "bias": True,
            "batch_first": False,
            "dropout": 0,
            "bidirectional": False,
        }
        changed = [f", {name}={getattr(self, name)}" for name, usual in shown.items() if getattr(self, name) != usual]
        return f"{self.input_size}, {self.hidden_size}" + "".join(changed)

    # --- checks

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Refuses input of the wrong shape or dtype."""
        weight = self.weight_ih_l0
        if input.dtype != weight.dtype:
            raise ValueError(f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). Convert input: "
                             f"input.to({weight.dtype}), or convert model: model.to({input.dtype})")  # fmt: skip
        expected = 3 if batch_sizes is None else 2
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.shape[-1]}"
            )

    def _state_size(self, input, batch_sizes, features):
        if batch_sizes is not None:
            batch = _count_members(batch_sizes, input.shape[0])
        else:
            batch = input.shape[0] if self.batch_first else input.shape[1]
        return self.num_layers * (2 if self.bidirectional else 1), batch, features

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape of the hidden state for this input."""
        return self._state_size(input, batch_sizes, self.proj_size or self.hidden_size)

    def check_hidden_size(self, hx: Tensor, expected_hidden_size: tuple[int, int, int],
                          msg: str = "Expected hidden size {}, got {}") -> None:  # fmt: skip
        """Refuses a state of the wrong shape."""
        if hx.shape != tuple(expected_hidden_size):
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.shape)))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Refuses input and states that do not fit."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Tensor, permutation: Tensor | None) -> Tensor:
        """The states of the members of the batch in another order."""
        return hx if permutation is None else hx.index_select(1, permutation)

    # --- running

    def _settings(self):
        return self.bias, self.num_layers, self.dropout, self.training, self.bidirectional

    def _zero_state(self, input, batch_sizes):
        size = self.get_expected_hidden_size(input, batch_sizes)
        return input.new_zeros(size)

    def _forward_packed(self, sequence, hx):
        """Runs over a PackedSequence, whose members may have been sorted; states are in the original order."""
        data, batch_sizes, sorted_indices, unsorted_indices = sequence
        hx = self._zero_state(data, batch_sizes) if hx is None else self.permute_hidden(hx, sorted_indices)
        self.check_forward_args(data, hx, batch_sizes)
        operator = _OPERATORS[self.mode]
        out, *states = operator(data, batch_sizes, hx, self._flat_weights, *self._settings())
        hidden = states[0] if len(states) == 1 else tuple(states)
        return sequence._replace(data=out), self.permute_hidden(hidden, unsorted_indices)

    def _check_dims(self, input, hx):
        name = type(self).__name__
        if input.dim() not in (2, 3):
            raise ValueError(f"{name}: Expected input to be 2D or 3D, got {input.dim()}D instead")
        if hx is not None and hx.dim() != input.dim():
            kind = "batched" if input.dim() == 3 else "unbatched"
            raise RuntimeError(f"For {kind} {input.dim()}-D input, hx should also be {input.dim()}-D "
                               f"but got {hx.dim()}-D tensor")  # fmt: skip

    def _batched(self, hx):
        return hx.unsqueeze(1)

    def _unbatched(self, hx):
        return hx.squeeze(1)

    def forward(self, input, hx=None):
        if not isinstance(input, Tensor) and _is_packed(input):
            return self._forward_packed(input, hx)
        self._check_dims(input, hx)
        batched, batch_dim = input.dim() == 3, 0 if self.batch_first else 1
        if not batched:
            input, hx = input.unsqueeze(batch_dim), hx if hx is None else self._batched(hx)
        if hx is None:
            hx = self._zero_state(input, None)
        self.check_forward_args(input, hx, None)
        operator = _OPERATORS[self.mode]
        out, *states = operator(input, hx, self._flat_weights, *self._settings(), self.batch_first)
        hidden = states[0] if len(states) == 1 else tuple(states)
        return (out, hidden) if batched else (out.squeeze(batch_dim), self._unbatched(hidden))


def _is_packed(input):
    from wisp.nn.utils.rnn import PackedSequence

    return isinstance(input, PackedSequence)


def _count_members(batch_sizes, rows):
    from wisp.nn.utils.rnn import _members

    return _members(batch_sizes, rows).shape[0]


class RNN(RNNBase):
    """Plain recurrent layers: the state is the tanh (or relu) of a linear function of input and last state.

    Args:
        input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional: as of RNNBase.
        nonlinearity: "tanh" or "relu".

    >>> out, h_n = wisp.nn.RNN(3, 4)(wisp.zeros(5, 2, 3))
    >>> out.shape, h_n.shape
    (wisp.Size([5, 2, 4]), wisp.Size([1, 2, 4]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            nonlinearity, args = args[3], args[:3] + args[4:]
        else:
            nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        self.nonlinearity = nonlinearity
        super().__init__(f"RNN_{nonlinearity.upper()}", *args, **kwargs)


class GRU(RNNBase):
    """Layers of gated recurrent units; arguments as of RNNBase, but for mode and proj_size."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)


class LSTM(RNNBase):
    """Layers of long short-term memory, whose state is a pair (h, c); arguments as of RNNBase, but for mode.

    >>> out, (h_n, c_n) = wisp.nn.LSTM(3, 4, proj_size=2)(wisp.zeros(5, 2, 3))
    >>> out.shape, h_n.shape, c_n.shape
    (wisp.Size([5, 2, 2]), wisp.Size([1, 2, 2]), wisp.Size([1, 2, 4]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape of the cells for this input."""
        return self._state_size(input, batch_sizes, self.hidden_size)

    def check_forward_args(self, input: Tensor, hidden: tuple[Tensor, Tensor], batch_sizes: Tensor | None) -> None:
        self.check_input(input, batch_sizes)
        h_size, c_size = (
            self.get_expected_hidden_size(input, batch_sizes),
            self.get_expected_cell_size(input, batch_sizes),
        )
        self.check_hidden_size(hidden[0], h_size, "Expected hidden[0] size {}, got {}")
        self.check_hidden_size(hidden[1], c_size, "Expected hidden[1] size {}, got {}")

    def permute_hidden(self, hx: tuple[Tensor, Tensor], permutation: Tensor | None) -> tuple[Tensor, Tensor]:
        return hx if permutation is None else tuple(state.index_select(1, permutation) for state in hx)

    def _zero_state(self, input, batch_sizes):
        cells = self.get_expected_cell_size(input, batch_sizes)
        return super()._zero_state(input, batch_sizes), input.new_zeros(cells)

    def _check_dims(self, input, hx):
        super()._check_dims(input, None)
        if hx is not None and (hx[0].dim() != input.dim() or hx[1].dim() != input.dim()):
            kind = "batched" if input.dim() == 3 else "unbatched"
            raise RuntimeError(f"For {kind} {input.dim()}-D input, hx and cx should also be {input.dim()}-D "
                               f"but got ({hx[0].dim()}-D, {hx[1].dim()}-D) tensors")  # fmt: skip

    def _batched(self, hx):
        return tuple(state.unsqueeze(1) for state in hx)

    def _unbatched(self, hx):
        return tuple(state.squeeze(1) for state in hx)


class RNNCellBase(Module):
    """What all cells have in common: weights for the input and for the hidden state, of several gates each.

    Args:
        input_size, hidden_size: the number of features of input and state.
        bias: whether to have biases.
        num_chunks: the number of gates.
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None,
                 dtype: Any = None) -> None:  # fmt: skip
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
        _draw_uniform(self, self.hidden_size)

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        if not self.bias:
            text += f", bias={self.bias}"
        return text + (f", nonlinearity={self.nonlinearity}" if getattr(self, "nonlinearity", "tanh") != "tanh" else "")

    def _check_dims(self, input, *states):
        name = type(self).__name__
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        for i, state in enumerate(states):
            if state is not None and state.dim() not in (1, 2):
                which = f"hx[{i}]" if len(states) > 1 else "hidden"
                raise ValueError(f"{name}: Expected {which} to be 1D or 2D, got {state.dim()}D instead")

    def _zero_state(self, input):
        return input.new_zeros((input.shape[0], self.hidden_size))

    def _run(self, operator, input, hx):
        """One step, of a batch or of a single member."""
        self._check_dims(input, hx)
        batched = input.dim() == 2
        if not batched:
            input, hx = input.unsqueeze(0), hx if hx is None else hx.unsqueeze(0)
        hx = self._zero_state(input) if hx is None else hx
        out = _CELLS[operator](input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return out if batched else out.squeeze(0)


class RNNCell(RNNCellBase):
    """The next state is the tanh (or relu) of a linear function of input and state."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh",
                 device: Any = None, dtype: Any = None) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._run(f"rnn_{self.nonlinearity}_cell", input, hx)


class LSTMCell(RNNCellBase):
    """One step of a long short-term memory; its state is a pair (h, c)."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None,
                 dtype: Any = None) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        self._check_dims(input, *(hx if hx is not None else (None, None)))
        batched = input.dim() == 2
        if not batched:
            input, hx = input.unsqueeze(0), hx if hx is None else tuple(state.unsqueeze(0) for state in hx)
        hx = (self._zero_state(input),) * 2 if hx is None else hx
        weights = self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh
        hidden, cell = _CELLS["lstm_cell"](input, hx, *weights)
        return (hidden, cell) if batched else (hidden.squeeze(0), cell.squeeze(0))


class GRUCell(RNNCellBase):
    """One step of a gated recurrent unit."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None,
                 dtype: Any = None) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._run("gru_cell", input, hx)
