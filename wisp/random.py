"""The default stream of random numbers."""

from wisp._C import default_generator

__all__ = ["default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]


def manual_seed(seed):
    """Starts the default stream at this seed; returns its generator."""
    return default_generator.manual_seed(int(seed))


def seed():
    """Starts the default stream at a seed taken from the system; returns the seed."""
    return default_generator.seed()


def initial_seed():
    """The seed the default stream started at."""
    return default_generator.initial_seed()


def get_rng_state():
    """The state of the default stream, as a tensor of bytes."""
    return default_generator.get_state()


def set_rng_state(new_state):
    """Continues the default stream from a state given by get_rng_state()."""
    default_generator.set_state(new_state)


class fork_rng:
    """A with block (or a function decorated) that leaves the default stream as it found it."""

    def __init__(self, devices=None, enabled=True, _caller="fork_rng", _devices_kw="devices", device_type="cuda"):
        self.enabled = enabled

    def __enter__(self):
        self.state = get_rng_state() if self.enabled else None

    def __exit__(self, *exc):
        if self.enabled:
            set_rng_state(self.state)

    def __call__(self, function):
        from functools import wraps

        @wraps(function)
        def wrapped(*args, **kwargs):
            with fork_rng(enabled=self.enabled):
                return function(*args, **kwargs)

        return wrapped
