"""Names for annotations."""

from collections.abc import Sequence
from typing import Any

from wisp._C import Size, Tensor, device, dtype, layout, memory_format
from wisp._storage import TypedStorage, UntypedStorage

__all__ = ["Device", "FileLike", "Number", "Storage"]

_TensorOrTensors = Tensor | Sequence[Tensor]
_TensorOrOptionalTensors = Tensor | Sequence[Tensor | None]
_dtype, _device, _layout, _memory_format = dtype, device, layout, memory_format
_int, _float, _bool, _complex = int, float, bool, complex
_size = Size | list[int] | tuple[int, ...]

Number = int | float | bool
Device = device | str | int | None
Storage = UntypedStorage | TypedStorage
FileLike = Any
