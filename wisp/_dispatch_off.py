"""Names of PyTorch's dispatcher that libraries mention when they are imported. wisp's calls go through no keys: what a set
of these would switch on or off is not there."""

import enum

DispatchKey = enum.Enum("DispatchKey", [
    "CPU", "CUDA", "XPU", "MPS", "Meta", "AutogradCPU", "AutogradCUDA", "AutocastCPU", "AutocastCUDA", "AutocastXPU",
    "ADInplaceOrView", "Python", "CompositeImplicitAutograd", "CompositeExplicitAutograd",
])  # fmt: skip


class NativeFunctions:
    """torch._C._nn: functions of torch.nn.functional, and what reads the arguments of Module.to()."""

    def __init__(self, functional, parse_to):
        self._functional, self._parse_to = functional, parse_to

    def __getattr__(self, name):
        return getattr(self._functional, name)


class PyTorchFileReader:
    """What reads parts of PyTorch's archives; named in annotations. Loading them is wisp.load()."""

    def __new__(cls, *args, **kwargs):
        raise TypeError("PyTorchFileReader: not there while wisp stands in for torch; torch.load() reads such files")


class DispatchKeySet(frozenset):
    """Some of the keys."""

    def __new__(cls, keys):
        return super().__new__(cls, [keys] if isinstance(keys, DispatchKey) else keys)

    def __or__(self, other):
        return DispatchKeySet(frozenset.__or__(self, other))

    def has(self, key):
        return key in self
