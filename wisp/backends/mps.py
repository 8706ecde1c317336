"""Not there: wisp computes on the CPU."""


def is_available():
    """False."""
    return False


def is_built():
    """False."""
    return False
