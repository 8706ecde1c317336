"""A compiled function's `.code` is Python that compiles again and does the same."""

import importlib.util
import itertools

import pytest

import wisp
from wisp import Tensor

HEADER = "import math\nfrom typing import Dict, List, Optional, Tuple\nimport wisp\nfrom wisp import Tensor\n\n\n"
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


@pytest.mark.parametrize(
    "function,arguments",
    [
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
