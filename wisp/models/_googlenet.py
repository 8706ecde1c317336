"""GoogLeNet, "Going Deeper with Convolutions" (arXiv:1409.4842)."""

from collections import namedtuple

from wisp import Tensor, cat, nn
from wisp.jit import is_scripting
from wisp.models._parts import BasicConv2d, init_truncated, normalised_anew, state_dict_of, with_weights

__all__ = ["GoogLeNet", "GoogLeNetOutputs", "googlenet"]

GoogLeNetOutputs = namedtuple("GoogLeNetOutputs", ["logits", "aux_logits2", "aux_logits1"])
GoogLeNetOutputs.__annotations__ = {"logits": Tensor, "aux_logits2": Tensor | None, "aux_logits1": Tensor | None}

# Channels of the four branches: 1x1; reduced and 3x3; reduced and "5x5"; after pooling.
_BLOCKS = {
    "3a": (192, 64, 96, 128, 16, 32, 32), "3b": (256, 128, 128, 192, 32, 96, 64), "4a": (480, 192, 96, 208, 16, 48, 64),
    "4b": (512, 160, 112, 224, 24, 64, 64), "4c": (512, 128, 128, 256, 24, 64, 64), "4d": (512, 112, 144, 288, 32, 64, 64),
    "4e": (528, 256, 160, 320, 32, 128, 128), "5a": (832, 256, 160, 320, 32, 128, 128),
    "5b": (832, 384, 192, 384, 48, 128, 128),
}  # fmt: skip


class Inception(nn.Module):
    """Windows of several sizes next to each other. (The one for 5x5 has had 3x3 since the first published weights.)"""

    def __init__(self, in_channels, ch1x1, ch3x3red, ch3x3, ch5x5red, ch5x5, pool_proj):
        super().__init__()
        self.branch1 = BasicConv2d(in_channels, ch1x1, kernel_size=1)
        self.branch2 = nn.Sequential(
            BasicConv2d(in_channels, ch3x3red, kernel_size=1), BasicConv2d(ch3x3red, ch3x3, kernel_size=3, padding=1)
        )
        self.branch3 = nn.Sequential(
            BasicConv2d(in_channels, ch5x5red, kernel_size=1), BasicConv2d(ch5x5red, ch5x5, kernel_size=3, padding=1)
        )
        self.branch4 = nn.Sequential(
            nn.MaxPool2d(kernel_size=3, stride=1, padding=1, ceil_mode=True),
            BasicConv2d(in_channels, pool_proj, kernel_size=1),
        )

    def forward(self, x):
        return cat([self.branch1(x), self.branch2(x), self.branch3(x), self.branch4(x)], 1)


class InceptionAux(nn.Module):
    """A classifier half-way, which helps training."""

    def __init__(self, in_channels, num_classes, dropout=0.7):
        super().__init__()
        self.conv = BasicConv2d(in_channels, 128, kernel_size=1)
        self.fc1 = nn.Linear(2048, 1024)
        self.fc2 = nn.Linear(1024, num_classes)
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, x):
        x = self.conv(nn.functional.adaptive_avg_pool2d(x, (4, 4))).flatten(1)
        return self.fc2(self.dropout(nn.functional.relu(self.fc1(x), inplace=True)))


class GoogLeNet(nn.Module):
    """Nine Inception blocks; in training, with two more classifiers half-way.

    Args:
        num_classes: how many numbers come out.
        aux_logits: whether there are classifiers half-way; then training gives GoogLeNetOutputs.
        transform_input: whether images come normalised for other networks.
        init_weights: whether to initialise the weights as published (slow); by default it is done.
        dropout, dropout_aux: the chances of features to be left out in training.
    """

    def __init__(self, num_classes=1000, aux_logits=True, transform_input=False, init_weights=None, blocks=None,
                 dropout=0.2, dropout_aux=0.7):  # fmt: skip
        super().__init__()
        conv, block, aux = blocks or (BasicConv2d, Inception, InceptionAux)
        self.aux_logits, self.transform_input = aux_logits, transform_input
        self.conv1 = conv(3, 64, kernel_size=7, stride=2, padding=3)
        self.maxpool1 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        self.conv2 = conv(64, 64, kernel_size=1)
        self.conv3 = conv(64, 192, kernel_size=3, padding=1)
        self.maxpool2 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        for name, channels in _BLOCKS.items():
            if name == "4a":
                self.maxpool3 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
            elif name == "5a":
                self.maxpool4 = nn.MaxPool2d(2, stride=2, ceil_mode=True)
            self.add_module(f"inception{name}", block(*channels))
        self.aux1 = aux(512, num_classes, dropout=dropout_aux) if aux_logits else None
        self.aux2 = aux(528, num_classes, dropout=dropout_aux) if aux_logits else None
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.dropout = nn.Dropout(p=dropout)
        self.fc = nn.Linear(1024, num_classes)
        if init_weights is None or init_weights:
            init_truncated(self, 0.01)

    def forward(self, x):
        x = normalised_anew(x) if self.transform_input else x
        x = self.conv3(self.conv2(self.maxpool1(self.conv1(x))))
        x = self.maxpool3(self.inception3b(self.inception3a(self.maxpool2(x))))
        first = x = self.inception4a(x)
        second = x = self.inception4d(self.inception4c(self.inception4b(x)))
        x = self.inception5b(self.inception5a(self.maxpool4(self.inception4e(x))))
        x = self.fc(self.dropout(self.avgpool(x).flatten(1)))
        half_way = self.training and self.aux_logits
        aux2 = self.aux2(second) if half_way and self.aux2 is not None else None
        aux1 = self.aux1(first) if half_way and self.aux1 is not None else None
        # Scripts give results of one type.
        return GoogLeNetOutputs(x, aux2, aux1) if is_scripting() or half_way else x


def googlenet(*, weights=None, progress=True, **kwargs):
    """GoogLeNet; 13,004,888 parameters, 6,624,904 without the classifiers half-way. ``kwargs`` are those of GoogLeNet.

    With weights, images are taken to be normalised as for other networks (``transform_input``), and the classifiers
    half-way are left out unless ``aux_logits`` asks for them.
    """
    if weights is None:
        return GoogLeNet(**kwargs)
    state, keep = state_dict_of(weights), kwargs.pop("aux_logits", False)
    kwargs = {"transform_input": True, "init_weights": False, "aux_logits": "aux1.fc1.weight" in state, **kwargs}
    model = with_weights(GoogLeNet(**kwargs), state)
    if not keep:
        model.aux_logits, model.aux1, model.aux2 = False, None, None
    return model
