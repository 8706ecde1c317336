"""How tensors look when printed.

Only the elements that are shown are read: they become nested lists, with ``...`` where some are left out, and
everything after that works on the lists.
"""

import sys
from math import inf, isfinite

from wisp import _C

_PROFILES = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": inf, "edgeitems": 3, "linewidth": 80},
}


class PrintOptions:
    """What set_printoptions() changes."""

    __slots__ = ("edgeitems", "linewidth", "precision", "sci_mode", "threshold")

    def __init__(self):
        self.sci_mode = None
        self.update(_PROFILES["default"])

    def update(self, options):
        for name, value in options.items():
            setattr(self, name, value)

    def __repr__(self):
        return f"PrintOptions({', '.join(f'{name}={getattr(self, name)!r}' for name in self.__slots__)})"


PRINT_OPTS = PrintOptions()


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None):
    """Sets how tensors are printed.

    Args:
        precision: digits after the decimal point (4).
        threshold: tensors with more elements than this are abbreviated (1000).
        edgeitems: how many elements an abbreviated dimension shows at either end (3).
        linewidth: characters per line (80).
        profile: ``"default"``, ``"short"`` or ``"full"``, to start from.
        sci_mode: scientific notation always (True), never (False), or where numbers call for it (None).

    >>> wisp.set_printoptions(precision=2)
    >>> wisp.tensor([1.12345])
    tensor([1.12])
    >>> wisp.set_printoptions(profile="default")
    """
    if profile is not None:
        if profile not in _PROFILES:
            raise ValueError(f"set_printoptions(): profile must be one of {', '.join(_PROFILES)}, got {profile!r}")
        PRINT_OPTS.update(_PROFILES[profile])
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    PRINT_OPTS.update({name: value for name, value in given.items() if value is not None})
    PRINT_OPTS.sci_mode = sci_mode


def get_printoptions():
    """The options in force, as keywords for set_printoptions()."""
    return {name: getattr(PRINT_OPTS, name) for name in PrintOptions.__slots__}


class printoptions:
    """set_printoptions() for a with block."""

    def __init__(self, **options):
        self.options = options

    def __enter__(self):
        self.previous = get_printoptions()
        set_printoptions(**self.options)

    def __exit__(self, *exc):
        set_printoptions(**self.previous)


# --- which elements are shown


def _shown(t, edge):
    """The elements as nested lists; at most `edge` at either end of a dimension, with ... in between."""
    if t.dim() == 0:
        return t.item()
    n = t.shape[0]
    if t.dim() == 1:
        return t.tolist() if n <= 2 * edge else t[:edge].tolist() + [...] + t[n - edge :].tolist()
    if n <= 2 * edge:
        return [_shown(t[i], edge) for i in range(n)]
    return [_shown(t[i], edge) for i in range(edge)] + [...] + [_shown(t[i], edge) for i in range(n - edge, n)]


def _flat(values):
    if not isinstance(values, list):
        yield values
        return
    for value in values:
        if isinstance(value, list):
            yield from _flat(value)
        elif value is not ...:
            yield value


# --- how one element looks


class _Words:
    """Ints and bools."""

    def __init__(self, values):
        self.width = max(map(len, map(str, values)), default=1)

    def __call__(self, value):
        return str(value).rjust(self.width)


class _Reals:
    """Floats: all in one notation, padded to the width of the widest number that is finite and not zero."""

    def __init__(self, values):
        numbers = [v for v in values if v != 0 and isfinite(v)]
        self.spec, self.point, self.width = ".0f", ".", 1
        if not numbers:
            return
        if _scientific(numbers):
            self.spec, self.point = f".{PRINT_OPTS.precision}e", ""
        elif not all(v.is_integer() for v in numbers):
            self.spec, self.point = f".{PRINT_OPTS.precision}f", ""
        self.width = max(1, *(len(self.text(v)) for v in numbers))

    def text(self, value):
        return format(value, self.spec) + (self.point if isfinite(value) else "")

    def __call__(self, value):
        return self.text(value).rjust(self.width)


