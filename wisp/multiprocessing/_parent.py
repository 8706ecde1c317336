"""A process that ends when the one that started it is gone."""

import os
import threading
import time
from multiprocessing import parent_process

_INTERVAL = 0.5  # seconds


def is_gone(started_by):
    """Whether the parent, whose id was ``started_by``, has ended: orphans have another one."""
    parent = parent_process()
    return os.getppid() != started_by or (parent is not None and not parent.is_alive())


def end_with_parent(last_words=lambda: None):
    """From now on this process ends soon after its parent, however that ends, and whatever this one is doing."""

    def watch(started_by=os.getppid()):  # noqa: B008  (the id as of now)
        while not is_gone(started_by):
            time.sleep(_INTERVAL)
        last_words()
        os._exit(1)

    threading.Thread(target=watch, name="wisp-parent-watch", daemon=True).start()
