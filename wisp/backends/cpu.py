"""The processor."""

from wisp import _C


def get_cpu_capability():
    """The instruction set the kernels in use were compiled for: "DEFAULT", "AVX2" or "AVX512"."""
    return {"baseline": "DEFAULT"}.get(_C._cpu_capability(), _C._cpu_capability().upper())
