"""What several networks have in common."""

import os

from wisp import cat, nn


def with_weights(model, weights, rename=None):
    """The model with the weights of a file or a state_dict; as it is if they are None.

    Args:
        weights: a path, a state_dict, or None.
        rename: if given, a function from names in old files to those of the model.
    """
    if weights is None:
        return model
    state = state_dict_of(weights)
    model.load_state_dict({rename(name) if rename else name: value for name, value in state.items()})
    return model


def state_dict_of(weights):
    """The tensors by name in what the user gave. Training scripts put them in a dict with other things, and those for
    several processors have a prefix."""
    if isinstance(weights, (str, os.PathLike)):
        from wisp.serialization import load

        if not os.path.exists(weights):
            raise FileNotFoundError(f"weights={os.fspath(weights)!r} is no file. wisp downloads no weights: give the path of a file you "
                                    "have, for example one of torchvision's")  # fmt: skip
        weights = load(weights)
    if not isinstance(weights, dict):
        raise TypeError(f"weights must be a path or a state_dict, got {type(weights).__name__}")
    for key in ("state_dict", "model"):
        if isinstance(weights.get(key), dict):
            weights = weights[key]
    return {name.removeprefix("module."): value for name, value in weights.items()}


def divisible(value, by, least=None):
    """A number of channels as a multiple, near the value and not below nine tenths of it."""
    found = max(least or by, int(value + by / 2) // by * by)
    return found + by if found < 0.9 * value else found


class ConvNormActivation(nn.Sequential):
    """A convolution, a normalisation and an activation; the size of the image changes by the stride alone."""

    def __init__(self, in_channels, out_channels, kernel_size=3, stride=1, groups=1, norm_layer=nn.BatchNorm2d,
                 activation_layer=nn.ReLU, dilation=1):  # fmt: skip
        padding = (kernel_size - 1) // 2 * dilation
        layers = [
            nn.Conv2d(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias=False),
            norm_layer(out_channels),
        ]
        if activation_layer is not None:
            layers.append(activation_layer(inplace=True))
        super().__init__(*layers)
        self.out_channels = out_channels


class BasicConv2d(nn.Module):
    """A convolution, a normalisation and ReLU, as Inception networks have it."""

    def __init__(self, in_channels, out_channels, **kwargs):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, bias=False, **kwargs)
        self.bn = nn.BatchNorm2d(out_channels, eps=0.001)

    def forward(self, x):
        return nn.functional.relu(self.bn(self.conv(x)), inplace=True)


def set_norms(module):
    """Scales of normalisations to one, shifts to zero."""
    if isinstance(module, (nn.BatchNorm2d, nn.GroupNorm)):
        nn.init.ones_(module.weight)
        nn.init.zeros_(module.bias)


def init_mobile(model):
    """The initialisation of mobile networks."""
    for module in model.modules():
        set_norms(module)
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out")
        elif isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, 0, 0.01)
        if isinstance(module, (nn.Conv2d, nn.Linear)) and module.bias is not None:
            nn.init.zeros_(module.bias)


def init_truncated(model, std):
    """The initialisation of Inception networks; a layer may have a ``stddev`` of its own."""
    for module in model.modules():
        set_norms(module)
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            nn.init.trunc_normal_(module.weight, mean=0.0, std=getattr(module, "stddev", std), a=-2, b=2)


def normalised_anew(x):
    """Images normalised with ImageNet's statistics, as if they had been scaled to [-1, 1]."""
    scales = [
        (0.229 / 0.5, (0.485 - 0.5) / 0.5),
        (0.224 / 0.5, (0.456 - 0.5) / 0.5),
        (0.225 / 0.5, (0.406 - 0.5) / 0.5),
    ]
    return cat([x[:, i : i + 1] * scale + shift for i, (scale, shift) in enumerate(scales)], 1)
