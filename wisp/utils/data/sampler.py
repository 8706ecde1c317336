"""The order in which samples are taken."""

from itertools import chain, islice
from types import GenericAlias

from wisp import _C

__all__ = ["BatchSampler", "RandomSampler", "Sampler", "SequentialSampler", "SubsetRandomSampler",
           "WeightedRandomSampler"]  # fmt: skip

_randperm, _randint = _C._functions["randperm"], _C._functions["randint"]
_multinomial, _empty = _C._functions["multinomial"], _C._functions["empty"]


def drawn_seed(generator=None):
    """A seed drawn from a generator, or from the default one."""
    return _empty((), dtype=_C.int64).random_(generator=generator).item()


def _check_count(name, value):
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"{name} should be a positive integer value, but got {name}={value}")


class Sampler:
    """Base of all samplers: ``__iter__`` gives keys of samples (or lists of them), ``__len__`` how many, if known."""

    __class_getitem__ = classmethod(GenericAlias)

    def __iter__(self):
        raise NotImplementedError


class SequentialSampler(Sampler):
    """All samples in order.

    >>> list(wisp.utils.data.SequentialSampler("abc"))
    [0, 1, 2]
    """

    def __init__(self, data_source):
        self.data_source = data_source

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


class RandomSampler(Sampler):
    """Samples in random order: each once, or drawn with replacement.

    Args:
        data_source: the dataset.
        replacement: whether a sample may be drawn again before all others were.
        num_samples: how many to draw, as many as there are by default.
        generator: where the numbers come from; by default a seed is drawn from the default generator every time.
    """

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        self.data_source, self.replacement, self.generator = data_source, replacement, generator
        self._num_samples = num_samples
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        _check_count("num_samples", self.num_samples)

    @property
    def num_samples(self):
        """How many keys one pass gives."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self):
        return islice(chain.from_iterable(self._lists()), self.num_samples)

    def _lists(self):
        """Keys in lists, at least as many as are wanted. They are drawn when they are first asked for."""
        generator = self.generator
        if generator is None:
            generator = _C.Generator().manual_seed(drawn_seed())
        draw = self._with_replacement if self.replacement else self._in_random_order
        yield from draw(len(self.data_source), generator)

    def _with_replacement(self, n, generator):
        missing = self.num_samples
        while missing > 0:
            count = min(missing, 8192)
            yield _randint(n, (count,), dtype=_C.int64, generator=generator).tolist()
            missing -= count

    def _in_random_order(self, n, generator):
        while n > 0:
            yield _randperm(n, generator=generator).tolist()

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """The given keys in random order."""

    def __init__(self, indices, generator=None):
        self.indices, self.generator = indices, generator

    def __iter__(self):
        for i in _randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self):
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """Keys drawn with given probabilities (weights, which need not sum up to 1).

    >>> list(wisp.utils.data.WeightedRandomSampler([0., 1., 0.], 3))
    [1, 1, 1]
    """

    def __init__(self, weights, num_samples, replacement=True, generator=None):
        _check_count("num_samples", num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.weights = _C.as_tensor(weights, dtype=_C.float64)
        if self.weights.dim() != 1:
            shape = tuple(self.weights.shape)
            raise ValueError(f"weights should be a 1d sequence but given weights have shape {shape}")
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self):
        drawn = _multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator)
        yield from drawn.tolist()

    def __len__(self):
        return self.num_samples


class BatchSampler(Sampler):
    """Lists of keys of another sampler.

    >>> list(wisp.utils.data.BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler, batch_size, drop_last):
        _check_count("batch_size", batch_size)
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self):
        keys = iter(self.sampler)
        while batch := list(islice(keys, self.batch_size)):
            if len(batch) < self.batch_size and self.drop_last:
                return
            yield batch

    def __len__(self):
        n, size = len(self.sampler), self.batch_size
        return n // size if self.drop_last else (n + size - 1) // size
