"""The loader: batches of a dataset, in some order, fetched here or by workers."""

from functools import partial
from itertools import chain, islice, repeat
from types import GenericAlias

from wisp.utils.data._utils import state
from wisp.utils.data._utils.collate import default_collate, default_convert
from wisp.utils.data._utils.failure import place
from wisp.utils.data._utils.fetch import END, Plan, sized
from wisp.utils.data._utils.seeding import Seeding
from wisp.utils.data._utils.worker import get_worker_info
from wisp.utils.data.dataset import IterableDataset
from wisp.utils.data.sampler import BatchSampler, RandomSampler, SequentialSampler, drawn_seed

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class DataLoader:
    """Batches of a dataset; an epoch is one loop over the loader.

    >>> loader = wisp.utils.data.DataLoader([1, 2, 3], batch_size=2)
    >>> for batch in loader:
    ...     print(batch)
    tensor([1, 2])
    tensor([3])

    Args:
        dataset: samples by key (with ``__getitem__`` and ``__len__``), or an IterableDataset.
        batch_size: samples per batch; None gives single samples.
        shuffle: whether every epoch has another random order.
        sampler: the keys of samples in order, instead of ``shuffle``.
        batch_sampler: lists of keys, instead of all of the above and ``drop_last``.
        num_workers: how many workers fetch; 0 fetches in the loop itself.
        collate_fn: makes a batch of a list of samples; see default_collate.
        pin_memory, pin_memory_device: accepted: there is no other device to copy to.
        drop_last: whether a last batch that is not full is left out.
        timeout: seconds to wait for a batch of a worker before giving up; 0 waits for ever.
        worker_init_fn: called with the worker's number in each worker as it starts.
        multiprocessing_context: how worker processes start: "fork", "spawn", "forkserver", or a context.
        generator: where the order and the seeds come from.
        prefetch_factor: how many batches each worker has in hand; 2 by default.
        persistent_workers: whether workers live on for the next epoch.
        in_order: whether batches come in the order of the sampler, or as soon as they are ready.
        worker_type: "process", or "thread" for workers inside this process: they start at once and share the dataset,
            and suit samples that wait for files or the network.

    The random numbers a sample sees depend on the epoch's seed and the sample's key alone: any number of workers gives
    the same batches. ``state_dict()`` and ``load_state_dict()`` stop and resume in the middle of an epoch.
    """

    __class_getitem__ = classmethod(GenericAlias)
    _initialized = False
    _multiprocessing_context = None

    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0,
                 collate_fn=None, pin_memory=False, drop_last=False, timeout=0, worker_init_fn=None,
                 multiprocessing_context=None, generator=None, *, prefetch_factor=None, persistent_workers=False,
                 pin_memory_device="", in_order=True, worker_type="process"):  # fmt: skip
        self.dataset, self.num_workers, self.timeout = dataset, num_workers, timeout
        self.pin_memory, self.pin_memory_device, self.in_order = pin_memory, pin_memory_device, in_order
        self.worker_init_fn, self.generator = worker_init_fn, generator
        self.worker_type, self.persistent_workers = worker_type, persistent_workers
        self.prefetch_factor = 2 if prefetch_factor is None and num_workers > 0 else prefetch_factor
        self._check_workers()
        self.multiprocessing_context = multiprocessing_context
        self._iterable = isinstance(dataset, IterableDataset)
        self._set_order(batch_size, shuffle, sampler, batch_sampler, drop_last)
        self.collate_fn = collate_fn or (default_collate if self._auto_collation else default_convert)
        self._iterator = self._epoch = self._resumed = self._reported_length = None
        self._epochs = 0
        self._initialized = True
        self.check_worker_number_rationality()

    # --- arguments

    def _check_workers(self):
        if self.num_workers < 0:
            raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
        if self.timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if self.num_workers == 0 and self.prefetch_factor is not None:
            raise ValueError("prefetch_factor option could only be specified in multiprocessing."
                             "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None.")  # fmt: skip
        if self.num_workers > 0 and self.prefetch_factor <= 0:
            raise ValueError(f"prefetch_factor option should be positive, but got {self.prefetch_factor}")
        if self.persistent_workers and self.num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")
        if self.worker_type not in ("process", "thread"):
            raise ValueError(f'worker_type should be "process" or "thread", but got {self.worker_type!r}')

    def _set_order(self, batch_size, shuffle, sampler, batch_sampler, drop_last):
        if self._iterable:
            self._check_iterable(shuffle, sampler, batch_sampler)
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None:
            sampler = self._default_sampler(shuffle)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last, self.sampler, self.batch_sampler = (
            batch_size,
            drop_last,
            sampler,
            batch_sampler,
        )

    def _check_iterable(self, shuffle, sampler, batch_sampler):
        given = {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}
        for name, value in given.items():
            if value is not None:
                raise ValueError(
                    f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}"
                )

    def _default_sampler(self, shuffle):
        if self._iterable:
            return _Endless()
        return RandomSampler(self.dataset, generator=self.generator) if shuffle else SequentialSampler(self.dataset)

    @property
    def multiprocessing_context(self):
        """How worker processes start; None is Python's default."""
        return self._multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context):
        if context is not None:
            context = self._checked_context(context)
        self.__dict__["_multiprocessing_context"] = context

    def _checked_context(self, context):
        import multiprocessing

        if self.num_workers == 0:
            raise ValueError("multiprocessing_context can only be used with multi-process loading (num_workers > 0), "
                             f"but got num_workers={self.num_workers}")  # fmt: skip
        methods = multiprocessing.get_all_start_methods()
        if isinstance(context, str) and context not in methods:
            raise ValueError(f"multiprocessing_context option should specify a valid start method in {methods!r}, "
                             f"but got multiprocessing_context={context!r}")  # fmt: skip
        context = multiprocessing.get_context(context) if isinstance(context, str) else context
        if not isinstance(context, multiprocessing.context.BaseContext):
            raise TypeError("multiprocessing_context option should be a valid context object or a string specifying "
                            f"the start method, but got multiprocessing_context={context}")  # fmt: skip
        return context

    def __setattr__(self, name, value):
        if self._initialized and name in _FIXED:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    def __getstate__(self):
        """For copies, which begin anew: an epoch that goes on cannot be copied."""
        return {**self.__dict__, "_iterator": None, "_epoch": None}

    def check_worker_number_rationality(self):
        """Warns if there are more worker processes than processors to run them."""
        import os

        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        if self.worker_type == "process" and self.num_workers > (cores or 1):
            import warnings

            warnings.warn(
                f"This DataLoader will create {self.num_workers} worker processes in total. Our suggested max number "
                f"of worker in current system is {cores}, more may be slower.", stacklevel=3)  # fmt: skip

    # --- epochs

    @property
    def _auto_collation(self):
        return self.batch_sampler is not None

    @property
    def _index_sampler(self):
        return self.batch_sampler if self._auto_collation else self.sampler

    def __len__(self):
        if not self._iterable:
            return len(self._index_sampler)
        length = len(self.dataset)
        self._reported_length = length
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)

    def __iter__(self):
        if not self.persistent_workers:
            return self._get_iterator()
        if self._iterator is None or self._iterator.closed:
            self._iterator = self._get_iterator()
        else:
            self._iterator.begin(self._begin())
        return self._iterator

    def _get_iterator(self):
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        from wisp.utils.data._utils.workers import WorkersIter

        return WorkersIter(self)

    def _begin(self):
        """The next epoch, or what is left of the one to be resumed."""
        with state.epoch_to_resume(self) as resumed:
            start = state.sampling_state(self)
            seed = drawn_seed(self.generator)
            keys = repeat(None) if self._iterable else iter(self._index_sampler)
            if self._auto_collation and not self._iterable:
                keys = map(sized, keys)
            keys = chain(list(islice(keys, 1)), keys)  # samplers draw when they are first asked
            expected = None if self._reported_length is None else len(self)
            epoch = Epoch(self._epochs, seed, start, keys, expected)
            if resumed is not None:
                epoch.skip(resumed["batches"], not self._iterable)
        self._epoch = epoch
        self._epochs = epoch.number + 1
        return epoch

    def state_dict(self):
        """Where the latest epoch stands: the order it is in, how many batches were given, the generators.

        A loader of the same arguments that loads it goes on with the next batch. An IterableDataset is run up to that
        place again, without putting batches together.
        """
        return state.state_dict(self)

    def load_state_dict(self, state_dict):
        """Takes up a state given by state_dict(): the next loop over the loader goes on from there.

        The generators the loader draws from (the default one, if it has none of its own) are put back at once.
        """
        state.load_state_dict(self, state_dict)


