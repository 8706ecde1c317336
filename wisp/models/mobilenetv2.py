"""MobileNetV2, "Inverted Residuals and Linear Bottlenecks" (arXiv:1801.04381)."""

from wisp import nn
from wisp.models._parts import ConvNormActivation, divisible, init_mobile, with_weights

__all__ = ["MobileNetV2", "mobilenet_v2"]

# Of every stage: how much wider blocks are inside, channels, blocks, stride of the first.
_STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))


class InvertedResidual(nn.Module):
    """Channels are widened, filtered each on its own, and narrowed again; with a way around where sizes allow."""

    def __init__(self, inp, oup, stride, expand_ratio, norm_layer=None):
        super().__init__()
        if stride not in (1, 2):
            raise ValueError(f"stride should be 1 or 2 instead of {stride}")
        norm_layer = norm_layer or nn.BatchNorm2d
        hidden = round(inp * expand_ratio)
        how = {"norm_layer": norm_layer, "activation_layer": nn.ReLU6}
        layers = [] if expand_ratio == 1 else [ConvNormActivation(inp, hidden, kernel_size=1, **how)]
        layers += [
            ConvNormActivation(hidden, hidden, stride=stride, groups=hidden, **how),
            nn.Conv2d(hidden, oup, 1, bias=False),
            norm_layer(oup),
        ]
        self.conv = nn.Sequential(*layers)
        self.stride, self.out_channels = stride, oup
        self.use_res_connect = stride == 1 and inp == oup

    def forward(self, x):
        return x + self.conv(x) if self.use_res_connect else self.conv(x)


class MobileNetV2(nn.Module):
    """Stages of inverted residual blocks.

    Args:
        num_classes: how many numbers come out.
        width_mult: by how much all channels are multiplied.
        inverted_residual_setting: the stages, if not those published: (expansion, channels, blocks, stride) of each.
        round_nearest: what numbers of channels are multiples of.
        block: the class of blocks.
        norm_layer: the normalisation, if not BatchNorm2d.
        dropout: the chance of a feature to be left out in training.
    """

    def __init__(self, num_classes=1000, width_mult=1.0, inverted_residual_setting=None, round_nearest=8, block=None,
                 norm_layer=None, dropout=0.2):  # fmt: skip
        super().__init__()
        block, norm_layer = block or InvertedResidual, norm_layer or nn.BatchNorm2d
        stages = inverted_residual_setting or _STAGES
        if any(len(stage) != 4 for stage in stages):
            raise ValueError(f"inverted_residual_setting should be non-empty or a 4-element list, got {stages}")
        channels = divisible(32 * width_mult, round_nearest)
        self.last_channel = divisible(1280 * max(1.0, width_mult), round_nearest)
        how = {"norm_layer": norm_layer, "activation_layer": nn.ReLU6}
        features = [ConvNormActivation(3, channels, stride=2, **how)]
        for expansion, wanted, count, stride in stages:
            out = divisible(wanted * width_mult, round_nearest)
            for i in range(count):
                step = stride if i == 0 else 1
                features.append(block(channels, out, step, expand_ratio=expansion, norm_layer=norm_layer))
                channels = out
        features.append(ConvNormActivation(channels, self.last_channel, kernel_size=1, **how))
        self.features = nn.Sequential(*features)
        self.classifier = nn.Sequential(nn.Dropout(p=dropout), nn.Linear(self.last_channel, num_classes))
        init_mobile(self)

    def forward(self, x):
        x = self.features(x)
        return self.classifier(nn.functional.adaptive_avg_pool2d(x, (1, 1)).flatten(1))


def mobilenet_v2(*, weights=None, progress=True, **kwargs):
    """MobileNetV2; 3,504,872 parameters. ``kwargs`` are those of MobileNetV2."""
    return with_weights(MobileNetV2(**kwargs), weights)
