"""What libraries find as torch.ao and torch.ao.quantization when they define models that could be quantised: the marks where
numbers would change their form. Nothing is quantised here, so they pass on what they are given."""

from wisp.nn import Identity

__path__ = []  # torch.ao.quantization is this module too


class QuantStub(Identity):
    """Where quantised numbers would begin."""

    def __init__(self, qconfig=None):
        super().__init__()


class DeQuantStub(QuantStub):
    """Where quantised numbers would end."""


def __getattr__(name):
    from wisp._missing import MissingName

    raise MissingName(__name__, name)