class _Endless:
    """The keys of an IterableDataset: it needs none."""

    def __iter__(self):
        return repeat(None)


class Epoch:
    """One pass over a loader: its seed, the state of sampling it began with, the keys to come, the batches given, and how
    many the user expects, having asked for the length of a stream."""

    def __init__(self, number, seed, start, keys, expected=None):
        self.number, self.seed, self.start, self.keys, self.expected = number, seed, start, keys, expected
        self.given, self.to_skip, self.finished = 0, 0, False

    def skip(self, batches, by_key):
        """Leaves out what was given before. Without keys the fetcher has to do it."""
        self.given = batches
        if by_key:
            next(islice(self.keys, batches, batches), None)
        else:
            self.to_skip = batches


class _BaseDataLoaderIter:
    """One epoch as an iterator. It keeps no loader, which may be keeping it: each can go when nobody uses it."""

    def __init__(self, loader):
        self._plan, self._index_sampler = Plan(loader), loader._index_sampler
        self.begin(loader._begin())

    def begin(self, epoch):
        """Starts on an epoch."""
        self._epoch = epoch

    def __iter__(self):
        return self

    def __len__(self):
        return len(self._index_sampler)

    def __next__(self):
        try:
            batch = self._next_data()
        except StopIteration:
            self._epoch.finished = True
            raise
        self._epoch.given += 1
        if self._epoch.expected is not None and self._epoch.given > self._epoch.expected:
            self._warn_of_length()
        return batch

    def _warn_of_length(self):
        import warnings

        warnings.warn(
            f"Length of IterableDataset {self._plan.dataset} was reported to be {len(self._plan.dataset)} (when "
            f"accessing len(dataloader)), but {self._epoch.given} batches have been fetched.", stacklevel=3)  # fmt: skip


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """Fetches in the loop itself."""

    def begin(self, epoch):
        super().begin(epoch)
        self._progress = [0]
        self._fetcher = self._plan.fetcher(partial(Seeding, put_back=True), self._progress)
        for _ in range(epoch.to_skip):
            self._fetcher.fetch(None, epoch.seed, skip=True)

    def _next_data(self):
        keys = next(self._epoch.keys)
        try:
            batch = self._fetcher.fetch(keys, self._epoch.seed)
        except Exception as error:
            if hasattr(error, "add_note"):  # from Python 3.11 on
                error.add_note(f"DataLoader: {place(keys, self._progress[0], self._plan)}")
            raise
        if batch is END:
            raise StopIteration
        return batch


def __getattr__(name):
    if name == "_MultiProcessingDataLoaderIter":  # what PyTorch calls an iterator with workers
        from wisp.utils.data._utils.workers import WorkersIter

        return WorkersIter
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