def _scientific(numbers):
    if PRINT_OPTS.sci_mode is not None:
        return PRINT_OPTS.sci_mode
    sizes = [abs(v) for v in numbers]
    low, high = min(sizes), max(sizes)
    return high / low > 1000.0 or high > 1.0e8 or low < 1.0e-4


class _Complexes:
    """Real and imaginary parts, each in its own notation."""

    def __init__(self, values):
        values = list(values)
        self.real, self.imag = _Reals([v.real for v in values]), _Reals([v.imag for v in values])
        self.width = self.real.width + self.imag.width + 1

    def __call__(self, value):
        imag = self.imag.text(value.imag) + "j"
        return self.real(value.real) + ("" if imag[0] in "+-" else "+") + imag


def _style(dtype, values):
    if dtype.is_complex:
        return _Complexes(values)
    return _Reals(values) if dtype.is_floating_point else _Words(values)


# --- how they are put together


def _layout(values, depth, indent, style):
    """Nested lists of `depth` levels as text whose lines after the first are indented."""
    if depth == 0:
        return style(values)
    if depth > 1:
        parts = ["..." if v is ... else _layout(v, depth - 1, indent + 1, style) for v in values]
        return "[" + ("," + "\n" * (depth - 1) + " " * (indent + 1)).join(parts) + "]"
    dots = " ..." if len(values) > 1 else "..."
    parts = [dots if v is ... else style(v) for v in values]
    per_line = max(1, (PRINT_OPTS.linewidth - indent) // (style.width + 2))
    lines = [", ".join(parts[i : i + per_line]) for i in range(0, len(parts), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _contents(t, indent):
    if t.is_meta:
        return "..."
    if t.numel() == 0:
        return "[]"
    values = _shown(t, PRINT_OPTS.edgeitems) if t.numel() > PRINT_OPTS.threshold else t.tolist()
    return _layout(values, t.dim(), indent, _style(t.dtype, _flat(values)))


def _is_default(dtype):
    default = _C.get_default_dtype()
    return dtype in (default, _C.complex128 if default is _C.float64 else _C.complex64, _C.int64, _C.bool)


def _suffixes(t):
    """What is said behind the numbers."""
    if t.is_meta:
        yield f"device={str(t.device)!r}"
        yield f"size={tuple(t.shape)}"
        if t.dtype is not _C.get_default_dtype():
            yield f"dtype={t.dtype}"
    elif t.numel() == 0:
        # Nothing shown tells the dtype, so int64 and bool are named too.
        if t.dim() != 1:
            yield f"size={tuple(t.shape)}"
        if t.dtype is not _C.get_default_dtype():
            yield f"dtype={t.dtype}"
    else:
        if not PRINT_OPTS.edgeitems:
            yield f"size={tuple(t.shape)}"
        if not _is_default(t.dtype):
            yield f"dtype={t.dtype}"
    if t.grad_fn is not None:
        yield f"grad_fn=<{type(t.grad_fn).__name__}>"
    elif t.requires_grad:
        yield "requires_grad=True"
    forward_ad = sys.modules.get("wisp.autograd.forward_ad")  # which nobody has used where it is not there
    tangent = None if forward_ad is None else forward_ad.unpack_dual(t).tangent
    if tangent is not None:
        yield f"tangent={tangent}"


def _append(text, suffixes, indent):
    """Adds suffixes, each on a new line if the current one has no room for it."""
    room = PRINT_OPTS.linewidth - (len(text) - text.rfind("\n") + 1)
    for suffix in suffixes:
        if len(suffix) + 2 > room:
            text += ",\n" + " " * indent + suffix
            room = PRINT_OPTS.linewidth - indent - len(suffix)
        else:
            text += ", " + suffix
            room -= len(suffix) + 2
    return text + ")"


def tensor_str(t, name=None):
    """repr() of a tensor; it begins with the name of its class unless another is given."""
    prefix = f"{name or ('tensor' if type(t) is _C.Tensor else type(t).__name__)}("
    return _append(prefix + _contents(t.detach(), len(prefix)), _suffixes(t), len(prefix))
