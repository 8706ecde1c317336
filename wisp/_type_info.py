"""finfo and iinfo: the limits of dtypes."""

from wisp import _C

# bits, exponents of the largest and smallest normal number, digits behind the point: all else follows.
_FLOATS = {_C.float16: (16, 15, -14, 10), _C.bfloat16: (16, 127, -126, 7), _C.float32: (32, 127, -126, 23),
           _C.float64: (64, 1023, -1022, 52), _C.float8_e4m3fn: (8, 8, -6, 3), _C.float8_e5m2: (8, 15, -14, 2),
           _C.float8_e4m3fnuz: (8, 7, -7, 3), _C.float8_e5m2fnuz: (8, 15, -15, 2), _C.float8_e8m0fnu: (8, 127, -127, 0)}  # fmt: skip
# What does not follow, or follows otherwise in PyTorch.
_EXCEPTIONS = {
    _C.float8_e4m3fn: {"max": 448.0, "min": -448.0},  # the bits of what would be the largest are NaN
    _C.float8_e5m2fnuz: {"eps": 0.125},
    _C.float8_e8m0fnu: {"min": 2.0**-127},  # there are no signs
}
_INTS = {_C.uint8: 8, _C.int8: 8, _C.int16: 16, _C.int32: 32, _C.int64: 64, _C.uint16: 16, _C.uint32: 32, _C.uint64: 64}


class _Info:
    """Facts of one dtype; equal if of the same one."""

    __slots__ = ("_dtype", "bits")

    @property
    def dtype(self):
        return str(self._dtype).partition(".")[2]

    def __eq__(self, other):
        return type(other) is type(self) and self._dtype is other._dtype

    def __hash__(self):
        return hash((type(self), self._dtype))

    def __reduce__(self):
        return type(self), (self._dtype,)


class finfo(_Info):
    """The limits of a floating-point dtype; of the default dtype if none is given.

    Attributes: ``bits``, ``eps``, ``max``, ``min``, ``tiny`` and ``smallest_normal`` (both the smallest positive normal
    number), ``resolution``, ``dtype`` (its name).

    >>> wisp.finfo(wisp.float32).eps
    1.1920928955078125e-07
    """

    __slots__ = ("eps", "max", "min", "resolution", "smallest_normal")

    def __init__(self, type=None):
        dtype = _C.get_default_dtype() if type is None else type
        if not isinstance(dtype, _C.dtype):
            raise TypeError(f"finfo(): argument 'type' must be wisp.dtype, not {dtype.__class__.__name__}")
        dtype = dtype.to_real() if dtype.is_complex else dtype
        if dtype not in _FLOATS:
            raise TypeError(f"wisp.finfo() requires a floating point input type. Use wisp.iinfo to handle '{dtype}'")
        self._dtype = dtype
        self.bits, top, bottom, digits = _FLOATS[dtype]
        self.eps = 2.0**-digits
        self.max = (2.0 - self.eps) * 2.0**top
        self.min = -self.max
        self.smallest_normal = 2.0**bottom
        self.resolution = 10.0 ** -int(digits * 0.30103)
        for name, value in _EXCEPTIONS.get(dtype, {}).items():
            setattr(self, name, value)

    @property
    def tiny(self):
        return self.smallest_normal

    def __repr__(self):
        names = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        return f"finfo({', '.join(f'{n}={getattr(self, n):g}' for n in names)}, dtype={self.dtype})"


class iinfo(_Info):
    """The limits of an integer dtype: ``bits``, ``max``, ``min``, ``dtype`` (its name).

    >>> wisp.iinfo(wisp.int8)
    iinfo(min=-128, max=127, dtype=int8)
    """

    __slots__ = ("max", "min")

    def __init__(self, type):
        if not isinstance(type, _C.dtype):
            raise TypeError(f"iinfo(): argument 'type' must be wisp.dtype, not {type.__class__.__name__}")
        if type not in _INTS:
            raise TypeError(f"wisp.iinfo() requires an integer input type. Use wisp.finfo to handle '{type}'")
        self._dtype, self.bits = type, _INTS[type]
        self.min = -(2 ** (self.bits - 1)) if type.is_signed else 0
        self.max = 2 ** (self.bits - type.is_signed) - 1

    def __repr__(self):
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


finfo.__module__ = iinfo.__module__ = "wisp"
