"""The geometry of sliding windows: kernels, strides, padding given or computed."""

from itertools import product

import wisp
from wisp.nn import functional as F


class Windows:
    """Windows over the spatial axes of a tensor, from the attributes that convolutions and pooling share.

    kernel, strides, dilations, before, after: lists with one number for each axis. `after` includes `extra`, what must
    be added at the ends so that the last windows of `ceil_mode` fit.
    """

    def __init__(self, node, sizes, kernel):
        self.kernel, self.sizes, self.rank = list(kernel), list(sizes), len(kernel)
        self.strides = node["strides"] or [1] * self.rank
        self.dilations = node["dilations"] or [1] * self.rank
        pads = node["pads"] or [0] * (2 * self.rank)
        if not len(sizes) == self.rank == len(self.strides) == len(self.dilations) == len(pads) // 2:
            raise ValueError(f"a kernel of shape {self.kernel} does not fit {len(sizes)} axes, their strides and pads")
        if min(self.strides + self.dilations + self.kernel) < 1:
            raise ValueError("sizes of kernels, strides and dilations must be positive")
        self.spans = [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations)]
        auto = node["auto_pad"] or "NOTSET"
        self.before, self.after = (pads[: self.rank], pads[self.rank :]) if auto == "NOTSET" else self._same_size(auto)
        self._fit(bool(node["ceil_mode"]) and auto == "NOTSET")

    def _same_size(self, auto):
        """The padding that makes outputs as large as inputs, divided by the strides."""
        if auto == "VALID":
            return [0] * self.rank, [0] * self.rank
        if auto not in ("SAME_UPPER", "SAME_LOWER"):
            raise ValueError(f"unknown auto_pad {auto!r}")
        parts = zip(self.sizes, self.strides, self.spans)
        total = [max((-(-size // stride) - 1) * stride + span - size, 0) for size, stride, span in parts]
        small, large = [t // 2 for t in total], [t - t // 2 for t in total]
        return (small, large) if auto == "SAME_UPPER" else (large, small)

    def _fit(self, ceil):
        """Finds how many windows there are. Those that would start behind the input do not count."""
        self.counts, self.extra = [], []
        for i, size in enumerate(self.sizes):
            stride, padded = self.strides[i], size + self.before[i] + self.after[i]
            count = (-(-(padded - self.spans[i]) // stride) if ceil else (padded - self.spans[i]) // stride) + 1
            if ceil and (count - 1) * stride >= size + self.before[i]:
                count -= 1
            if count < 1:
                raise ValueError(f"a window of {self.spans[i]} elements does not fit an axis of {padded}")
            self.counts.append(count)
            self.extra.append(max((count - 1) * stride + self.spans[i] - padded, 0))
        self.after = [a + e for a, e in zip(self.after, self.extra)]

    @property
    def symmetric(self):
        """Whether both ends of every axis are padded alike."""
        return self.before == self.after

    def padded(self, x, value=0):
        """A tensor with the padding around it."""
        if not any(self.before + self.after):
            return x
        return F.pad(x, [p for pair in zip(self.before[::-1], self.after[::-1]) for p in pair], value=value)

    def of(self, padded):
        """All windows of a padded tensor: a view of shape (batch, channels, *counts, *kernel)."""
        for i in range(self.rank):
            padded = padded.unfold(2 + i, self.spans[i], self.strides[i])[..., :: self.dilations[i]]
        return padded[(slice(None), slice(None), *(slice(count) for count in self.counts))]

    def places(self, axis):
        """The coordinates of the elements of each window along an axis: a tensor of shape (count, kernel)."""
        starts = wisp.arange(self.counts[axis]).unsqueeze(1) * self.strides[axis] - self.before[axis]
        return starts + wisp.arange(self.kernel[axis]) * self.dilations[axis]

    def grid(self, axis):
        """The same, shaped to be broadcast to (*kernel, *counts)."""
        shape = [1] * (2 * self.rank)
        shape[axis], shape[self.rank + axis] = self.kernel[axis], self.counts[axis]
        return self.places(axis).T.reshape(shape)


def flat_indices(coordinates, sizes):
    """Indices into a flattened tensor from one tensor of coordinates for each axis."""
    index = 0
    for coordinate, size in zip(coordinates, sizes):
        index = index * size + coordinate
    return index


def weighted_corners(x, coordinates):
    """For fractional places of a tensor, the elements around each place, times their weights in linear interpolation.

    x: (batch, channels, *sizes). coordinates: one tensor of shape (batch, places) for each size. Yields tensors of shape
    (batch, channels, places), zero where the element would be outside.
    """
    sizes = x.shape[2:]
    flat = x.flatten(2)
    for corner in product((0, 1), repeat=len(sizes)):
        weight, places = 1, []
        for place, step, size in zip(coordinates, corner, sizes):
            low = wisp.floor(place)
            near = low + step
            part = place - low if step else 1 - (place - low)
            weight = weight * part * ((near >= 0) & (near < size)).to(x.dtype)
            places.append(near.clamp(0, size - 1).to(wisp.int64))
        index = flat_indices(places, sizes).unsqueeze(1).expand(-1, x.shape[1], -1)
        yield flat.gather(2, index) * weight.unsqueeze(1)


def linear_samples(x, coordinates):
    """A tensor's values at fractional places, interpolated linearly between neighbours; zero outside."""
    return sum(weighted_corners(x, coordinates))
