"""How many multiplications and additions the matrix products of a layer take."""

import math

from wisp import nn


def multiply_adds(module, inputs, output):
    """Those of one call, by the tensors it was given and gave; 0 of a module that is not known to have any."""
    for kinds, count in _COUNTS:
        if isinstance(module, kinds):
            return count(module, inputs, output) if inputs and output else 0
    return 0


def _linear(module, inputs, output):
    return output[0].numel() * module.in_features


def _bilinear(module, inputs, output):
    return output[0].numel() * module.in1_features * (module.in2_features + 1)


def _convolution(module, inputs, output):
    return output[0].numel() * (module.in_channels // module.groups) * math.prod(module.kernel_size)


def _transposed_convolution(module, inputs, output):
    return inputs[0].numel() * (module.out_channels // module.groups) * math.prod(module.kernel_size)


_GATES = {"LSTM": 4, "GRU": 3}


def _recurrent(module, inputs, output):
    steps = inputs[0].numel() // module.input_size
    directions = 2 if module.bidirectional else 1
    gates, out = _GATES.get(module.mode, 1), module.proj_size or module.hidden_size
    total, width = 0, module.input_size
    for _ in range(module.num_layers):
        total += directions * (gates * module.hidden_size * (width + out) + module.hidden_size * module.proj_size)
        width = directions * out
    return steps * total


def _recurrent_cell(module, inputs, output):
    gates = {nn.LSTMCell: 4, nn.GRUCell: 3}.get(type(module), 1)
    batch = inputs[0].numel() // module.input_size
    return batch * gates * module.hidden_size * (module.input_size + module.hidden_size)


def _attention(module, inputs, output):
    """Of the projections before and after, and of the products between."""
    query, key = (*inputs, inputs[0])[:2]
    width, by_batch = module.embed_dim, query.dim() == 3
    batch = (query.shape[0] if module.batch_first else query.shape[1]) if by_batch else 1
    targets, sources = query.numel() // width, key.numel() // module.kdim
    projections = 2 * targets * width * width + sources * width * (module.kdim + module.vdim)
    return projections + 2 * targets * (sources // batch) * width


_COUNTS = (
    (nn.Linear, _linear),
    (nn.Bilinear, _bilinear),
    ((nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d), _transposed_convolution),
    ((nn.Conv1d, nn.Conv2d, nn.Conv3d), _convolution),
    (nn.RNNBase, _recurrent),
    ((nn.LSTMCell, nn.GRUCell, nn.RNNCell), _recurrent_cell),
    (nn.MultiheadAttention, _attention),
)
