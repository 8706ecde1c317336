"""ResNet, "Deep Residual Learning for Image Recognition" (arXiv:1512.03385), ResNeXt (arXiv:1611.05431) and Wide ResNet
(arXiv:1605.07146)."""

from wisp import nn
from wisp.models._parts import set_norms, with_weights

__all__ = [
    "ResNet", "resnet18", "resnet34", "resnet50", "resnet101", "resnet152", "resnext50_32x4d", "resnext101_32x8d",
    "resnext101_64x4d", "wide_resnet50_2", "wide_resnet101_2",
]  # fmt: skip


class BasicBlock(nn.Module):
    """Two convolutions and a way around them."""

    expansion = 1

    def __init__(
        self, inplanes, planes, stride=1, downsample=None, groups=1, base_width=64, dilation=1, norm_layer=None
    ):
        super().__init__()
        if groups != 1 or base_width != 64 or dilation > 1:
            raise ValueError("BasicBlock only supports groups=1, base_width=64 and no dilation")
        norm_layer = norm_layer or nn.BatchNorm2d
        self.conv1 = nn.Conv2d(inplanes, planes, 3, stride, 1, bias=False)
        self.bn1 = norm_layer(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
        self.bn2 = norm_layer(planes)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x):
        around = x if self.downsample is None else self.downsample(x)
        x = self.relu(self.bn1(self.conv1(x)))
        return self.relu(self.bn2(self.conv2(x)) + around)


class Bottleneck(nn.Module):
    """A convolution between two that reduce and restore the channels, and a way around them. The stride is that of the
    one in the middle."""

    expansion = 4

    def __init__(
        self, inplanes, planes, stride=1, downsample=None, groups=1, base_width=64, dilation=1, norm_layer=None
    ):
        super().__init__()
        norm_layer = norm_layer or nn.BatchNorm2d
        width = int(planes * (base_width / 64.0)) * groups
        self.conv1 = nn.Conv2d(inplanes, width, 1, bias=False)
        self.bn1 = norm_layer(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, dilation, dilation, groups, bias=False)
        self.bn2 = norm_layer(width)
        self.conv3 = nn.Conv2d(width, planes * self.expansion, 1, bias=False)
        self.bn3 = norm_layer(planes * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x):
        around = x if self.downsample is None else self.downsample(x)
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.relu(self.bn2(self.conv2(x)))
        return self.relu(self.bn3(self.conv3(x)) + around)


class ResNet(nn.Module):
    """Four stages of residual blocks.

    Args:
        block: BasicBlock or Bottleneck.
        layers: how many blocks each stage has.
        num_classes: how many numbers come out.
        zero_init_residual: whether every block begins as the identity.
        groups, width_per_group: of the convolutions in bottlenecks.
        replace_stride_with_dilation: for the last three stages, whether to look further apart instead of halving the image.
        norm_layer: the normalisation, if not BatchNorm2d.
    """

    def __init__(self, block, layers, num_classes=1000, zero_init_residual=False, groups=1, width_per_group=64,
                 replace_stride_with_dilation=None, norm_layer=None):  # fmt: skip
        super().__init__()
        dilate = replace_stride_with_dilation or [False, False, False]
        if len(dilate) != 3:
            raise ValueError(f"replace_stride_with_dilation should be None or a 3-element tuple, got {dilate}")
        self._norm_layer = norm_layer or nn.BatchNorm2d
        self.inplanes, self.dilation, self.groups, self.base_width = 64, 1, groups, width_per_group
        self.conv1 = nn.Conv2d(3, 64, kernel_size=7, stride=2, padding=3, bias=False)
        self.bn1 = self._norm_layer(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.layer1 = self._make_layer(block, 64, layers[0])
        self.layer2 = self._make_layer(block, 128, layers[1], stride=2, dilate=dilate[0])
        self.layer3 = self._make_layer(block, 256, layers[2], stride=2, dilate=dilate[1])
        self.layer4 = self._make_layer(block, 512, layers[3], stride=2, dilate=dilate[2])
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512 * block.expansion, num_classes)
        self._init(zero_init_residual)

    def _init(self, zero_init_residual):
        for module in self.modules():
            set_norms(module)
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        for module in self.modules() if zero_init_residual else ():
            last = {Bottleneck: "bn3", BasicBlock: "bn2"}.get(type(module))
            if last:
                nn.init.zeros_(getattr(module, last).weight)

    def _make_layer(self, block, planes, blocks, stride=1, dilate=False):
        before = self.dilation
        if dilate:
            self.dilation *= stride
            stride = 1
        out, downsample = planes * block.expansion, None
        if stride != 1 or self.inplanes != out:
            downsample = nn.Sequential(nn.Conv2d(self.inplanes, out, 1, stride, bias=False), self._norm_layer(out))
        how = {"groups": self.groups, "base_width": self.base_width, "norm_layer": self._norm_layer}
        layers = [block(self.inplanes, planes, stride, downsample, dilation=before, **how)]
        self.inplanes = out
        layers += [block(out, planes, dilation=self.dilation, **how) for _ in range(1, blocks)]
        return nn.Sequential(*layers)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.avgpool(x).flatten(1))


