"""Inception v3, "Rethinking the Inception Architecture for Computer Vision" (arXiv:1512.00567)."""

from collections import namedtuple

from wisp import Tensor, cat, nn
from wisp.jit import is_scripting
from wisp.models._parts import BasicConv2d, init_truncated, normalised_anew, state_dict_of, with_weights

__all__ = ["Inception3", "InceptionOutputs", "inception_v3"]

InceptionOutputs = namedtuple("InceptionOutputs", ["logits", "aux_logits"])
InceptionOutputs.__annotations__ = {"logits": Tensor, "aux_logits": Tensor | None}
F = nn.functional


class InceptionA(nn.Module):
    """Windows of 1x1, 5x5 and twice 3x3, and a pooling."""

    def __init__(self, in_channels, pool_features):
        super().__init__()
        self.branch1x1 = BasicConv2d(in_channels, 64, kernel_size=1)
        self.branch5x5_1 = BasicConv2d(in_channels, 48, kernel_size=1)
        self.branch5x5_2 = BasicConv2d(48, 64, kernel_size=5, padding=2)
        self.branch3x3dbl_1 = BasicConv2d(in_channels, 64, kernel_size=1)
        self.branch3x3dbl_2 = BasicConv2d(64, 96, kernel_size=3, padding=1)
        self.branch3x3dbl_3 = BasicConv2d(96, 96, kernel_size=3, padding=1)
        self.branch_pool = BasicConv2d(in_channels, pool_features, kernel_size=1)

    def forward(self, x):
        double = self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x)))
        pooled = self.branch_pool(F.avg_pool2d(x, kernel_size=3, stride=1, padding=1))
        return cat([self.branch1x1(x), self.branch5x5_2(self.branch5x5_1(x)), double, pooled], 1)


class InceptionB(nn.Module):
    """Half the size: windows of 3x3, once and twice, and a pooling."""

    def __init__(self, in_channels):
        super().__init__()
        self.branch3x3 = BasicConv2d(in_channels, 384, kernel_size=3, stride=2)
        self.branch3x3dbl_1 = BasicConv2d(in_channels, 64, kernel_size=1)
        self.branch3x3dbl_2 = BasicConv2d(64, 96, kernel_size=3, padding=1)
        self.branch3x3dbl_3 = BasicConv2d(96, 96, kernel_size=3, stride=2)

    def forward(self, x):
        double = self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x)))
        return cat([self.branch3x3(x), double, F.max_pool2d(x, kernel_size=3, stride=2)], 1)


class InceptionC(nn.Module):
    """Windows of 7x7 as pairs of narrow ones, once and twice, and a pooling."""

    def __init__(self, in_channels, channels_7x7):
        super().__init__()
        c, wide, tall = (
            channels_7x7,
            {"kernel_size": (1, 7), "padding": (0, 3)},
            {"kernel_size": (7, 1), "padding": (3, 0)},
        )
        self.branch1x1 = BasicConv2d(in_channels, 192, kernel_size=1)
        self.branch7x7_1 = BasicConv2d(in_channels, c, kernel_size=1)
        self.branch7x7_2 = BasicConv2d(c, c, **wide)
        self.branch7x7_3 = BasicConv2d(c, 192, **tall)
        self.branch7x7dbl_1 = BasicConv2d(in_channels, c, kernel_size=1)
        self.branch7x7dbl_2 = BasicConv2d(c, c, **tall)
        self.branch7x7dbl_3 = BasicConv2d(c, c, **wide)
        self.branch7x7dbl_4 = BasicConv2d(c, c, **tall)
        self.branch7x7dbl_5 = BasicConv2d(c, 192, **wide)
        self.branch_pool = BasicConv2d(in_channels, 192, kernel_size=1)

    def forward(self, x):
        once = self.branch7x7_3(self.branch7x7_2(self.branch7x7_1(x)))
        double = self.branch7x7dbl_3(self.branch7x7dbl_2(self.branch7x7dbl_1(x)))
        double = self.branch7x7dbl_5(self.branch7x7dbl_4(double))
        pooled = self.branch_pool(F.avg_pool2d(x, kernel_size=3, stride=1, padding=1))
        return cat([self.branch1x1(x), once, double, pooled], 1)


