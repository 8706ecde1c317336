"""A compiled function's `.code` is Python that compiles again and does the same."""

import importlib.util
import itertools
import math
from typing import Any

import pytest

import wisp
from wisp import Tensor

HEADER = "import math\nfrom typing import Any, Dict, List, Optional, Tuple, Union\nimport wisp\nfrom wisp import Tensor\n\n\n"
numbers = itertools.count()


def compiled_again(script, folder):
    path = folder / f"code_{next(numbers)}.py"
    path.write_text(HEADER + script.code)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return wisp.jit.script(getattr(module, script.name))


def branches(x: Tensor, n: int):
    y = x + n
    for i in range(n):
        if i % 2 == 0:
            y = y * i
        elif i > 4:
            y = y.relu() - 1
    return y


def lists_and_loops(x: Tensor, xs: list[int], o: int | None):
    out: list[Tensor] = []
    total = 0
    for v in xs:
        total += v
        out.append(x * v)
    if o is not None:
        total += o
    while total > 10:
        total -= 3
    return wisp.stack(out).sum() + total, (1 - total) * 2


def dicts(x: Tensor, name: str):
    a, b = x.chunk(2, dim=0)
    d = {name: a, "b": b.t()}
    if name in d and (len(d) == 2 or name == "z"):
        d["c"] = a.max(dim=1)[0]
    return d


def early_ends(x: Tensor, flag: bool):
    if flag:
        return x.sum(dim=[0], keepdim=True)
    for i in range(3):
        if i == 2:
            break
        x = wisp.nn.functional.softmax(x, dim=-1)
    assert x.dim() == 2, f"bad {x.dim()}"
    return x[0:1, 1:].to(wisp.float64) - (1 - (2 - x.mean()))


def writes(x: Tensor, s: float):
    y = x.clone()
    y.add_(s).mul_(2)
    y[0] = 1.5
    pair = (y, s)
    return pair[0] / pair[1], not s < 2


def found_place(xs: list[int], x: int) -> int | None:
    low, high = 0, len(xs)
    while low < high:
        middle = (low + high) // 2
        if xs[middle] == x:
            return middle
        if xs[middle] < x:
            low = middle + 1
        else:
            high = middle
    return None


def early_in_loops(xs: list[int], limit: int = 7, name: str = "a") -> str:
    total = 0
    for i, x in enumerate(xs):
        for j in range(x, 0, -2):
            total += j
            if total > limit:
                return f"{name}{i}{j}"
        if (x < 0) | (x > 100):
            break
    return name


def parts_of_lists(xs: list[int], pattern: str):
    xs[1:3] = [7, 8]
    ordered = sorted(xs, reverse=True)
    xs.sort()
    return xs, ordered, pattern % (xs[0], "s"), xs[0] << 2, xs[0] & 3, math.gcd(xs[0], 6), math.modf(2.5)


def parts_of_tensors(x: Tensor, places: Tensor):
    y = x.clone()
    y[places] = 0
    y[0] += x[places, 1].sum()
    listed: list[list[float]] = y.tolist()
    return y[[0, 1]], listed, (1 + 2j).real


def kinds(x: Any) -> str:
    if isinstance(x, int):
        return str(x + 1)
    if isinstance(x, (str, float)):
        return "text or number"
    if wisp.jit.isinstance(x, list[int]):
        return str(len(x))
    return "?"


def united(x: int | Tensor) -> int:
    return x + 1 if isinstance(x, int) else x.numel()


def without_gradients(x: Tensor):
    with wisp.no_grad():
        y = x * 2
    return y + x


@pytest.mark.parametrize(
    "function,arguments",
    [
        (found_place, ([1, 3, 5, 9], 5)),
        (found_place, ([1, 3], 2)),
        (early_in_loops, ([1, 2, 4],)),
        (early_in_loops, ([1, 2, 4], 100)),
        (parts_of_lists, ([4, 3, 2, 1], "%d|%s")),
        (parts_of_tensors, (wisp.arange(4.0).reshape(2, 2), wisp.tensor([True, False]))),
        (kinds, (3,)),
        (kinds, ("a",)),
        (kinds, ([1, 2],)),
        (kinds, ({"a": 1},)),
        (united, (3,)),
        (united, (wisp.ones(4),)),
        (without_gradients, (wisp.ones(2),)),
        (branches, (wisp.ones(2), 7)),
        (lists_and_loops, (wisp.ones(2), [1, 2, 30], 4)),
        (lists_and_loops, (wisp.ones(2), [1], None)),
        (dicts, (wisp.arange(4.0).reshape(2, 2), "q")),
        (early_ends, (wisp.arange(4.0).reshape(2, 2), True)),
        (early_ends, (wisp.arange(4.0).reshape(2, 2), False)),
        (writes, (wisp.arange(4.0).reshape(2, 2), 3.0)),
    ],
)
def test_code_compiles_again(function, arguments, tmp_path):
    script = wisp.jit.script(function)
    again = compiled_again(script, tmp_path)
    assert str(again(*arguments)) == str(script(*arguments)) == str(function(*arguments))


def test_code_of_optimized_graphs(tmp_path):
    script = wisp.jit.script(lists_and_loops)
    script.graph.optimize()
    again = compiled_again(script, tmp_path)
    arguments = (wisp.ones(2), [1, 2, 30], 4)
    assert str(again(*arguments)) == str(lists_and_loops(*arguments))


def test_code_reads_well():
    script = wisp.jit.script(branches)
    assert script.code == (
        "def branches(x: Tensor, n: int) -> Tensor:\n"
        "    y_1: Tensor = x + n\n"
        "    for i in range(n):\n"
        "        if i % 2 == 0:\n"
        "            y_5 = y_1 * i\n"
        "        else:\n"
        "            y_5 = wisp.relu(y_1) - 1 if i > 4 else y_1\n"
        "        y_1 = y_5\n"
        "    return y_1\n"
    )
