"""Calls made by several threads at once."""

import threading


def together(calls):
    """Makes all calls, each on a thread of its own, and waits for them."""
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
