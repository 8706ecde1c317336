"""Names of types, as programs import them for annotations."""

from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: UP035 (they are asked for by these names)


class Broadcasted:
    """A list of so many items, for which one of them may stand."""

    def __init__(self, size, item):
        self.size, self.item = size, item

    def __call__(self):  # typing takes nothing for a type that cannot be called
        raise TypeError("a type of a list is for annotations")

    def __or__(self, other):
        return Union[self, other]  # noqa: UP007 (this is what X | Y means)

    __ror__ = __or__

    def __repr__(self):
        return f"BroadcastingList{self.size}[{getattr(self.item, '__name__', self.item)}]"


class _BroadcastingList:
    def __init__(self, size):
        self.size = size

    def __getitem__(self, item):
        return Broadcasted(self.size, item)


BroadcastingList1, BroadcastingList2, BroadcastingList3, BroadcastingList4, BroadcastingList5, BroadcastingList6 = map(
    _BroadcastingList, range(1, 7)
)

__all__ = ["Any", "BroadcastingList1", "BroadcastingList2", "BroadcastingList3", "BroadcastingList4", "BroadcastingList5",
           "BroadcastingList6", "Dict", "List", "Optional", "Tuple", "Union"]  # fmt: skip
