"""How long threads spin while they wait for each other, which has to be said before the native core is loaded."""

import os

_SPINS = "GOMP_SPINCOUNT"


class briefly:
    """Threads that are started by libraries loaded inside spin for some hundredths of a millisecond, then sleep, unless the
    user has said otherwise.

    libgomp's default, five to ten milliseconds, is spent in every parallel loop if two threads share a processor: while other
    programs run, or until the system has moved one of them. With this one, models on an idle machine take as long as before.
    """

    def __enter__(self):
        self._sets = not {_SPINS, "OMP_WAIT_POLICY"} & os.environ.keys()
        if self._sets:
            os.environ[_SPINS] = "2000"

    def __exit__(self, *error):
        if self._sets:  # processes that are started from here decide for themselves
            del os.environ[_SPINS]
