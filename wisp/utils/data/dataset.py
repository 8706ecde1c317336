"""Collections of samples."""

from bisect import bisect_right
from itertools import accumulate
from types import GenericAlias

from wisp import _C

__all__ = ["ChainDataset", "ConcatDataset", "Dataset", "IterableDataset", "StackDataset", "Subset", "TensorDataset",
           "random_split"]  # fmt: skip


class Dataset:
    """Samples by key: a subclass defines ``__getitem__``, and ``__len__`` unless it comes with a sampler of its own.

    It may define ``__getitems__(keys)`` too, which returns a list of samples at once.

    >>> class Squares(wisp.utils.data.Dataset):
    ...     def __len__(self):
    ...         return 4
    ...     def __getitem__(self, index):
    ...         return index**2
    >>> list(wisp.utils.data.DataLoader(Squares(), batch_size=2))
    [tensor([0, 1]), tensor([4, 9])]
    """

    __class_getitem__ = classmethod(GenericAlias)

    def __getitem__(self, index):
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other):
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """Samples one after the other: a subclass defines ``__iter__``.

    In worker processes every worker has a copy of its own; ``get_worker_info()`` tells it which part to give.
    """

    def __iter__(self):
        raise NotImplementedError("Subclasses of IterableDataset should implement __iter__.")

    def __add__(self, other):
        return ChainDataset([self, other])


class TensorDataset(Dataset):
    """Samples that are rows of tensors.

    >>> wisp.utils.data.TensorDataset(wisp.tensor([[1, 2], [3, 4]]), wisp.tensor([0, 1]))[1]
    (tensor([3, 4]), tensor(1))
    """

    def __init__(self, *tensors):
        if any(tensor.shape[0] != tensors[0].shape[0] for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self):
        return self.tensors[0].shape[0]


class StackDataset(Dataset):
    """Several datasets side by side: a sample is the tuple (or, of keyword arguments, the dict) of theirs.

    >>> wisp.utils.data.StackDataset(image=["a", "b"], text=["x", "y"])[1]
    {'image': 'b', 'text': 'y'}
    """

    def __init__(self, *args, **kwargs):
        if args and kwargs:
            raise ValueError("Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like "
                             "input/output, but both types are given.")  # fmt: skip
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets = kwargs or args
        parts = self._parts()
        self._length = len(parts[0])
        if any(len(part) != self._length for part in parts):
            raise ValueError("Size mismatch between datasets")

    def _parts(self):
        return list(self.datasets.values()) if isinstance(self.datasets, dict) else list(self.datasets)

    def _joined(self, samples):
        return dict(zip(self.datasets, samples)) if isinstance(self.datasets, dict) else tuple(samples)

    def __getitem__(self, index):
        return self._joined([part[index] for part in self._parts()])

    def __getitems__(self, indices):
        columns = [_samples(part, indices) for part in self._parts()]
        return [self._joined(row) for row in zip(*columns)]

    def __len__(self):
        return self._length


def _samples(dataset, indices):
    """The samples of several keys, at once where the dataset knows how."""
    if not callable(getattr(dataset, "__getitems__", None)):
        return [dataset[index] for index in indices]
    samples = dataset.__getitems__(indices)
    if len(samples) != len(indices):
        raise ValueError(f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(samples)}")
    return samples


class ConcatDataset(Dataset):
    """Datasets one after the other.

    >>> wisp.utils.data.ConcatDataset(["ab", "cde"])[3]
    'd'
    """

    def __init__(self, datasets):
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    @staticmethod
    def cumsum(sequence):
        """The total lengths of the first one, two, ... of some datasets."""
        return list(accumulate(len(dataset) for dataset in sequence))

    def __len__(self):
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx):
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        which = bisect_right(self.cumulative_sizes, idx)
        if which == len(self.datasets):
            raise IndexError(f"index {idx} is out of range for {len(self)} samples")
        return self.datasets[which][idx - (self.cumulative_sizes[which - 1] if which else 0)]

    @property
    def cummulative_sizes(self):
        """The old spelling of cumulative_sizes."""
        import warnings

        message = "`cummulative_sizes` attribute is renamed to `cumulative_sizes`"
        warnings.warn(message, FutureWarning, stacklevel=2)
        return self.cumulative_sizes


class ChainDataset(IterableDataset):
    """The samples of iterable datasets one after the other."""

    def __init__(self, datasets):
        self.datasets = datasets

    def _checked(self):
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield dataset

    def __iter__(self):
        for dataset in self._checked():
            yield from dataset

    def __len__(self):
        return sum(len(dataset) for dataset in self._checked())


class Subset(Dataset):
    """Some samples of a dataset.

    >>> subset = wisp.utils.data.Subset("abcde", [3, 0])
    >>> [subset[0], subset[1]]
    ['d', 'a']
    """

    def __init__(self, dataset, indices):
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, idx):
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices):
        chosen = [self.indices[i] for i in indices]
        if callable(getattr(self.dataset, "__getitems__", None)):
            return self.dataset.__getitems__(chosen)
        return [self.dataset[index] for index in chosen]

    def __len__(self):
        return len(self.indices)


def random_split(dataset, lengths, generator=_C.default_generator):
    """Disjoint random subsets of given lengths, or of given fractions of the dataset if those sum up to 1.

    >>> [len(part) for part in wisp.utils.data.random_split(range(10), [0.75, 0.25])]
    [8, 2]
    """
    total = len(dataset)
    if abs(sum(lengths) - 1) < 1e-9 and sum(lengths) <= 1:
        lengths = _lengths_of_fractions(lengths, total)
    if sum(lengths) != total:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = _C._functions["randperm"](int(total), generator=generator).tolist()
    ends = accumulate(lengths)
    return [Subset(dataset, order[end - length : end]) for length, end in zip(lengths, ends)]


def _lengths_of_fractions(fractions, total):
    """What rounding down leaves is dealt out one by one, from the first part on."""
    for i, fraction in enumerate(fractions):
        if not 0 <= fraction <= 1:
            raise ValueError(f"Fraction at index {i} is not between 0 and 1")
    lengths = [int(total * fraction) for fraction in fractions]
    for i in range(total - sum(lengths)):
        lengths[i % len(lengths)] += 1
    for i, length in enumerate(lengths):
        if length == 0:
            import warnings

            warnings.warn(f"Length of split at index {i} is 0. This might result in an empty dataset.", stacklevel=3)
    return lengths
