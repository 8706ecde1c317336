"""Tensor methods written in Python, given to the class when wisp is imported."""

from wisp._C import Tensor


def __format__(self, spec):
    if self.dim() == 0 and type(self) is Tensor:
        return format(self.item(), spec)
    return object.__format__(self, spec)


for _name, _method in list(globals().items()):
    if callable(_method) and getattr(_method, "__module__", None) == __name__:
        setattr(Tensor, _name, _method)