def resnet18(*, weights=None, progress=True, **kwargs):
    """ResNet of 18 layers; 11,689,512 parameters. ``kwargs`` are those of ResNet."""
    return with_weights(ResNet(BasicBlock, [2, 2, 2, 2], **kwargs), weights)


def resnet34(*, weights=None, progress=True, **kwargs):
    """ResNet of 34 layers. ``kwargs`` are those of ResNet."""
    return with_weights(ResNet(BasicBlock, [3, 4, 6, 3], **kwargs), weights)


def resnet50(*, weights=None, progress=True, **kwargs):
    """ResNet of 50 layers; 25,557,032 parameters. ``kwargs`` are those of ResNet."""
    return with_weights(ResNet(Bottleneck, [3, 4, 6, 3], **kwargs), weights)


def resnet101(*, weights=None, progress=True, **kwargs):
    """ResNet of 101 layers. ``kwargs`` are those of ResNet."""
    return with_weights(ResNet(Bottleneck, [3, 4, 23, 3], **kwargs), weights)


def resnet152(*, weights=None, progress=True, **kwargs):
    """ResNet of 152 layers. ``kwargs`` are those of ResNet."""
    return with_weights(ResNet(Bottleneck, [3, 8, 36, 3], **kwargs), weights)


def resnext50_32x4d(*, weights=None, progress=True, **kwargs):
    """ResNeXt of 50 layers, with 32 groups of 4 channels. ``kwargs`` are those of ResNet."""
    return with_weights(ResNet(Bottleneck, [3, 4, 6, 3], **{"groups": 32, "width_per_group": 4, **kwargs}), weights)


def resnext101_32x8d(*, weights=None, progress=True, **kwargs):
    """ResNeXt of 101 layers, with 32 groups of 8 channels. ``kwargs`` are those of ResNet."""
    return with_weights(ResNet(Bottleneck, [3, 4, 23, 3], **{"groups": 32, "width_per_group": 8, **kwargs}), weights)


def resnext101_64x4d(*, weights=None, progress=True, **kwargs):
    """ResNeXt of 101 layers, with 64 groups of 4 channels. ``kwargs`` are those of ResNet."""
    return with_weights(ResNet(Bottleneck, [3, 4, 23, 3], **{"groups": 64, "width_per_group": 4, **kwargs}), weights)


def wide_resnet50_2(*, weights=None, progress=True, **kwargs):
    """ResNet of 50 layers with twice the channels inside bottlenecks. ``kwargs`` are those of ResNet."""
    return with_weights(ResNet(Bottleneck, [3, 4, 6, 3], **{"width_per_group": 128, **kwargs}), weights)


def wide_resnet101_2(*, weights=None, progress=True, **kwargs):
    """ResNet of 101 layers with twice the channels inside bottlenecks. ``kwargs`` are those of ResNet."""
    return with_weights(ResNet(Bottleneck, [3, 4, 23, 3], **{"width_per_group": 128, **kwargs}), weights)