class InceptionD(nn.Module):
    """Half the size: windows of 3x3 and 7x7, and a pooling."""

    def __init__(self, in_channels):
        super().__init__()
        self.branch3x3_1 = BasicConv2d(in_channels, 192, kernel_size=1)
        self.branch3x3_2 = BasicConv2d(192, 320, kernel_size=3, stride=2)
        self.branch7x7x3_1 = BasicConv2d(in_channels, 192, kernel_size=1)
        self.branch7x7x3_2 = BasicConv2d(192, 192, kernel_size=(1, 7), padding=(0, 3))
        self.branch7x7x3_3 = BasicConv2d(192, 192, kernel_size=(7, 1), padding=(3, 0))
        self.branch7x7x3_4 = BasicConv2d(192, 192, kernel_size=3, stride=2)

    def forward(self, x):
        large = self.branch7x7x3_4(self.branch7x7x3_3(self.branch7x7x3_2(self.branch7x7x3_1(x))))
        return cat([self.branch3x3_2(self.branch3x3_1(x)), large, F.max_pool2d(x, kernel_size=3, stride=2)], 1)


class InceptionE(nn.Module):
    """Many channels: windows of 3x3 as narrow ones next to each other, and a pooling."""

    def __init__(self, in_channels):
        super().__init__()
        wide, tall = {"kernel_size": (1, 3), "padding": (0, 1)}, {"kernel_size": (3, 1), "padding": (1, 0)}
        self.branch1x1 = BasicConv2d(in_channels, 320, kernel_size=1)
        self.branch3x3_1 = BasicConv2d(in_channels, 384, kernel_size=1)
        self.branch3x3_2a = BasicConv2d(384, 384, **wide)
        self.branch3x3_2b = BasicConv2d(384, 384, **tall)
        self.branch3x3dbl_1 = BasicConv2d(in_channels, 448, kernel_size=1)
        self.branch3x3dbl_2 = BasicConv2d(448, 384, kernel_size=3, padding=1)
        self.branch3x3dbl_3a = BasicConv2d(384, 384, **wide)
        self.branch3x3dbl_3b = BasicConv2d(384, 384, **tall)
        self.branch_pool = BasicConv2d(in_channels, 192, kernel_size=1)

    def forward(self, x):
        once = self.branch3x3_1(x)
        double = self.branch3x3dbl_2(self.branch3x3dbl_1(x))
        pooled = self.branch_pool(F.avg_pool2d(x, kernel_size=3, stride=1, padding=1))
        parts = [self.branch1x1(x), self.branch3x3_2a(once), self.branch3x3_2b(once), self.branch3x3dbl_3a(double),
                 self.branch3x3dbl_3b(double), pooled]  # fmt: skip
        return cat(parts, 1)


class InceptionAux(nn.Module):
    """A classifier half-way, which helps training."""

    def __init__(self, in_channels, num_classes):
        super().__init__()
        self.conv0 = BasicConv2d(in_channels, 128, kernel_size=1)
        self.conv1 = BasicConv2d(128, 768, kernel_size=5)
        self.fc = nn.Linear(768, num_classes)
        self.fc.stddev = 0.001

    def forward(self, x):
        x = self.conv1(self.conv0(F.avg_pool2d(x, kernel_size=5, stride=3)))
        return self.fc(F.adaptive_avg_pool2d(x, (1, 1)).flatten(1))


