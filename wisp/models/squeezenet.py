"""SqueezeNet, "AlexNet-level accuracy with 50x fewer parameters" (arXiv:1602.07360)."""

from wisp import cat, nn
from wisp.models._parts import with_weights

__all__ = ["SqueezeNet", "squeezenet1_0", "squeezenet1_1"]

# (channels squeezed to, channels of each kind of expansion) of the modules between poolings.
_GROUPS = {
    "1_0": (((16, 64), (16, 64), (32, 128)), ((32, 128), (48, 192), (48, 192), (64, 256)), ((64, 256),)),
    "1_1": (((16, 64), (16, 64)), ((32, 128), (32, 128)), ((48, 192), (48, 192), (64, 256), (64, 256))),
}
_FIRST = {"1_0": (96, 7), "1_1": (64, 3)}  # channels and window of the first convolution


class Fire(nn.Module):
    """Few channels, seen through windows of two sizes."""

    def __init__(self, inplanes, squeeze_planes, expand1x1_planes, expand3x3_planes):
        super().__init__()
        self.inplanes = inplanes
        self.squeeze = nn.Conv2d(inplanes, squeeze_planes, kernel_size=1)
        self.squeeze_activation = nn.ReLU(inplace=True)
        self.expand1x1 = nn.Conv2d(squeeze_planes, expand1x1_planes, kernel_size=1)
        self.expand1x1_activation = nn.ReLU(inplace=True)
        self.expand3x3 = nn.Conv2d(squeeze_planes, expand3x3_planes, kernel_size=3, padding=1)
        self.expand3x3_activation = nn.ReLU(inplace=True)

    def forward(self, x):
        x = self.squeeze_activation(self.squeeze(x))
        parts = [self.expand1x1_activation(self.expand1x1(x)), self.expand3x3_activation(self.expand3x3(x))]
        return cat(parts, 1)


class SqueezeNet(nn.Module):
    """Fire modules with poolings between them; the last layer is a convolution.

    Args:
        version: "1_0", or "1_1", which needs less than half the work.
        num_classes: how many numbers come out.
        dropout: the chance of a feature to be left out in training.
    """

    def __init__(self, version="1_0", num_classes=1000, dropout=0.5):
        super().__init__()
        if version not in _GROUPS:
            raise ValueError(f"Unsupported SqueezeNet version {version}: 1_0 or 1_1 expected")
        self.num_classes = num_classes
        channels, window = _FIRST[version]
        layers = [nn.Conv2d(3, channels, kernel_size=window, stride=2), nn.ReLU(inplace=True)]
        for group in _GROUPS[version]:
            layers.append(nn.MaxPool2d(kernel_size=3, stride=2, ceil_mode=True))
            for squeezed, expanded in group:
                layers.append(Fire(channels, squeezed, expanded, expanded))
                channels = 2 * expanded
        self.features = nn.Sequential(*layers)
        final = nn.Conv2d(512, num_classes, kernel_size=1)
        pool = nn.AdaptiveAvgPool2d((1, 1))
        self.classifier = nn.Sequential(nn.Dropout(p=dropout), final, nn.ReLU(inplace=True), pool)
        self._init(final)

    def _init(self, final):
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.zeros_(module.bias)
                if module is final:
                    nn.init.normal_(module.weight, mean=0.0, std=0.01)
                else:
                    nn.init.kaiming_uniform_(module.weight)

    def forward(self, x):
        return self.classifier(self.features(x)).flatten(1)


def squeezenet1_0(*, weights=None, progress=True, **kwargs):
    """SqueezeNet 1.0; 1,248,424 parameters. ``kwargs`` are those of SqueezeNet."""
    return with_weights(SqueezeNet("1_0", **kwargs), weights)


def squeezenet1_1(*, weights=None, progress=True, **kwargs):
    """SqueezeNet 1.1; 1,235,496 parameters. ``kwargs`` are those of SqueezeNet."""
    return with_weights(SqueezeNet("1_1", **kwargs), weights)
