"""Versions that compare as versions do."""

from re import findall, match

__all__ = ["TorchVersion"]


def _key(version):
    """What versions are ordered by: the numbers, then releases after what came before them, then the local part."""
    if isinstance(version, (tuple, list)):
        version = ".".join(map(str, version))
    public, _, local = str(version).partition("+")
    parsed = match(r"v?(\d+(?:\.\d+)*)(.*)", public.strip())
    if parsed is None:
        return None
    numbers = [int(part) for part in parsed[1].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    stage = parsed[2]
    order = 1 if stage.startswith((".post", "-")) else 0 if not stage else -1
    return numbers, order, [*map(int, findall(r"\d+", stage))], local


class TorchVersion(str):
    """A version string that can be compared with strings and tuples of numbers.

    >>> wisp.torch_version.TorchVersion("2.10.1") > "2.9"
    True
    >>> wisp.torch_version.TorchVersion("2.10.1") >= (2, 10)
    True
    """

    __slots__ = ()

    def _compare(self, other, test):
        mine, others = _key(self), _key(other)
        if mine is None or others is None:
            return test(str(self), str(other))
        return test(mine, others)

    def __lt__(self, other):
        return self._compare(other, lambda a, b: a < b)

    def __le__(self, other):
        return self._compare(other, lambda a, b: a <= b)

    def __gt__(self, other):
        return self._compare(other, lambda a, b: a > b)

    def __ge__(self, other):
        return self._compare(other, lambda a, b: a >= b)

    def __eq__(self, other):
        return self._compare(other, lambda a, b: a == b)

    def __ne__(self, other):
        return not self == other

    __hash__ = str.__hash__
