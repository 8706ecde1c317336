"""What lazy evaluation has done, for tests."""

import wisp
from wisp import _C


def pending(*tensors):
    """How many of these have not been computed yet."""
    return sum(_C._is_pending(t) for t in tensors)


def counts_of(f):
    """The result of a function, and how it was run."""
    wisp.lazy.run()
    before = wisp.lazy.counts()
    out = f()
    wisp.lazy.run()
    return out, {name: count - before[name] for name, count in wisp.lazy.counts().items()}


def checked_product(x):
    """With an assertion that pytest does not rewrite."""
    assert x.sum() < 1e9
    return x * x.sum().item()
