"""The package onnx, which describes the format: an optional one, imported here and nowhere else."""

try:
    import onnx
    from google.protobuf.message import DecodeError
    from onnx import defs, numpy_helper
except ImportError as error:
    raise ImportError(
        f"ONNX models need the package onnx, which is not installed: pip install onnx ({error})"
    ) from error

__all__ = ["DecodeError", "defs", "numpy_helper", "onnx"]
