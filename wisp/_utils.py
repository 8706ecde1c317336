"""What pickles of tensors made by PyTorch call when they are loaded (with ``torch`` resolved to wisp)."""

from wisp.serialization import _torch_names as names

_rebuild_tensor = _rebuild_tensor_v2 = names.at_once(names.rebuild_tensor)
_rebuild_tensor_v3 = names.at_once(names.rebuild_tensor_of_dtype)
_rebuild_parameter = _rebuild_parameter_with_state = names.rebuild_parameter
