"""The old arguments of losses that ``reduction`` has replaced."""

import warnings


def from_legacy(size_average, reduce, reduction="mean"):
    """The word for ``reduction``: what is given, unless one of the old arguments is."""
    if size_average is None and reduce is None:
        return reduction
    average = size_average is None or size_average
    word = "none" if reduce is False else "mean" if average else "sum"
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction='{word}' instead.", stacklevel=3
    )
    return word
