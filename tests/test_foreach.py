"""Operators on lists of tensors: wisp._foreach_*."""

import pytest

import wisp
from tests import expressions

X = "[L.tensor([1.0, -2.0]), L.tensor([[3.0], [0.5]])]"
Y = "[L.tensor([2.0, 4.0]), L.tensor([[5.0], [8.0]])]"
UNARY = [
    "abs",
    "acos",
    "asin",
    "atan",
    "ceil",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "expm1",
    "floor",
    "frac",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "neg",
    "reciprocal",
    "round",
    "rsqrt",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
]
CASES = (
    "\n".join(f"L._foreach_{name}{end}(X)" for name in UNARY for end in ("", "_"))
    + """
L._foreach_zero_(X)
L._foreach_copy_(X, Y)
L._foreach_clone(X)
L._foreach_max(X)
L._foreach_norm(X)
L._foreach_norm(X, 1)
L._foreach_norm(X, ord=float('inf'), dtype=L.float64)
L._foreach_mm([L.eye(2)], [L.ones(2, 3)])
L._foreach_max([L.ones(0)])
L._foreach_exp([])
L._foreach_exp(L.ones(2, 2))
L._foreach_exp([1])
L._foreach_pow(2, X)
L._foreach_pow_(2, X)
L._foreach_pow(X, exponent=Y)
L._foreach_addcmul(X, Y, Y)
L._foreach_addcmul(X, Y, Y, 2)
L._foreach_addcmul(X, Y, Y, value=2)
L._foreach_addcdiv(X, Y, Y, [2, 3])
L._foreach_addcdiv_(X, Y, Y, scalars=[2, 3])
L._foreach_addcmul(X, Y, Y, L.tensor([2.0, 3.0]))
L._foreach_addcmul(X, Y, Y, L.tensor([2.0]))
L._foreach_addcmul(X, Y, Y, L.tensor(2.0))
L._foreach_lerp(X, Y, 0.5)
L._foreach_lerp(X, Y, [0.5, 0.25])
L._foreach_lerp_(X, Y, weights=X)
L._foreach_lerp(X, Y, weight=L.tensor(0.5))
L._foreach_add(X, Y, alpha=2)
L._foreach_sub_(X, other=Y, alpha=2)
L._foreach_add(X, L.tensor(2.0), alpha=3)
L._foreach_add(X, 1, alpha=3)
L._foreach_add(X, [1])
L._foreach_add(X, Y[:1])
L._foreach_add(X, L.tensor([2.0]))
L._foreach_add(X, 'a')
L._foreach_add([], 1)
L._foreach_mul(X, 2j)
L._foreach_add_([L.tensor(1)], [L.tensor(1.5)])
L._foreach_sub([L.tensor(True)], [L.tensor(True)])
"""
)
CASES += "\n".join(
    f"L._foreach_{name}{end}(X, {other})"
    for name in ("add", "sub", "mul", "div", "pow", "maximum", "minimum", "clamp_min", "clamp_max")
    for end in ("", "_")
    for other in ("2", "[2, 3]", "Y")
)
CASES = CASES.replace("X", X).replace("Y", Y)
ORACLES = {"foreach": expressions.table(CASES)}


@pytest.mark.parametrize("expression", expressions.split(CASES))
def test_as_pytorch(expression):
    expressions.check("foreach", ORACLES["foreach"], expression)


def test_all_names_are_there():
    from wisp import _foreach

    names = [name for name in vars(_foreach) if name.startswith("_foreach_")]
    assert len(names) == 91 and all(getattr(wisp, name) is getattr(_foreach, name) for name in names)
    assert not hasattr(wisp, "_foreach_something")


def test_gradients_and_what_is_written():
    x = [wisp.ones(2, requires_grad=True), wisp.full((3,), 2.0, requires_grad=True)]
    sum(t.sum() for t in wisp._foreach_mul(x, [3.0, x[0][0]])).backward()
    assert x[0].grad.tolist() == [9.0, 3.0] and x[1].grad.tolist() == [1.0, 1.0, 1.0]
    with wisp.no_grad():
        written = wisp._foreach_add_(x, 1)
    assert written is x and x[1].tolist() == [3.0, 3.0, 3.0]
