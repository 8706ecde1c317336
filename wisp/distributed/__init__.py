"""What processes of one training share: so far, stores of keys and values.

Groups of processes that exchange tensors are not there yet, which is what ``is_available()`` says.
"""

from wisp.distributed._store import (
    DistError,
    DistNetworkError,
    DistStoreError,
    HashStore,
    PrefixStore,
    QueueEmptyError,
    Store,
)
from wisp.distributed._tcp_store import TCPStore

__all__ = [
    "DistError", "DistNetworkError", "DistStoreError", "HashStore", "PrefixStore", "QueueEmptyError", "Store",
    "TCPStore", "is_available",
]  # fmt: skip


def is_available():
    """False: groups of processes that exchange tensors are not there."""
    return False


def __getattr__(name):
    from wisp._missing import MissingName

    raise MissingName(__name__, name)
