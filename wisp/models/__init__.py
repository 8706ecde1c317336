"""Networks, with the names, arguments and state_dict of torchvision's where it has them.

A name is imported when first used. ``weights=`` is the path of a file of weights that you have, or a state_dict.

>>> model = wisp.models.squeezenet1_1(num_classes=10)
>>> model(wisp.zeros(1, 3, 64, 64)).shape
wisp.Size([1, 10])
"""

# The names of every file: classes, then functions that make a network. (A file named like its function would hide it.)
_NAMES = {
    "_alexnet": (("AlexNet",), ("alexnet",)),
    "densenet": (("DenseNet",), ("densenet121", "densenet161", "densenet169", "densenet201")),
    "_googlenet": (("GoogLeNet", "GoogLeNetOutputs"), ("googlenet",)),
    "_gpt": (("GPT", "GPTConfig"), ("gpt",)),
    "inception": (("Inception3", "InceptionOutputs"), ("inception_v3",)),
    "lstm": (("LSTMLanguageModel",), ("lstm_language_model",)),
    "mobilenetv2": (("MobileNetV2",), ("mobilenet_v2",)),
    "mobilenetv3": (("MobileNetV3",), ("mobilenet_v3_large", "mobilenet_v3_small")),
    "resnet": (
        ("ResNet",),
        (
            "resnet18", "resnet34", "resnet50", "resnet101", "resnet152", "resnext50_32x4d", "resnext101_32x8d",
            "resnext101_64x4d", "wide_resnet50_2", "wide_resnet101_2",
        ),
    ),
    "squeezenet": (("SqueezeNet",), ("squeezenet1_0", "squeezenet1_1")),
    "vgg": (("VGG",), ("vgg11", "vgg11_bn", "vgg13", "vgg13_bn", "vgg16", "vgg16_bn", "vgg19", "vgg19_bn")),
    "vision_transformer": (("VisionTransformer",), ("vit_b_16", "vit_b_32", "vit_h_14", "vit_l_16", "vit_l_32")),
}  # fmt: skip
_HOME_OF = {name: file for file, kinds in _NAMES.items() for names in kinds for name in names}
_BUILDERS = sorted(name for _, builders in _NAMES.values() for name in builders)

__all__ = ["get_model", "get_model_builder", "list_models"]
__all__ += list(_HOME_OF)


def list_models(module=None, include=None, exclude=None):
    """The names of all networks, in order.

    Args:
        module: a file of this package (``wisp.models.resnet``): only its networks.
        include, exclude: patterns with ``*`` and ``?``, one or several, of names to keep or to leave out.

    >>> wisp.models.list_models(include="resnet*")
    ['resnet101', 'resnet152', 'resnet18', 'resnet34', 'resnet50']
    """
    from fnmatch import fnmatch

    def fits(name, patterns):
        return any(fnmatch(name, pattern) for pattern in ([patterns] if isinstance(patterns, str) else patterns))

    names = _BUILDERS if module is None else [n for n in _BUILDERS if module.__name__ == f"{__name__}.{_HOME_OF[n]}"]
    names = names if include is None else [name for name in names if fits(name, include)]
    return list(names if exclude is None else [name for name in names if not fits(name, exclude)])


def get_model_builder(name):
    """The function that makes the network of that name; upper and lower case are the same."""
    if name.lower() not in _BUILDERS:
        from difflib import get_close_matches

        near = get_close_matches(name.lower(), _BUILDERS, n=1)
        raise ValueError(f"Unknown model {name}" + (f". Did you mean: '{near[0]}'?" if near else ""))
    return __getattr__(name.lower())


def get_model(name, **config):
    """A network by its name.

    >>> wisp.models.get_model("resnet18", num_classes=3).fc
    Linear(in_features=512, out_features=3, bias=True)
    """
    return get_model_builder(name)(**config)


def __getattr__(name):
    from importlib import import_module

    if name in _HOME_OF:
        found = globals()[name] = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
        return found
    if name in _NAMES:
        return import_module(f"{__name__}.{name}")
    from wisp._missing import MissingName

    raise MissingName(__name__, name)


def __dir__():
    return sorted({*globals(), *__all__, *_NAMES})
