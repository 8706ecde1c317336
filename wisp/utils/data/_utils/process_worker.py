"""What a worker process does."""

import selectors
import signal
import time
from functools import partial
from multiprocessing.reduction import ForkingPickler

from wisp import _C, _shared_memory
from wisp.multiprocessing._parent import end_with_parent, is_gone
from wisp.utils.data._utils import transport
from wisp.utils.data._utils.generators import seed_all
from wisp.utils.data._utils.seeding import Seeding
from wisp.utils.data._utils.serving import Server, serve
from wisp.utils.data._utils.worker import SampleGenerators, WorkerInfo, become_worker


def run(number, tasks, results, count, plan, init_fn, progress, prefix, parent):
    """Fetches until it is told to stop, or its parent has gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's affair
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    end_with_parent(parent, last_words=_shared_memory.remove_folder)
    _C.set_num_threads(1)
    info = WorkerInfo(number, count, None, plan.dataset, SampleGenerators())
    become_worker(info)
    server = Server(info, plan, init_fn, progress, seed_all, partial(Seeding, put_back=False))
    prefix = f"{prefix}{number}-"
    try:
        _serve(server, tasks, results, prefix)
    except (EOFError, ConnectionError):  # the parent has closed its ends
        if not _was_told_to_stop(tasks):
            _tidy_up_after(parent)
    finally:
        _shared_memory.remove_files(prefix)


def _serve(server, tasks, results, prefix):
    with getattr(selectors, "PollSelector", selectors.SelectSelector)() as selector:
        selector.register(tasks, selectors.EVENT_READ)

        def receive(waiting):
            while not waiting or (waiting[-1][0] != "stop" and selector.select(0)):
                waiting.append(ForkingPickler.loads(tasks.recv_bytes()))

        serve(server, receive, partial(_fetch, server, results, prefix))


def _fetch(server, results, prefix, number, keys, skip):
    kind, value = server.result(keys, skip)
    try:
        transport.send(results, prefix, number, kind, value)
    except ConnectionError:  # the parent reads no more
        raise
    except Exception as error:  # noqa: BLE001  (it cannot be pickled)
        transport.send(results, prefix, number, *server.error(error, keys, "sent to the main process"))


def _was_told_to_stop(tasks):
    """Whether the parent has closed its ends because it wants no more, not because it was killed."""
    try:
        while ForkingPickler.loads(tasks.recv_bytes())[0] != "stop":
            pass
    except (EOFError, ConnectionError):
        return False
    return True


def _tidy_up_after(parent):
    """Removes the files of a parent that was killed; its pipes close a moment before it is gone."""
    for _ in range(100):
        if is_gone(parent):
            _shared_memory.remove_folder()
            return
        time.sleep(0.01)
