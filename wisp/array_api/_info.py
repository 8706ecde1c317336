"""What the namespace can do, for programs to ask."""

import wisp
from wisp.array_api._dtypes import dtypes_of_kind


class Info:
    """The answer of `__array_namespace_info__()`."""

    def capabilities(self):
        """Which optional parts of the standard there are."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self):
        """Where arrays are made."""
        return wisp.device("cpu")

    def devices(self):
        """Where arrays can be."""
        return [wisp.device("cpu")]

    def default_dtypes(self, *, device=None):
        """The dtypes of arrays made without one."""
        real = wisp.get_default_dtype()
        return {
            "real floating": real,
            "complex floating": wisp.complex128 if real == wisp.float64 else wisp.complex64,
            "integral": wisp.int64,
            "indexing": wisp.int64,
        }

    def dtypes(self, *, device=None, kind=None):
        """The dtypes of a kind, by name."""
        return dtypes_of_kind(kind)


def __array_namespace_info__():
    """An object that tells what the namespace can do."""
    return Info()
