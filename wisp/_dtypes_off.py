"""Names of dtypes that torch has and wisp has not. Programs mention them in tables and comparisons when they are imported,
so while wisp stands in for torch the names are there; no tensor has such a dtype, and asking for one is an error."""

_BITS = {"complex32": 32, "chalf": 32, "qint8": 8, "quint8": 8, "qint32": 32, "quint4x2": 8, "quint2x4": 8}
_BITS |= {"float4_e2m1fn_x2": 8, "bits8": 8, "bits16": 16}
_BITS |= {f"{sign}int{bits}": 8 for sign in ("", "u") for bits in range(1, 8)}


class AbsentDtype:
    """The name of a dtype that no tensor can have."""

    def __init__(self, name):
        self.name, self.itemsize = name, _BITS[name] // 8
        self.is_complex = name in ("complex32", "chalf")
        self.is_floating_point = name.startswith("float")
        self.is_signed = not name.startswith(("uint", "quint"))

    def __repr__(self):
        return f"torch.{self.name}"

    def __reduce__(self):
        return _named, (self.name,)


_MADE = {name: AbsentDtype(name) for name in _BITS}


def _named(name):
    return _MADE[name]


def add_to(module):
    """Gives a module the names, but leaves them out of dir(): who lists what there is does not find what is not."""
    found_before = module.__getattr__

    def find(name):
        return _MADE[name] if name in _MADE else found_before(name)

    module.__getattr__ = find
