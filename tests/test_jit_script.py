"""Scripts of functions: compiled and called as written, the results agree."""

import math
from typing import NamedTuple

import pytest

import wisp
import wisp.nn.functional as F
from wisp import Tensor
from wisp.jit import script

ONES = wisp.ones(2, 3)
RAMP = wisp.arange(6.0).reshape(2, 3)


class Point(NamedTuple):
    x: Tensor
    n: int = 3


def same(a, b):
    """Equal values of equal types, all the way down."""
    if isinstance(a, Tensor):
        return (
            isinstance(b, Tensor)
            and a.dtype == b.dtype
            and a.shape == b.shape
            and wisp.allclose(a, b, rtol=0, atol=0, equal_nan=True)
        )
    if isinstance(a, (tuple, list)):
        return isinstance(b, (tuple, list)) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    return type(a) is type(b) and repr(a) == repr(b)


def check(fn, *args):
    """Calls both on inputs of their own."""

    def fresh():
        return [a.clone() if isinstance(a, Tensor) else list(a) if isinstance(a, list) else a for a in args]

    compiled = script(fn)
    expected, got = fn(*fresh()), compiled(*fresh())
    assert same(expected, got), f"{expected} != {got}\n{compiled.graph}"
    return compiled


# --- control flow


def if_else(x, n: int):
    if n > 2:
        y = x + 1
    elif n == 2:
        y = x * 2
    else:
        y = x - 1
    return y


def early_returns(x, n: int):
    if n == 0:
        return x
    if n == 1:
        return x + 1
    elif n == 2:
        y = x * 2
        if y.sum() > 100:
            return y
    else:
        y = -x
    return y + 10


def for_range(x, n: int):
    total = 0
    for i in range(1, n, 2):
        total += i
        x = x + i
    return x, total


def break_continue(n: int):
    found: list[int] = []
    for i in range(n):
        if i % 2 == 0:
            continue
        if i > 7:
            break
        found.append(i)
    return found


def return_in_loops(x, n: int):
    for i in range(n):
        for j in range(n):
            if i * j == 6:
                return x + i * 10 + j
            if j > i:
                break
        x = x + 1
    return x


def while_loop(n: int):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
        if steps > 100:
            break
    return steps


def while_true(n: int):
    while True:
        n -= 3
        if n < 0:
            return n


def over_list(xs: list[float]):
    total = 0.0
    for x in xs:
        if x < 0:
            continue
        total += x
    return total


def over_tensor(x):
    out = []
    for row in x:
        out.append(row.sum())
    return out


def over_zip(a: list[int], b: list[float]):
    total = 0.0
    for i, (x, y) in enumerate(zip(a, b)):
        total += i * x * y
    for x in reversed(a):
        total = total * 2 + x
    return total


def over_dict(d: dict[str, int]):
    keys, total = "", 0
    for k, v in d.items():
        keys += k
        total += v
    for k in d:
        keys += k
    return keys, total, list(d.values())


def over_tuple(x):
    for factor in (1, 2.5, x):
        x = x * factor
    return x


def unrolled_exit(x, n: int):
    for k in (1, 2, 3):
        if n == k:
            return x * k
        if n > 10:
            break
        x = x + k
    return x


def defined_later(x, flag: bool):
    if flag:
        y = x + 1
    else:
        raise ValueError("no flag")
    return y


def optional_state(x, n: int):
    state: Tensor | None = None
    for i in range(n):
        if state is None:
            state = x
        else:
            state = state + i
    return state


def none_without_annotation(x, n: int):
    state = None
    for i in range(n):
        state = x * i if state is None else state + x
    return state


def boolean_operators(x: Tensor | None, n: int):
    if x is not None and x.dim() == 2 and n > 0:
        return x.sum() + n
    if x is None or n == 0:
        return wisp.zeros(())
    return x.sum()


