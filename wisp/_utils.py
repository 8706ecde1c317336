"""What pickles of tensors made by PyTorch call when they are loaded (with ``torch`` resolved to wisp)."""

from wisp.serialization._torch_names import (
    rebuild_parameter as _rebuild_parameter,
)
from wisp.serialization._torch_names import (
    rebuild_parameter as _rebuild_parameter_with_state,
)
from wisp.serialization._torch_names import (
    rebuild_tensor as _rebuild_tensor,
)
from wisp.serialization._torch_names import (
    rebuild_tensor as _rebuild_tensor_v2,
)
from wisp.serialization._torch_names import (
    rebuild_tensor_of_dtype as _rebuild_tensor_v3,
)

__all__ = [
    "_rebuild_parameter", "_rebuild_parameter_with_state", "_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3",
]  # fmt: skip
