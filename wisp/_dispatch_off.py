"""Names of PyTorch's dispatcher that libraries mention when they are imported. wisp's calls go through no keys: what a set
of these would switch on or off is not there."""

import enum

DispatchKey = enum.Enum("DispatchKey", [
    "CPU", "CUDA", "XPU", "MPS", "Meta", "AutogradCPU", "AutogradCUDA", "AutocastCPU", "AutocastCUDA", "AutocastXPU",
    "ADInplaceOrView", "Python", "CompositeImplicitAutograd", "CompositeExplicitAutograd",
])  # fmt: skip


class DispatchKeySet(frozenset):
    """Some of the keys."""

    def __new__(cls, keys):
        return super().__new__(cls, [keys] if isinstance(keys, DispatchKey) else keys)

    def __or__(self, other):
        return DispatchKeySet(frozenset.__or__(self, other))

    def has(self, key):
        return key in self