CONTROL = [
    (if_else, RAMP, 1), (if_else, RAMP, 2), (if_else, RAMP, 3),
    (early_returns, RAMP, 0), (early_returns, RAMP, 1), (early_returns, RAMP, 2), (early_returns, RAMP * 10, 2),
    (early_returns, RAMP, 3), (for_range, RAMP, 8), (for_range, RAMP, 0), (break_continue, 5), (break_continue, 20),
    (return_in_loops, RAMP, 2), (return_in_loops, RAMP, 6), (while_loop, 27), (while_loop, 1), (while_true, 10),
    (over_list, [1.0, -2.0, 3.5]), (over_list, []), (over_tensor, RAMP), (over_zip, [1, 2, 3], [0.5, 0.25]),
    (over_dict, {"a": 1, "b": 2}), (over_tuple, RAMP), (unrolled_exit, RAMP, 2), (unrolled_exit, RAMP, 7),
    (unrolled_exit, RAMP, 11), (defined_later, RAMP, True), (optional_state, RAMP, 0), (optional_state, RAMP, 3),
    (none_without_annotation, RAMP, 0), (none_without_annotation, RAMP, 3),
    (boolean_operators, RAMP, 1), (boolean_operators, RAMP, 0), (boolean_operators, None, 1), (boolean_operators, RAMP[0], 1),
]  # fmt: skip


@pytest.mark.parametrize("case", CONTROL, ids=lambda c: f"{c[0].__name__}-{c[-1]}"[:40])
def test_control_flow(case):
    check(*case)


# --- plain values


def integers(a: int, b: int):
    return a + b, a - b, a * b, a // b, a % b, -a, a & b, a | b, a ^ b, a << 2, a >> 1, ~a, abs(a), divmod(a, b)


def floats(a: float, b: float):
    return a + b, a / b, a // b, a % b, a**b if a > 0 else 0.0, math.floor(a), math.ceil(b), int(a), round(a, 1)


def mixed(a: int, b: float, c: bool):
    return a + b, a * c, a < b, a == b, b if c else 1.5, c + c, max(a, 3), min(b, 2.0), float(a), bool(a), c and a > 1


def math_functions(x: float):
    return (math.sqrt(x), math.exp(x), math.log(x), math.log2(x), math.sin(x), math.atan2(x, 2.0), math.pi, math.tanh(x),
            math.isnan(x), math.log1p(x), math.pow(x, 3), math.inf, math.gcd(12, 18), math.hypot(x, 1.0))  # fmt: skip


def strings(s: str, n: int):
    return (s.upper(), s.lower().strip(), s + "!" * n, s[1:3], s[-1], len(s), s.split(), s.replace("l", "L"), "ell" in s,
            s.find("l"), s.startswith("He"), ",".join(["a", s, "b"] + s.split()), s == "x", s < "b", s.title(), "é" + s, s[::-1],
            s.zfill(12), s.rjust(9, "."), s.isalpha(), list("ab"), s.count("l"), s.partition("l"))  # fmt: skip


def formatted(x: float, n: int, s: str, b: bool):
    return (f"{x:.2f} {n:>5} {n:05d} {s!r} {b} {x} {n:,} {x:e} {s:^9}|", f"{n} and {s}",
            f"{s} {n}", f"{{}} {n + 1}", str(n) + str(x) + str([1, 2]) + str((1, "a")), f"{x:8.3}|{n:x}|{n:+d}|{x:%}")  # fmt: skip


def lists(a: list[int]):
    b = a + [4, 5]
    b.append(6)
    b.extend([7, 8])
    b.insert(0, 9)
    last = b.pop()
    first = b.pop(0)
    b.remove(4)
    b[0] = 100
    b[1:3] = [1, 2, 3]
    c = b[::-1]
    b.sort()
    a += [1]
    d = a.copy()
    d.clear()
    return (a, b, c, b[1:4], b[-1], last, first, len(b), 5 in b, 99 not in b, b == c, sum(b), min(b), max(b), b.index(5),
            b.count(3), sorted(b, reverse=True), [0] * 3, d, any([x > 5 for x in b]), all([x > 5 for x in b]))  # fmt: skip  # noqa: C419


