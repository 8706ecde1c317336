"""Whether programs can train on several machines at once: not yet. Processes of one machine: wisp.multiprocessing."""

__all__ = ["is_available"]


def is_available():
    """False: groups of processes that exchange tensors are not there."""
    return False


def __getattr__(name):
    from wisp._missing import MissingName

    raise MissingName(__name__, name)
