"""Names for annotations."""

from collections.abc import Sequence
from typing import Any, Union

from wisp._C import Size, Tensor, device, dtype, layout, memory_format
from wisp._storage import TypedStorage, UntypedStorage

__all__ = ["Device", "FileLike", "Number", "Storage"]

_TensorOrTensors = Union[Tensor, Sequence[Tensor]]
_TensorOrOptionalTensors = Union[Tensor, Sequence[Union[Tensor, None]]]
_dtype, _device, _layout, _memory_format = dtype, device, layout, memory_format
_int, _float, _bool, _complex = int, float, bool, complex
_size = Union[Size, list[int], tuple[int, ...]]

Number = Union[int, float, bool]
Device = Union[device, str, int, None]
Storage = Union[UntypedStorage, TypedStorage]
FileLike = Any