def comprehensions(a: list[int], x):
    doubled = [2 * i for i in a]
    odd = [i for i in a if i % 2 == 1]
    squares = {i: i * i for i in a}
    rows = [row.sum() for row in x]
    pairs = [(i, j) for i, j in enumerate(a)]
    total = sum([i for i in range(10)])
    return doubled, odd, squares, rows, pairs, total, [float(i) for i in (1, 2)]


def dicts(d: dict[str, int]):
    d = d.copy()
    d["z"] = 26
    popped = d.pop("a")
    e: dict[str, list[int]] = {}
    e["x"] = [1]
    e["x"].append(2)
    d.update({"q": 1})
    missing = d.get("nothing", 7)
    maybe = d.get("nothing")
    if maybe is None:
        maybe = 0
    del d["q"]
    return (
        d,
        popped,
        e,
        "z" in d,
        len(d),
        missing,
        maybe,
        list(d.keys()),
        {"a": 1.5},
        {i: str(i) for i in range(3)},
        d.setdefault("n", 3),
    )


def tuples(x):
    a, b = x, 2
    (c, d), e = (a, b), "s"
    first, *rest = (1, 2, 3)
    t = (c, d, e)
    a, b = b, a
    return t[0], t[1:], len(t), b, first, rest, t + (1,), (1, 2) == (1, 2), a


def named_tuples(x):
    p = Point(x, n=4)
    q = Point(x)
    return p.x + p.n, p[1], q, q.n


def casts(x):
    y = x.sum()
    return int(y), float(y), bool(y > 0), y.item() > 3, int("12"), float("1.5"), str(3), bool(0), complex(1, 2)


def ternaries(x, n: int):
    y = x if n > 0 else -x
    z = 1 if n > 0 else 0
    chained = 0 < n <= 3
    return y, z, chained, (n or 5), not n, n if n > 2 else None


def type_comments(x, n, names):
    # type: (Tensor, int, List[str]) -> Tuple[Tensor, int]
    counts = []  # type: List[int]
    for name in names:
        counts.append(len(name))
    return x * n, sum(counts)


def builtin_numbers(n: int):
    total = 0
    for i in range(n):
        total += i if i % 3 else -i
    return total, list(range(0, n, 4)), hex(n), bin(5), oct(8), ord("a"), chr(98), [n] * 2


def walrus(n: int):
    if (m := n * 2) > 4:
        return m
    return -m


def none_returned(x, flag: bool):
    if flag:
        return x
    return None


def returns_nothing(x):
    x.add_(1)


PLAIN = [
    (integers, 17, 5), (integers, -17, 5), (integers, 17, -5), (floats, 7.5, 2.0), (floats, -7.5, 2.0), (floats, 2.25, -1.5),
    (mixed, 3, 2.5, True), (mixed, 0, 2.5, False), (math_functions, 0.7), (strings, "Hello you", 2), (formatted, 3.14159, 1234567, "ab", True),
    (formatted, -1e-7, -5, "é'", False), (lists, [1, 2, 3]), (comprehensions, [1, 2, 3], RAMP), (dicts, {"a": 1, "b": 2}), (tuples, RAMP),
    (named_tuples, RAMP), (casts, RAMP), (ternaries, RAMP, 2), (ternaries, RAMP, 0), (type_comments, RAMP, 3, ["ab", "cde"]),
    (builtin_numbers, 17), (walrus, 1), (walrus, 5), (none_returned, RAMP, True), (none_returned, RAMP, False), (returns_nothing, RAMP),
]  # fmt: skip


@pytest.mark.parametrize("case", PLAIN, ids=lambda c: f"{c[0].__name__}-{c[-1]}"[:40])
def test_plain_values(case):
    check(*case)


# --- tensors


def arithmetic(x, y):
    return (
        x + y,
        x - 1,
        2 * x,
        x / 3,
        x // 2,
        x % 2,
        x**2,
        2**x,
        -x,
        x @ y.t(),
        x > y,
        (x > 1) & (y > 0),
        ~(x > 1),
        1 - x,
        1 / (x + 1),
    )


def in_place(x):
    y = x
    x += 1
    x *= 2
    y -= 3
    x[0] = 7
    x[1, 1:] = wisp.tensor([8.0, 9.0])
    x[x > 8] = 0
    x[:, 0] += 5
    x[0][1] /= 2
    return x, y


