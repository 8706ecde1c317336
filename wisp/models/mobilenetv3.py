"""MobileNetV3, "Searching for MobileNetV3" (arXiv:1905.02244)."""

from collections import namedtuple
from functools import partial

from wisp import nn
from wisp.models._parts import ConvNormActivation, divisible, init_mobile, with_weights

__all__ = ["MobileNetV3", "mobilenet_v3_large", "mobilenet_v3_small"]

# One block: squeezed says whether channels are weighed, hard which activation it has.
Block = namedtuple("Block", "input kernel expanded out squeezed hard stride dilation")

_LARGE = (
    (16, 3, 16, 16, False, False, 1), (16, 3, 64, 24, False, False, 2), (24, 3, 72, 24, False, False, 1),
    (24, 5, 72, 40, True, False, 2), (40, 5, 120, 40, True, False, 1), (40, 5, 120, 40, True, False, 1),
    (40, 3, 240, 80, False, True, 2), (80, 3, 200, 80, False, True, 1), (80, 3, 184, 80, False, True, 1),
    (80, 3, 184, 80, False, True, 1), (80, 3, 480, 112, True, True, 1), (112, 3, 672, 112, True, True, 1),
    (112, 5, 672, 160, True, True, 2), (160, 5, 960, 160, True, True, 1), (160, 5, 960, 160, True, True, 1),
)  # fmt: skip
_SMALL = (
    (16, 3, 16, 16, True, False, 2), (16, 3, 72, 24, False, False, 2), (24, 3, 88, 24, False, False, 1),
    (24, 5, 96, 40, True, True, 2), (40, 5, 240, 40, True, True, 1), (40, 5, 240, 40, True, True, 1),
    (40, 5, 120, 48, True, True, 1), (48, 5, 144, 48, True, True, 1), (48, 5, 288, 96, True, True, 2),
    (96, 5, 576, 96, True, True, 1), (96, 5, 576, 96, True, True, 1),
)  # fmt: skip


class SqueezeExcitation(nn.Module):
    """Weighs channels by what all of them show of the whole image."""

    def __init__(self, input_channels, squeeze_channels, activation=nn.ReLU, scale_activation=nn.Hardsigmoid):
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(input_channels, squeeze_channels, 1)
        self.fc2 = nn.Conv2d(squeeze_channels, input_channels, 1)
        self.activation = activation()
        self.scale_activation = scale_activation()

    def forward(self, x):
        return self.scale_activation(self.fc2(self.activation(self.fc1(self.avgpool(x))))) * x


class InvertedResidual(nn.Module):
    """Channels are widened, filtered each on its own, weighed, and narrowed again; with a way around where sizes allow."""

    def __init__(self, block, norm_layer):
        super().__init__()
        activation = nn.Hardswish if block.hard else nn.ReLU
        how = {"norm_layer": norm_layer, "activation_layer": activation}
        wide, stride = block.expanded, 1 if block.dilation > 1 else block.stride
        layers = [] if wide == block.input else [ConvNormActivation(block.input, wide, kernel_size=1, **how)]
        layers.append(ConvNormActivation(wide, wide, block.kernel, stride, groups=wide, dilation=block.dilation, **how))
        if block.squeezed:
            layers.append(SqueezeExcitation(wide, divisible(wide // 4, 8)))
        layers.append(ConvNormActivation(wide, block.out, kernel_size=1, norm_layer=norm_layer, activation_layer=None))
        self.block = nn.Sequential(*layers)
        self.out_channels = block.out
        self.use_res_connect = block.stride == 1 and block.input == block.out

    def forward(self, x):
        return self.block(x) + x if self.use_res_connect else self.block(x)


class MobileNetV3(nn.Module):
    """Inverted residual blocks, then two fully connected layers.

    Args:
        inverted_residual_setting: the blocks, as ``Block`` of this file.
        last_channel: the features before the last layer.
        num_classes: how many numbers come out.
        block: the class of blocks.
        norm_layer: the normalisation, if not the published one.
        dropout: the chance of a feature to be left out in training.
    """

    def __init__(
        self, inverted_residual_setting, last_channel, num_classes=1000, block=None, norm_layer=None, dropout=0.2
    ):
        super().__init__()
        if not inverted_residual_setting:
            raise ValueError("The inverted_residual_setting should not be empty")
        block = block or InvertedResidual
        norm_layer = norm_layer or partial(nn.BatchNorm2d, eps=0.001, momentum=0.01)
        how = {"norm_layer": norm_layer, "activation_layer": nn.Hardswish}
        first, last = inverted_residual_setting[0].input, inverted_residual_setting[-1].out
        self.features = nn.Sequential(
            ConvNormActivation(3, first, stride=2, **how),
            *(block(setting, norm_layer) for setting in inverted_residual_setting),
            ConvNormActivation(last, 6 * last, kernel_size=1, **how),
        )
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(
            nn.Linear(6 * last, last_channel),
            nn.Hardswish(inplace=True),
            nn.Dropout(p=dropout, inplace=True),
            nn.Linear(last_channel, num_classes),
        )
        init_mobile(self)

    def forward(self, x):
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


def _settings(table, width_mult, reduced_tail, dilated):
    """The blocks of a table; the last three with half the channels, or looking further apart, if asked for."""

    def channels(number, halved):
        return divisible((number // 2 if halved else number) * width_mult, 8)

    blocks, tail = [], len(table) - 3
    for i, (input, kernel, expanded, out, squeezed, hard, stride) in enumerate(table):
        block = Block(channels(input, reduced_tail and i > tail), kernel, channels(expanded, reduced_tail and i > tail),
                      channels(out, reduced_tail and i >= tail), squeezed, hard, stride,
                      2 if dilated and i >= tail else 1)  # fmt: skip
        blocks.append(block)
    return blocks


def _mobilenet_v3(table, last, weights, width_mult=1.0, reduced_tail=False, dilated=False, **kwargs):
    last = divisible((last // 2 if reduced_tail else last) * width_mult, 8)
    return with_weights(MobileNetV3(_settings(table, width_mult, reduced_tail, dilated), last, **kwargs), weights)


def mobilenet_v3_large(*, weights=None, progress=True, **kwargs):
    """MobileNetV3, large; 5,483,032 parameters. ``kwargs`` are those of MobileNetV3, and ``width_mult``,
    ``reduced_tail`` and ``dilated``."""
    return _mobilenet_v3(_LARGE, 1280, weights, **kwargs)


def mobilenet_v3_small(*, weights=None, progress=True, **kwargs):
    """MobileNetV3, small; 2,542,856 parameters. ``kwargs`` are those of MobileNetV3, and ``width_mult``,
    ``reduced_tail`` and ``dilated``."""
    return _mobilenet_v3(_SMALL, 1024, weights, **kwargs)
