"""Random programs with views, writes, branches and loops: every pass leaves their results as they are."""

import random

import pytest

import wisp

jit = wisp._C._jit

SIZE = (3, 3)


UNARY = ["neg({x})", "tanh({x})", "sigmoid({x})", "relu({x})", "mul({x}, %half)"]
BINARY = ["add({x}, {y}, %one)", "sub({x}, {y}, %one)", "mm({x}, {y})", "maximum({x}, {y})"]
WRITES = ["add_({x}, {y}, %one)", "mul_({x}, %half)", "copy_({x}, {y}, %false)"]
VIEWS = ["t({x})", "alias({x})", "reshape({x}, %size)", "contiguous({x}, %contiguous)", "add({x}, %zero, %one)"]
KINDS = ["call"] * 7 + ["repeat"] * 4 + ["overwrite"] * 4 + ["view"] * 2 + ["chunk", "list", "take", "append", "pair"]

HEAD = """\
graph(%x : Float(3, 3), %y : Float(3, 3), %flag : bool, %n : int):
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %three : int = prim::Constant[value=3]()
  %last : int = prim::Constant[value=-1]()
  %half : float = prim::Constant[value=0.5]()
  %true : bool = prim::Constant[value=True]()
  %false : bool = prim::Constant[value=False]()
  %size : int[] = prim::Constant[value=[3, 3]]()
  %contiguous : MemoryFormat = prim::Constant[value=wisp.contiguous_format]()
"""


class Writer:
    """Writes a graph of 3 x 3 matrices in which everything may share memory with everything."""

    kinds = KINDS

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.choice = self.random.choice
        self.count = 0
        self.text = HEAD
        self.calls = []  # that can be repeated: their operands are known everywhere below

    def write(self):
        known = self.body(1, ["%x", "%y"], [])
        results = {self.choice(known) for _ in range(3)}
        self.line(1, f"return ({', '.join(sorted(results))})")
        return self.text

    def line(self, indent, text):
        self.text += "  " * indent + text + "\n"

    def name(self):
        self.count += 1
        return f"%v{self.count}"

    def body(self, indent, known, lists):
        """Some statements; the matrices that are known after them."""
        known, lists = list(known), list(lists)
        for _ in range(self.random.randint(1, 12 if indent == 1 else 4)):
            kind = self.choice(self.kinds + ["branch", "loop"] * (indent < 5))
            new = getattr(self, kind)(indent, known, lists)
            if new:
                known.append(new)
        return known

    def define(self, indent, right, kind="Tensor"):
        new = self.name()
        self.line(indent, f"{new} : {kind} = {right}")
        return new

    def operands(self, known):
        return {"x": self.choice(known[-4:]), "y": self.choice(self.choice([known, known[-4:]]))}

    def call(self, indent, known, lists):
        call = self.choice(UNARY + BINARY).format(**self.operands(known))
        if indent == 1:
            self.calls.append(call)
        return self.define(indent, "aten::" + call)

    def repeat(self, indent, known, lists):
        return self.define(indent, "aten::" + self.choice(self.calls)) if self.calls else None

    def overwrite(self, indent, known, lists):
        return self.define(indent, "aten::" + self.choice(WRITES).format(**self.operands(known)))

    def view(self, indent, known, lists):
        return self.define(indent, "aten::" + self.choice(VIEWS).format(**self.operands(known)))

    def chunk(self, indent, known, lists):
        source = self.choice(known[-4:])
        pieces = self.define(indent, f"aten::chunk({source}, %three, %zero)", "Tensor[]")
        parts = [self.name() for _ in range(3)]
        self.line(indent, ", ".join(f"{part} : Tensor" for part in parts) + f" = prim::ListUnpack({pieces})")
        if self.random.random() < 0.5:
            self.overwrite(indent, [source], lists)
        done = [self.define(indent, f"aten::tanh({part})") for part in parts]
        joined = self.define(indent, f"prim::ListConstruct({', '.join(done)})", "Tensor[]")
        return self.define(indent, f"aten::cat({joined}, %zero)")

    def list(self, indent, known, lists):
        lists.append(self.define(indent, "prim::ListConstruct({x}, {y})".format(**self.operands(known)), "Tensor[]"))

    def take(self, indent, known, lists):
        if lists:
            place = self.choice(["%zero", "%last"])
            return self.define(indent, f"aten::__getitem__.t({self.choice(lists)}, {place})")

    def append(self, indent, known, lists):
        if lists:
            self.line(indent, f"= aten::append.t({self.choice(lists)}, {self.choice(known)})")

    def pair(self, indent, known, lists):
        pair = self.define(indent, "prim::TupleConstruct({x}, {y})".format(**self.operands(known)), "(Tensor, Tensor)")
        return self.define(indent, f"prim::TupleIndex[index={self.choice([0, 1])}]({pair})")

    def branch(self, indent, known, lists):
        new = self.define(indent, f"prim::If({self.choice(['%flag', '%flag', '%true', '%false'])})")
        for i in range(2):
            self.line(indent + 1, f"block{i}():")
            inner = self.body(indent + 2, known, lists)
            self.line(indent + 2, f"-> ({self.choice(inner)})")
        return new

    def loop(self, indent, known, lists):
        counter, carried = self.name(), self.name()
        trips = self.choice(["%n", "%three", "%zero"])
        new = self.define(indent, f"prim::Loop({trips}, %true, {self.choice(known)})")
        self.line(indent + 1, f"block0({counter} : int, {carried} : Tensor):")
        inner = self.body(indent + 2, [*known, carried, carried], lists)
        self.line(indent + 2, f"-> (%true, {self.choice(inner)})")
        return new


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


class CalmWriter(Writer):
    """Writes next to nothing in place: whatever stands beside something else may run beside it."""

    kinds = ["call", "twins"] * 10 + ["repeat", "view", "list", "take", "pair"] * 2 + ["overwrite"]

    def twins(self, indent, known, lists):
        pair = [self.define(indent, "aten::mm({x}, {y})".format(**self.operands(known))) for _ in range(2)]
        ends = [self.call(indent, [*known, one], lists) for one in pair]
        known += [*pair, *ends]
        return self.define(indent, f"aten::maximum({self.choice(ends)}, {self.choice(pair)})")


def test_branches_on_other_threads_change_no_bits():
    """Sizes are not known here, so that every product counts as large."""
    found = 0
    for seed in range(150):
        original = jit.parse_graph(CalmWriter(seed).write())
        graph = original.copy()
        found += graph.run_pass("parallel_branches")
        graph.run_pass("fusion")
        for case in [(True, 2), (False, 0)]:
            expected = outcome(original.copy(), *case)
            for _ in range(4):  # one after the other, then beside each other
                for one, other in zip(expected, outcome(graph, *case), strict=True):
                    assert wisp.equal(one, other) or one.isnan().any(), graph
    assert found > 20