def indexing(x, i: int, idx):
    return (x[0], x[i], x[0, 1], x[:, 1:], x[..., 0], x[None], x[:, None, 1], x[1:, ::2], x[-1, -1], x[x > 2], x[idx], x[:, idx],
            x[i:, 0], x[[0, 1]], x[..., idx], x[..., idx, :], x[idx, ...], x[None][..., idx, 0], x[..., None], x[0, ...], x[:, :-1], x[()] if False else x[:])  # fmt: skip


def methods(x):
    values, places = x.max(dim=1)
    top = x.topk(2, dim=-1)
    return (values, places, top.values, top[1], x.view(-1), x.reshape(3, 2), x.permute(1, 0), x.sum(), x.sum(1), x.sum(dim=(0, 1)),
            x.mean(0, keepdim=True), x.size(), x.size(1), x.shape, x.shape[0], x.dim(), x.numel(), x.T, x.t().contiguous(), x.float(),
            x.to(wisp.float64), x.double().to(x), x.type_as(x.long()), x.long(), x.dtype == wisp.float32, x.device, x.is_floating_point(),
            x.flatten().tolist() if False else 1, x.clamp(min=1.0), x.clamp(1, 3), x.chunk(3, 1), x.split(1), x.split([1, 2], dim=1),
            x.unsqueeze(0).squeeze(), x.expand(4, 2, 3), x.repeat(2, 1), x.ndim, x.is_contiguous(), x.argmax(), x.std(), x.norm())  # fmt: skip


def functions(x, y):
    return (wisp.cat([x, y]), wisp.stack((x, y), dim=1), wisp.zeros(2, 3), wisp.ones([2]), wisp.full((2,), 3.5), wisp.arange(5),
            wisp.arange(1, 7, 2), wisp.where(x > y, x, y), wisp.matmul(x, y.t()), wisp.einsum("ij,kj->ik", x, y), F.relu(-x),
            F.softmax(x, dim=1), F.linear(x, y), F.pad(x, (1, 1)), wisp.tensor([1, 2]), wisp.tensor([[1.0, 2.0]], dtype=wisp.float64),
            wisp.tensor(3), wisp.zeros_like(x), wisp.max(x), wisp.max(x, y), wisp.sum(x, dim=0), wisp.eye(2), wisp.linspace(0, 1, 5),
            wisp.allclose(x, x), wisp.is_tensor(x), wisp.meshgrid(x[0], y[0], indexing="ij"), wisp.tril(x), F.one_hot(x.long()),
            wisp.linalg.norm(x), wisp.nn.functional.gelu(x), wisp.clamp(x, 0, 1), wisp.zeros(x.shape), wisp.zeros(x.size(0), 2, dtype=x.dtype))  # fmt: skip


def to_lists(x):
    flat: list[float] = x.view(-1).tolist()
    nested: list[list[float]] = x.tolist()
    count: int = x.sum().long().tolist()
    return flat, nested, count, wisp.jit.annotate(list[int], x.long().view(-1).tolist())


def library_functions(x):
    return (F.interpolate(x[None, None], scale_factor=2.0), F.interpolate(x[None, None], size=[4, 5], mode="bilinear"), wisp.tensordot(x, x, dims=2),
            F.adaptive_avg_pool2d(x[None], 1), F.adaptive_avg_pool2d(x[None], (1, 2)), F.grid_sample(x[None, None], wisp.zeros(1, 2, 2, 2), align_corners=True),
            F.local_response_norm(x[None], 2))  # fmt: skip


TENSORS = [
    (arithmetic, RAMP, ONES), (in_place, RAMP), (indexing, RAMP, 1, wisp.tensor([1, 0])), (methods, RAMP), (functions, RAMP, ONES),
    (to_lists, RAMP), (library_functions, RAMP),
]  # fmt: skip


@pytest.mark.parametrize("case", TENSORS, ids=lambda c: c[0].__name__)
def test_tensors(case):
    check(*case)
