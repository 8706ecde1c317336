"""Names of types, as programs import them for annotations."""

from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: UP035 (they are asked for by these names)

__all__ = [
    "Any", "BroadcastingList1", "BroadcastingList2", "BroadcastingList3", "BroadcastingList4", "BroadcastingList5",
    "BroadcastingList6", "Dict", "List", "Optional", "Tuple", "Union",
]  # fmt: skip

# Lists of so many items; scripts do not make them of one number.
BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = BroadcastingList4 = BroadcastingList5 = (
    BroadcastingList6
) = list
