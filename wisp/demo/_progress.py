"""A line in the terminal that says how far a long work is."""

import shutil
import sys
import time


class Progress:
    """How many of ``total`` samples are done, as a line that is written over and over.

    It is shown if the stream is a terminal, and not at all otherwise.

    >>> with wisp.demo._progress.Progress(100) as progress:
    ...     for _ in range(10):
    ...         progress.advance(10, "epoch 1", loss=0.5)
    >>> progress.done
    100
    """

    def __init__(self, total, stream=None, often=0.1):
        self.total, self.done, self.often = total, 0, often
        self.stream = sys.stderr if stream is None else stream
        self.shown = self.stream.isatty()
        self.started = self.last = time.perf_counter()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.shown:
            self.stream.write("\n")
            self.stream.flush()

    @property
    def seconds(self):
        """The time from the beginning to the last advance."""
        return self.last - self.started

    def advance(self, count, label="", **numbers):
        """Notes that so many more samples are done, and what there is to say about them."""
        self.done += count
        now = time.perf_counter()
        due = now - self.last >= self.often or self.done >= self.total
        if due or not self.shown:
            self.last = now
        if due and self.shown:
            self.stream.write("\r" + self._line(label, numbers) + "\x1b[K")
            self.stream.flush()

    def _line(self, label, numbers):
        rate = self.done / max(self.seconds, 1e-9)
        left = (self.total - self.done) / rate if rate else 0
        words = [label, *(f"{name} {value}" for name, value in numbers.items())]
        words += [f"{rate:,.0f} samples/s", f"{left:.0f} s left"]
        text = "  ".join(filter(None, words))
        columns = shutil.get_terminal_size().columns - 1
        width = min(30, columns - len(text) - 3)
        if width < 5:
            return text[:columns]
        full = round(width * min(self.done / self.total, 1))
        return f"[{'#' * full}{'.' * (width - full)}] {text}"
