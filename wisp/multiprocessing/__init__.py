"""Python's multiprocessing, with tensors that travel in shared memory.

What is sent through a Queue, a Pipe or as an argument of a Process is not copied: the tensor's memory becomes shared
(``share_memory_()``), and both sides see what the other writes.
"""

import multiprocessing
from multiprocessing import *
from multiprocessing import process as _process

from wisp import _shared_memory
from wisp.multiprocessing.reductions import init_reductions
from wisp.multiprocessing.spawn import (
    ProcessContext,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

__all__ = ["ProcessContext", "ProcessExitedException", "ProcessRaisedException", "SpawnContext",
           "get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy", "spawn", "start_processes"]  # fmt: skip
__all__ += multiprocessing.__all__

_STRATEGIES = {"file_descriptor", "file_system"}
_strategy = "file_system"


def get_all_sharing_strategies():
    """The names that set_sharing_strategy() accepts."""
    return set(_STRATEGIES)


def get_sharing_strategy():
    """What set_sharing_strategy() was last given."""
    return _strategy


def set_sharing_strategy(new_strategy):
    """Accepted: memory is always shared by the names of files, which takes no descriptors and leaves no files behind."""
    global _strategy
    if new_strategy not in _STRATEGIES:
        raise AssertionError(f"expected one of {sorted(_STRATEGIES)}, got {new_strategy!r}")
    _strategy = new_strategy


init_reductions()
if not getattr(
    _process.current_process(), "_inheriting", False
):  # a process being spawned will use its parent's folder
    _shared_memory.prepare_folder()
