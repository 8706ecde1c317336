"""Transforms side by side: of pieces, and of slices."""

import wisp
from wisp.distributions import constraints
from wisp.distributions._transform import Transform
from wisp.distributions.utils import _sum_rightmost, lazy_property


class CatTransform(Transform):
    """Transforms of consecutive pieces along a dimension.

    Args:
        tseq: the transforms.
        dim: the dimension.
        lengths: the length of every piece, 1 unless given.
        cache_size: see `Transform`.
    """

    def __init__(self, tseq, dim=0, lengths=None, cache_size=0):
        _expect_transforms(tseq)
        super().__init__(cache_size=cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"Expected {len(self.transforms)} lengths, got {len(self.lengths)}")
        self.dim = dim

    @lazy_property
    def event_dim(self):
        """The largest of the transforms."""
        return max(t.event_dim for t in self.transforms)

    @lazy_property
    def length(self):
        """The size of the dimension."""
        return sum(self.lengths)

    def with_cache(self, cache_size=1):
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _pieces(self, value):
        _expect_size(value, self.dim, self.length)
        return value.split(self.lengths, self.dim)

    def _call(self, x):
        return wisp.cat([t(piece) for t, piece in zip(self.transforms, self._pieces(x))], self.dim)

    def _inverse(self, y):
        return wisp.cat([t.inv(piece) for t, piece in zip(self.transforms, self._pieces(y))], self.dim)

    def log_abs_det_jacobian(self, x, y):
        parts = zip(self.transforms, self._pieces(x), self._pieces(y))
        found = [_sum_rightmost(t.log_abs_det_jacobian(a, b), self.event_dim - t.event_dim) for t, a, b in parts]
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        dim += self.event_dim
        return wisp.cat(found, dim) if dim < 0 else sum(found)

    @property
    def bijective(self):
        """Whether all transforms are."""
        return all(t.bijective for t in self.transforms)

    @constraints.dependent_property
    def domain(self):
        """The domains of the pieces."""
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self):
        """The codomains of the pieces."""
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(Transform):
    """A transform for every slice along a dimension.

    Args:
        tseq: the transforms.
        dim: the dimension.
        cache_size: see `Transform`.
    """

    def __init__(self, tseq, dim=0, cache_size=0):
        _expect_transforms(tseq)
        super().__init__(cache_size=cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)
        self.dim = dim

    def with_cache(self, cache_size=1):
        return self if self._cache_size == cache_size else StackTransform(self.transforms, self.dim, cache_size)

    def _slices(self, value):
        _expect_size(value, self.dim, len(self.transforms))
        return value.unbind(self.dim)

    def _call(self, x):
        return wisp.stack([t(piece) for t, piece in zip(self.transforms, self._slices(x))], self.dim)

    def _inverse(self, y):
        return wisp.stack([t.inv(piece) for t, piece in zip(self.transforms, self._slices(y))], self.dim)

    def log_abs_det_jacobian(self, x, y):
        parts = zip(self.transforms, self._slices(x), self._slices(y))
        return wisp.stack([t.log_abs_det_jacobian(a, b) for t, a, b in parts], self.dim)

    @property
    def bijective(self):
        """Whether all transforms are."""
        return all(t.bijective for t in self.transforms)

    @constraints.dependent_property
    def domain(self):
        """The domains of the slices."""
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self):
        """The codomains of the slices."""
        return constraints.stack([t.codomain for t in self.transforms], self.dim)


def _expect_transforms(tseq):
    for t in tseq:
        if not isinstance(t, Transform):
            raise AssertionError(f"All elements of tseq must be Transform instances, got {type(t)}")


def _expect_size(value, dim, size):
    if not -value.dim() <= dim < value.dim():
        raise AssertionError(f"Expected dim in range [{-value.dim()}, {value.dim()}), got {dim}")
    if value.shape[dim] != size:
        raise AssertionError(f"Expected size {size} along dimension {dim}, got {value.shape[dim]}")
