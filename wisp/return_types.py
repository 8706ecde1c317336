"""The named tuples operators return: ``wisp.return_types.max`` has ``values`` and ``indices``."""

from wisp import _C

_types = getattr(_C, "_return_types", {})
globals().update(_types)
__all__ = list(_types)
__all__ += ["histogramdd"]


class histogramdd(tuple):
    """The counts of histogramdd() and a tuple of the edges of each coordinate."""

    __slots__ = ()
    n_fields = n_sequence_fields = 2
    hist = property(lambda self: self[0])
    bin_edges = property(lambda self: self[1])

    def __repr__(self):
        return f"{_C._shown_package()}.return_types.histogramdd(\nhist={self[0]},\nbin_edges={self[1]})"
