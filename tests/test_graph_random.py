"""Random programs with views, writes, branches and loops: every pass leaves their results as they are."""

import random

import pytest

import wisp

jit = wisp._C._jit

SIZE = (3, 3)


class Writer:
    """Writes a graph of 3 x 3 matrices in which everything may share memory with everything."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.count = 0
        self.lines = []

    def name(self):
        self.count += 1
        return f"%v{self.count}"

    def line(self, indent, text):
        self.lines.append("  " * indent + text)

    def statement(self, indent, known, lists, depth):
        choice = self.random.choice
        x, y, new = choice(known), choice(known), self.name()
        kinds = (
            ["unary"] * 4 + ["binary"] * 5 + ["write"] * 2 + ["view"] * 2 + ["chunk", "list", "take", "append", "tuple"]
        )
        kind = choice(kinds + ["if", "loop"] * (depth < 2))
        if kind == "unary":
            self.line(indent, f"{new} : Tensor = aten::{choice(['neg', 'tanh', 'sigmoid', 'relu'])}({x})")
        elif kind == "binary":
            op = choice(
                ["add({x}, {y}, %one)", "sub({x}, {y}, %one)", "mm({x}, {y})", "maximum({x}, {y})", "mul({x}, %half)"]
            )
            self.line(indent, f"{new} : Tensor = aten::{op.format(x=x, y=y)}")
        elif kind == "write":
            op = choice(["add_({x}, {y}, %one)", "mul_({x}, %half)", "tanh_({x})", "copy_({x}, {y}, %false)"])
            self.line(indent, f"{new} : Tensor = aten::{op.format(x=x, y=y)}")
        elif kind == "view":
            op = choice(
                ["t({x})", "alias({x})", "reshape({x}, %size)", "contiguous({x}, %contiguous)", "add({x}, %zero, %one)"]
            )
            self.line(indent, f"{new} : Tensor = aten::{op.format(x=x)}")
        elif kind == "chunk":
            parts = [self.name() for _ in range(3)]
            self.line(indent, f"{new} : Tensor[] = aten::chunk({x}, %three, %zero)")
            self.line(indent, ", ".join(f"{p} : Tensor" for p in parts) + f" = prim::ListUnpack({new})")
            done = [self.name() for _ in parts]
            for part, result in zip(parts, done, strict=True):
                self.line(indent, f"{result} : Tensor = aten::tanh({part})")
            joined, new = self.name(), self.name()
            self.line(indent, f"{joined} : Tensor[] = prim::ListConstruct({', '.join(done)})")
            self.line(indent, f"{new} : Tensor = aten::cat({joined}, %zero)")
        elif kind == "list":
            self.line(indent, f"{new} : Tensor[] = prim::ListConstruct({x}, {y})")
            lists.append(new)
            return
        elif kind == "take" and lists:
            self.line(indent, f"{new} : Tensor = aten::__getitem__.t({choice(lists)}, {choice(['%zero', '%last'])})")
        elif kind == "append" and lists:
            self.line(indent, f"= aten::append.t({choice(lists)}, {x})")
            return
        elif kind == "tuple":
            pair = self.name()
            self.line(indent, f"{pair} : (Tensor, Tensor) = prim::TupleConstruct({x}, {y})")
            self.line(indent, f"{new} : Tensor = prim::TupleIndex[index={choice([0, 1])}]({pair})")
        elif kind == "if":
            self.line(indent, f"{new} : Tensor = prim::If({choice(['%flag', '%flag', '%true', '%false'])})")
            for i in range(2):
                self.line(indent + 1, f"block{i}():")
                inner = self.body(indent + 2, known, lists, depth + 1)
                self.line(indent + 2, f"-> ({choice(inner)})")
        elif kind == "loop":
            counter, carried = self.name(), self.name()
            self.line(indent, f"{new} : Tensor = prim::Loop({choice(['%n', '%three', '%zero'])}, %true, {x})")
            self.line(indent + 1, f"block0({counter} : int, {carried} : Tensor):")
            inner = self.body(indent + 2, [*known, carried, carried], lists, depth + 1)
            self.line(indent + 2, f"-> (%true, {choice(inner)})")
        else:
            return
        known.append(new)

    def body(self, indent, known, lists, depth):
        known, lists = list(known), list(lists)
        for _ in range(self.random.randint(1, 12 if depth == 0 else 4)):
            self.statement(indent, known, lists, depth)
        return known

    def write(self):
        self.lines = [
            "graph(%x : Float(3, 3), %y : Float(3, 3), %flag : bool, %n : int):",
            *(f"  %{name} : int = prim::Constant[value={value}]()" for name, value in
              {"zero": 0, "one": 1, "three": 3, "last": -1}.items()),
            "  %half : float = prim::Constant[value=0.5]()",
            "  %true : bool = prim::Constant[value=True]()",
            "  %false : bool = prim::Constant[value=False]()",
            "  %size : int[] = prim::Constant[value=[3, 3]]()",
            "  %contiguous : MemoryFormat = prim::Constant[value=wisp.contiguous_format]()",
        ]  # fmt: skip
        known = self.body(1, ["%x", "%y"], [], 0)
        results = {self.random.choice(known) for _ in range(3)}
        self.line(1, f"return ({', '.join(sorted(results))})")
        return "\n".join(self.lines) + "\n"


def outcome(graph, flag, n):
    """Results and what became of the inputs."""
    wisp.manual_seed(1)
    x, y = wisp.rand(SIZE), wisp.rand(SIZE)
    results = graph.run(x, y, flag, n)
    return [*(results if isinstance(results, tuple) else [results]), x, y]


def assert_agree(text, expected, actual):
    for one, other in zip(expected, actual, strict=True):
        assert wisp.allclose(one, other, atol=1e-5, equal_nan=True), text


@pytest.mark.parametrize("seed", range(150))
def test_passes_change_no_results(seed):
    text = Writer(seed).write()
    original = jit.parse_graph(text)
    cases = [(True, 2), (False, 0)]
    expected = [outcome(original.copy(), *case) for case in cases]
    shaped = original.copy()
    shaped.run_pass("shape_propagation")
    for name in [*jit.passes(), "everything"]:
        graph = shaped.copy()
        if name == "everything":
            graph.optimize([], ["loop_peeling", "in_place_reuse"])
        elif not graph.run_pass(name):
            assert str(graph) == str(shaped), name
        for case, results in zip(cases, expected, strict=True):
            assert_agree(f"{name}\n{text}\n{graph}", results, outcome(graph, *case))
        assert str(jit.parse_graph(str(graph))) == str(graph) or "<Tensor>" in str(graph)