class Inception3(nn.Module):
    """Inception blocks of five kinds, for images of 299 x 299; in training, with one more classifier half-way.

    Args:
        num_classes: how many numbers come out.
        aux_logits: whether there is a classifier half-way; then training gives InceptionOutputs.
        transform_input: whether images come normalised for other networks.
        inception_blocks: other classes for the blocks.
        init_weights: whether to initialise the weights as published (slow); by default it is done.
        dropout: the chance of a feature to be left out in training.
    """

    def __init__(self, num_classes=1000, aux_logits=True, transform_input=False, inception_blocks=None, init_weights=None,
                 dropout=0.5):  # fmt: skip
        super().__init__()
        kinds = inception_blocks or (
            BasicConv2d,
            InceptionA,
            InceptionB,
            InceptionC,
            InceptionD,
            InceptionE,
            InceptionAux,
        )
        conv, a, b, c, d, e, aux = kinds
        self.aux_logits, self.transform_input = aux_logits, transform_input
        self.Conv2d_1a_3x3 = conv(3, 32, kernel_size=3, stride=2)
        self.Conv2d_2a_3x3 = conv(32, 32, kernel_size=3)
        self.Conv2d_2b_3x3 = conv(32, 64, kernel_size=3, padding=1)
        self.maxpool1 = nn.MaxPool2d(kernel_size=3, stride=2)
        self.Conv2d_3b_1x1 = conv(64, 80, kernel_size=1)
        self.Conv2d_4a_3x3 = conv(80, 192, kernel_size=3)
        self.maxpool2 = nn.MaxPool2d(kernel_size=3, stride=2)
        self.Mixed_5b = a(192, pool_features=32)
        self.Mixed_5c = a(256, pool_features=64)
        self.Mixed_5d = a(288, pool_features=64)
        self.Mixed_6a = b(288)
        self.Mixed_6b = c(768, channels_7x7=128)
        self.Mixed_6c = c(768, channels_7x7=160)
        self.Mixed_6d = c(768, channels_7x7=160)
        self.Mixed_6e = c(768, channels_7x7=192)
        self.AuxLogits = aux(768, num_classes) if aux_logits else None
        self.Mixed_7a = d(768)
        self.Mixed_7b = e(1280)
        self.Mixed_7c = e(2048)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.dropout = nn.Dropout(p=dropout)
        self.fc = nn.Linear(2048, num_classes)
        if init_weights is None or init_weights:
            init_truncated(self, 0.1)

    def forward(self, x):
        x = normalised_anew(x) if self.transform_input else x
        x = self.maxpool1(self.Conv2d_2b_3x3(self.Conv2d_2a_3x3(self.Conv2d_1a_3x3(x))))
        x = self.maxpool2(self.Conv2d_4a_3x3(self.Conv2d_3b_1x1(x)))
        x = self.Mixed_6a(self.Mixed_5d(self.Mixed_5c(self.Mixed_5b(x))))
        half_way = x = self.Mixed_6e(self.Mixed_6d(self.Mixed_6c(self.Mixed_6b(x))))
        x = self.Mixed_7c(self.Mixed_7b(self.Mixed_7a(x)))
        x = self.fc(self.dropout(self.avgpool(x)).flatten(1))
        training = self.training and self.aux_logits
        aux = self.AuxLogits(half_way) if training and self.AuxLogits is not None else None
        # Scripts give results of one type.
        return InceptionOutputs(x, aux) if is_scripting() or training else x


def inception_v3(*, weights=None, progress=True, **kwargs):
    """Inception v3; 27,161,264 parameters. ``kwargs`` are those of Inception3.

    With weights, images are taken to be normalised as for other networks (``transform_input``).
    """
    if weights is None:
        return Inception3(**kwargs)
    state, keep = state_dict_of(weights), kwargs.pop("aux_logits", True)
    kwargs = {"transform_input": True, "init_weights": False, "aux_logits": "AuxLogits.fc.weight" in state, **kwargs}
    model = with_weights(Inception3(**kwargs), state)
    if not keep:
        model.aux_logits, model.AuxLogits = False, None
    return model
