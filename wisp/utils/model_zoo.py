"""Weights by URL, under the name they had before wisp.hub."""

from wisp.hub import load_state_dict_from_url as load_url

try:
    from tqdm import tqdm
except ImportError:

    class tqdm:
        """What shows how far a download is where tqdm is not installed: nothing."""

        def __init__(self, total=None, **settings):
            self.total, self.n = total, 0

        def update(self, n):
            self.n += n

        def close(self):
            """Nothing to close."""

        def __enter__(self):
            return self

        def __exit__(self, *error):
            self.close()


__all__ = ["load_url", "tqdm"]
