"""Not there: wisp computes on the CPU. The switches scripts turn are remembered and change nothing."""


def is_built():
    """False."""
    return False


class matmul:
    """Switches of matrix products on a GPU."""

    allow_tf32 = False
    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True
