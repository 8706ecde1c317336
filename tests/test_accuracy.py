"""float32 results of the functions of one number lie within a few units in the last place of the exact ones."""

import numpy as np
import pytest

import wisp

POINTWISE, COMPOSITE = 1 << 0, 1 << 7
INTERNAL = 1 << 5


def functions_of_one_number():
    """Public pointwise operators that take one tensor and nothing else that has no default."""
    for row in wisp._C._op_table()[0]:
        tensors = [p for p in row["params"] if p["type"].startswith("Tensor")]
        others = [p for p in row["params"] if not p["type"].startswith("Tensor") and p["default"] is None]
        if row["traits"] & POINTWISE and len(tensors) == 1 and not others and not row["homes"] & INTERNAL:
            yield row["name"]


# What does not map a float to a float by a formula: comparisons, copies and the like.
EXACT = {"isnan", "isinf", "isfinite", "isposinf", "isneginf", "signbit", "logical_not", "bitwise_not", "clone", "copy",
         "zero", "fill"}  # fmt: skip
# Units in the last place that are allowed where it is not 4, and why.
ALLOWED = {
    "lgamma": 64,  # near its zeros at negative numbers the result is a difference of nearly equal ones
    "digamma": 64,
    "gammaln": 64,
    "psi": 64,
    "erfinv": 8,
    "ndtri": 8,
    "log_ndtr": 8,
}
# Where the argument itself, rounded to float32, decides less than the result's last places.
NARROW = {"lgamma": (1e-30, 1e30), "digamma": (1e-3, 1e30)}


def probes():
    """Numbers of every magnitude and sign, the special ones, and many where functions have their features."""
    rng = np.random.default_rng(0)
    bits = np.concatenate([np.arange(0, 1 << 32, 65521, dtype=np.uint64), [0, 1, 1 << 31, (1 << 31) + 1]])
    spread = bits.astype(np.uint32).view(np.float32)
    near = rng.uniform(-20, 20, 20000).astype(np.float32)
    unit = rng.uniform(-1, 1, 20000).astype(np.float32)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1.17549435e-38, 3.4028235e38], np.float32)
    return np.concatenate([spread, near, unit, special])


def test_gelu_is_right_to_the_last_places_of_its_argument():
    x = np.concatenate([np.linspace(-12, 12, 200001), [-1e4, 1e4, 0.0]]).astype(np.float32)
    want = wisp.nn.functional.gelu(wisp.tensor(x.astype(np.float64))).numpy()
    distance = np.abs(wisp.nn.functional.gelu(wisp.tensor(x)).numpy() - want)
    assert (distance <= 2.0**-23 * np.abs(x)).all()


def ulps(got, want):
    """Distance in units in the last place of float32, of finite numbers; 0 where both are the same infinity or nan."""
    with np.errstate(all="ignore"):
        rounded = want.astype(np.float32)
        same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
        unit = np.maximum(np.spacing(np.abs(rounded)), np.float32(1e-45)).astype(np.float64)
        distance = np.abs(got.astype(np.float64) - want) / unit
        # The largest number and infinity are one step apart.
        edge = np.isinf(got) != np.isinf(rounded)
        overflows = edge & (np.abs(want) > 3.4e38) & (np.abs(got) > 3.4e38)
    return np.where(same | overflows, 0, np.where(np.isfinite(distance), distance, np.inf))


@pytest.mark.parametrize("name", sorted(set(functions_of_one_number()) - EXACT))
def test_float32(name):
    function = getattr(wisp, name, None) or getattr(wisp.special, name.removeprefix("special_"), None)
    function = function or getattr(wisp.nn.functional, name, None) or (lambda x: getattr(x, name)())
    x = probes()
    low, high = NARROW.get(name, (0, np.inf))
    if name in NARROW:
        x = x[(x > low) & (x < high)]
    got = function(wisp.tensor(x)).numpy()
    want = function(wisp.tensor(x.astype(np.float64))).numpy()
    if got.dtype != np.float32:
        pytest.skip("not a float")
    wrong = ulps(got, want)
    worst = int(np.argmax(wrong))
    assert wrong[worst] <= ALLOWED.get(name, 4), (
        f"{name}({x[worst]!r}) = {got[worst]!r}, want {want[worst]!r}: {wrong[worst]:.1f} ulp"
    )


def test_powers_of_two_out_of_range():
    """2**exponent may overflow or vanish where its product with the number does not."""
    x = wisp.tensor([1e-30, 2e-38, 1e30, 0.0, 1.0, -3.0])
    exponents = wisp.tensor([200, 200, -200, 10**6, -(10**6), 10**9])
    want = [1e-30 * 2.0**200, 2e-38 * 2.0**200, 1e30 * 2.0**-200, 0.0, 0.0, -float("inf")]
    assert wisp.ldexp(x, exponents).tolist() == pytest.approx(want, rel=1e-6)
    assert wisp.ldexp(wisp.tensor([5e-324], dtype=wisp.float64), wisp.tensor([1074 + 1023])).tolist() == [2.0**1023]
    assert wisp.ldexp(wisp.tensor([2.0**-24], dtype=wisp.float16), wisp.tensor([39])).tolist() == [2.0**15]
    assert wisp.ldexp(wisp.tensor([1 + 2j]), wisp.tensor([3])).tolist() == [8 + 16j]
    x = wisp.tensor([1.5], dtype=wisp.float64, requires_grad=True)
    wisp.ldexp(x, wisp.tensor([-3])).backward()
    assert x.grad.tolist() == [0.125]


def test_limits_of_narrow_dtypes():
    """A limit is rounded as elements are: one that equals it is not beyond it."""
    for dtype in (wisp.float16, wisp.bfloat16):
        x = wisp.tensor([0.3, -0.3, 0.31], dtype=dtype)
        assert wisp.nn.functional.hardshrink(x, 0.3).ne(0).tolist() == [False, False, True]


@pytest.mark.parametrize(("low", "high"), [(-1e308, 1e308), (-3e38, 3e38), (0, 1e39)])
def test_uniform_numbers_out_of_range(low, high):
    with pytest.raises(RuntimeError, match="out of bounds for float32"):
        wisp.empty(3).uniform_(low, high)
    assert wisp.empty(3, dtype=wisp.float64).uniform_(low / 4, high / 4).isfinite().all()
