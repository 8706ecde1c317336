"""Not used: matrix products are wisp's own or OpenBLAS's."""


def is_available():
    """False."""
    return False
