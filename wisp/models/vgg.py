"""VGG, "Very Deep Convolutional Networks for Large-Scale Image Recognition" (arXiv:1409.1556)."""

from wisp import nn
from wisp.models._parts import set_norms, with_weights

__all__ = ["VGG", "vgg11", "vgg11_bn", "vgg13", "vgg13_bn", "vgg16", "vgg16_bn", "vgg19", "vgg19_bn"]

_STAGES = (64, 128, 256, 512, 512)  # channels; every stage ends by halving the image
_DEPTHS = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}  # convolutions of each


class VGG(nn.Module):
    """Convolutions (``features``), then three fully connected layers.

    Args:
        features: the convolutional part; gives 512 channels.
        num_classes: how many numbers come out.
        init_weights: whether to initialise the weights as published, rather than leave them as the layers do.
        dropout: the chance of a feature to be left out in training.
    """

    def __init__(self, features, num_classes=1000, init_weights=True, dropout=0.5):
        super().__init__()
        self.features = features
        self.avgpool = nn.AdaptiveAvgPool2d((7, 7))
        self.classifier = nn.Sequential(
            nn.Linear(512 * 7 * 7, 4096),
            nn.ReLU(True),
            nn.Dropout(p=dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(True),
            nn.Dropout(p=dropout),
            nn.Linear(4096, num_classes),
        )
        if init_weights:
            self.apply(_init)

    def forward(self, x):
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


def _init(module):
    set_norms(module)
    if isinstance(module, nn.Conv2d):
        nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
    elif isinstance(module, nn.Linear):
        nn.init.normal_(module.weight, 0, 0.01)
    if isinstance(module, (nn.Conv2d, nn.Linear)):
        nn.init.zeros_(module.bias)


def _features(depth, batch_norm):
    layers, before = [], 3
    for channels, count in zip(_STAGES, _DEPTHS[depth]):
        for _ in range(count):
            layers.append(nn.Conv2d(before, channels, kernel_size=3, padding=1))
            if batch_norm:
                layers.append(nn.BatchNorm2d(channels))
            layers.append(nn.ReLU(inplace=True))
            before = channels
        layers.append(nn.MaxPool2d(kernel_size=2, stride=2))
    return nn.Sequential(*layers)


def _vgg(depth, batch_norm, weights, **kwargs):
    if weights is not None:
        kwargs["init_weights"] = False
    return with_weights(VGG(_features(depth, batch_norm), **kwargs), weights)


def vgg11(*, weights=None, progress=True, **kwargs):
    """VGG of 11 layers. ``kwargs`` are those of VGG."""
    return _vgg(11, False, weights, **kwargs)


def vgg11_bn(*, weights=None, progress=True, **kwargs):
    """VGG of 11 layers with batch normalisation. ``kwargs`` are those of VGG."""
    return _vgg(11, True, weights, **kwargs)


def vgg13(*, weights=None, progress=True, **kwargs):
    """VGG of 13 layers. ``kwargs`` are those of VGG."""
    return _vgg(13, False, weights, **kwargs)


def vgg13_bn(*, weights=None, progress=True, **kwargs):
    """VGG of 13 layers with batch normalisation. ``kwargs`` are those of VGG."""
    return _vgg(13, True, weights, **kwargs)


def vgg16(*, weights=None, progress=True, **kwargs):
    """VGG of 16 layers. ``kwargs`` are those of VGG."""
    return _vgg(16, False, weights, **kwargs)


def vgg16_bn(*, weights=None, progress=True, **kwargs):
    """VGG of 16 layers with batch normalisation. ``kwargs`` are those of VGG."""
    return _vgg(16, True, weights, **kwargs)


def vgg19(*, weights=None, progress=True, **kwargs):
    """VGG of 19 layers. ``kwargs`` are those of VGG."""
    return _vgg(19, False, weights, **kwargs)


def vgg19_bn(*, weights=None, progress=True, **kwargs):
    """VGG of 19 layers with batch normalisation. ``kwargs`` are those of VGG."""
    return _vgg(19, True, weights, **kwargs)
