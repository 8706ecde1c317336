"""Not there: wisp computes on the CPU. The switches scripts turn are remembered and change nothing."""

from contextlib import contextmanager


def is_built():
    """False."""
    return False


class matmul:
    """Switches of matrix products on a GPU."""

    allow_tf32 = False
    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True


# --- which kernels of attention may be used

_attention = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}


def _switch(name):
    """(a function that sets whether a kernel may be used, one that tells)."""

    def enable(enabled):
        """Remembers whether this kernel may be used."""
        _attention[name] = bool(enabled)

    def is_enabled():
        """What was last said of this kernel."""
        return _attention[name]

    return enable, is_enabled


enable_flash_sdp, flash_sdp_enabled = _switch("flash")
enable_mem_efficient_sdp, mem_efficient_sdp_enabled = _switch("mem_efficient")
enable_math_sdp, math_sdp_enabled = _switch("math")
enable_cudnn_sdp, cudnn_sdp_enabled = _switch("cudnn")


@contextmanager
def sdp_kernel(enable_flash=True, enable_math=True, enable_mem_efficient=True, enable_cudnn=True):
    """While this lasts, other kernels may be used; then the same as before."""
    before = dict(_attention)
    _attention.update(flash=enable_flash, mem_efficient=enable_mem_efficient, math=enable_math, cudnn=enable_cudnn)
    try:
        yield {}
    finally:
        _attention.update(before)
