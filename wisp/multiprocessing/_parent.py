"""A process that ends when the one that started it is gone."""

import os
import threading
import time
from multiprocessing import parent_process

_INTERVAL = 0.5  # seconds


def expected_parent(context):
    """What those started from here by a context will know this process by: its id, or None if they are not its children."""
    return None if context.get_start_method() == "forkserver" else os.getpid()


def is_gone(parent):
    """Whether the process that started this one has ended; ``parent`` as given by expected_parent() there."""
    if parent is None:
        return not parent_process().is_alive()
    return os.getppid() != parent  # orphans have another one


def end_with_parent(parent, last_words=lambda: None):
    """From now on this process ends soon after its parent, however that ends, and whatever this one is doing.

    Args:
        parent: as given by expected_parent() there.
        last_words: called before the end.
    """

    def watch():
        while not is_gone(parent):
            time.sleep(_INTERVAL)
        last_words()
        os._exit(1)

    threading.Thread(target=watch, name="wisp-parent-watch", daemon=True).start()
