"""DenseNet, "Densely Connected Convolutional Networks" (arXiv:1608.06993)."""

import re
from collections import OrderedDict

from wisp import Tensor, cat, nn
from wisp.models._parts import set_norms, with_weights

__all__ = ["DenseNet", "densenet121", "densenet161", "densenet169", "densenet201"]


class DenseLayer(nn.Module):
    """Adds ``growth_rate`` channels, made of all before it."""

    def __init__(self, num_input_features, growth_rate, bn_size, drop_rate, memory_efficient=False):
        super().__init__()
        width = bn_size * growth_rate
        self.norm1 = nn.BatchNorm2d(num_input_features)
        self.relu1 = nn.ReLU(inplace=True)
        self.conv1 = nn.Conv2d(num_input_features, width, kernel_size=1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.relu2 = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(width, growth_rate, kernel_size=3, padding=1, bias=False)
        self.drop_rate, self.memory_efficient = float(drop_rate), memory_efficient

    def forward(self, features):
        x = features if isinstance(features, Tensor) else cat(features, 1)
        x = self.conv2(self.relu2(self.norm2(self.conv1(self.relu1(self.norm1(x))))))
        return nn.functional.dropout(x, self.drop_rate, self.training) if self.drop_rate > 0 else x


class DenseBlock(nn.ModuleDict):
    """Layers each of which sees the results of all before it."""

    def __init__(self, num_layers, num_input_features, bn_size, growth_rate, drop_rate, memory_efficient=False):
        super().__init__()
        for i in range(num_layers):
            channels = num_input_features + i * growth_rate
            self.add_module(
                f"denselayer{i + 1}", DenseLayer(channels, growth_rate, bn_size, drop_rate, memory_efficient)
            )

    def forward(self, x):
        features = [x]
        for layer in self.values():
            features.append(layer(features))
        return cat(features, 1)


class Transition(nn.Sequential):
    """Fewer channels and half the size, between two blocks."""

    def __init__(self, num_input_features, num_output_features):
        super().__init__()
        self.norm = nn.BatchNorm2d(num_input_features)
        self.relu = nn.ReLU(inplace=True)
        self.conv = nn.Conv2d(num_input_features, num_output_features, kernel_size=1, bias=False)
        self.pool = nn.AvgPool2d(kernel_size=2, stride=2)


class DenseNet(nn.Module):
    """Blocks of densely connected layers.

    Args:
        growth_rate: how many channels a layer adds.
        block_config: how many layers each block has.
        num_init_features: the channels after the first convolution.
        bn_size: how many times ``growth_rate`` the channels inside a layer are.
        drop_rate: the chance of a feature to be left out in training.
        num_classes: how many numbers come out.
        memory_efficient: accepted and ignored.
    """

    def __init__(self, growth_rate=32, block_config=(6, 12, 24, 16), num_init_features=64, bn_size=4, drop_rate=0,
                 num_classes=1000, memory_efficient=False):  # fmt: skip
        super().__init__()
        first = nn.Conv2d(3, num_init_features, kernel_size=7, stride=2, padding=3, bias=False)
        parts = OrderedDict(conv0=first, norm0=nn.BatchNorm2d(num_init_features), relu0=nn.ReLU(inplace=True),
                            pool0=nn.MaxPool2d(kernel_size=3, stride=2, padding=1))  # fmt: skip
        self.features = nn.Sequential(parts)
        channels = num_init_features
        for i, count in enumerate(block_config, 1):
            block = DenseBlock(count, channels, bn_size, growth_rate, drop_rate, memory_efficient)
            self.features.add_module(f"denseblock{i}", block)
            channels += count * growth_rate
            if i < len(block_config):
                self.features.add_module(f"transition{i}", Transition(channels, channels // 2))
                channels //= 2
        self.features.add_module("norm5", nn.BatchNorm2d(channels))
        self.classifier = nn.Linear(channels, num_classes)
        self.apply(_init)

    def forward(self, x):
        x = nn.functional.relu(self.features(x), inplace=True)
        return self.classifier(nn.functional.adaptive_avg_pool2d(x, (1, 1)).flatten(1))


def _init(module):
    set_norms(module)
    if isinstance(module, nn.Conv2d):
        nn.init.kaiming_normal_(module.weight)
    elif isinstance(module, nn.Linear):
        nn.init.zeros_(module.bias)


def _renamed(name):
    """Published files have ``norm.1`` where the layer is ``norm1``."""
    return re.sub(r"(denselayer\d+\.(?:norm|relu|conv))\.(\d)\.", r"\1\2.", name)


def _densenet(growth_rate, block_config, num_init_features, weights, **kwargs):
    return with_weights(DenseNet(growth_rate, block_config, num_init_features, **kwargs), weights, _renamed)


def densenet121(*, weights=None, progress=True, **kwargs):
    """DenseNet of 121 layers; 7,978,856 parameters. ``kwargs`` are those of DenseNet."""
    return _densenet(32, (6, 12, 24, 16), 64, weights, **kwargs)


def densenet161(*, weights=None, progress=True, **kwargs):
    """DenseNet of 161 layers. ``kwargs`` are those of DenseNet."""
    return _densenet(48, (6, 12, 36, 24), 96, weights, **kwargs)


def densenet169(*, weights=None, progress=True, **kwargs):
    """DenseNet of 169 layers. ``kwargs`` are those of DenseNet."""
    return _densenet(32, (6, 12, 32, 32), 64, weights, **kwargs)


def densenet201(*, weights=None, progress=True, **kwargs):
    """DenseNet of 201 layers. ``kwargs`` are those of DenseNet."""
    return _densenet(32, (6, 12, 48, 32), 64, weights, **kwargs)
