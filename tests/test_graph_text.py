"""Graphs and programs as text: printing, reading back, faults, and hostile text."""

import operator
import random

import pytest

import wisp

jit = wisp._C._jit

EVERYTHING = """\
graph(%x : Tensor, %n : int, %flag : bool, %names : str[], %maybe : Tensor?):
  %one : int = prim::Constant[value=1]()  # model.py:3
  %half : float = prim::Constant[value=0.5]()
  %inf : float = prim::Constant[value=float("-inf")]()
  %text : str = prim::Constant[value="a \\"b\\" \\\\ \\n \\u0007 ä"]()
  %dtype : Dtype = prim::Constant[value=wisp.float64]()
  %device : Device = prim::Constant[value="cpu"]()
  %none : NoneType = prim::Constant[value=None]()
  %list : int[] = prim::Constant[value=[1, -2]]()
  %tuple : (int, (float, bool)) = prim::Constant[value=(1, (2.0, True))]()
  %z : complex = prim::Constant[value=complex(1.0, -2.0)]()
  %d : Dict(str, int) = prim::Constant[value={"a": 1}]()
  %sum : Float(2, *) = aten::add(%x, %x, %one)
  %values : Tensor, %places : Tensor = aten::max.dim(%sum, %one, %flag)
  %w : Tensor = aten::mul_(%values, %half)
  %y : Tensor = prim::If(%flag)
    block0():
      %neg : Tensor = aten::neg(%w)
      -> (%neg)
    block1():
      -> (%w)
  %out : Tensor = prim::Loop(%n, %flag, %y)
    block0(%i : int, %carried : Tensor):
      %next : Tensor = aten::mul(%carried, %i)
      -> (%flag, %next)
  %pair : Pair(first : Tensor, second : int?) = prim::TupleConstruct(%out, %none)
  %items : Tensor[] = prim::ListConstruct(%out, %places)
  = prim::Print(%text, %pair)
  return (%pair, %items)
"""


def test_text_reads_back_as_itself():
    graph = jit.parse_graph(EVERYTHING)
    assert str(graph) == EVERYTHING
    assert str(graph.copy()) == EVERYTHING
    graph.verify()


@pytest.mark.parametrize(
    "kind",
    ["Tensor", "Float(2, 3)", "Long(*, 4)", "Half()", "BFloat16", "Tensor(2, *)", "int", "float", "bool", "str", "complex"]
    + ["Scalar", "NoneType", "Device", "Dtype", "Layout", "MemoryFormat", "Generator", "Any", "int[]", "Tensor?[]", "int?"]
    + ["(int, Tensor)", "(int,)", "()", "Dict(str, Tensor[])", "Point(x : int, y : Float(3))", "(int, str?)[][]?"],
)  # fmt: skip
def test_types_read_back(kind):
    text = f"graph(%x : {kind}):\n  return (%x)\n"
    assert str(jit.parse_graph(text)) == text


def test_constants_fit_their_types():
    graph = jit.parse_graph(
        "graph():\n  %a : float = prim::Constant[value=1]()\n  %b : float[] = prim::Constant[value=[1, 2.5]]()\n"
        '  %c : Device? = prim::Constant[value="cpu"]()\n  return (%a, %b, %c)\n'
    )
    assert graph.run() == (1.0, [1.0, 2.5], wisp.device("cpu"))
    assert "value=1.0" in str(graph) and "[1.0, 2.5]" in str(graph)


def test_names_stay_unique_when_copied():
    program = jit.Program()
    program.parse(
        "program 1\nfunction f {\n  graph(%x : Tensor):\n    %y : Tensor = aten::neg(%x)\n    return (%y)\n}\n"
        "function g {\n  graph(%x : Tensor):\n"
        '    %y : Tensor = prim::CallFunction[name="f"](%x)\n    %z : Tensor = prim::CallFunction[name="f"](%y)\n'
        "    return (%z)\n}\n"
    )
    graph = program.function("g").graph
    graph.run_pass("inlining")
    assert [node.kind() for node in graph.nodes()] == ["aten::neg", "aten::neg"]
    graph.verify()


PROGRAM = """\
program 1
source 0 "model.py" 12 "def forward(self, x, n=1):\\n    return x + n\\n"
class __wisp__.Net module {
  parameter weight : Tensor
  plain training : bool
  plain inner : __wisp__.Inner
  method forward Net.forward
}
class __wisp__.Inner {
  plain count : int
}
function Net.forward {
  default n = 1
  graph(%self : __wisp__.Net, %x : Tensor, %n : int):
    %1 : int = prim::Constant[value=1]()
    %2 : Tensor = aten::add(%x, %n, %1)  # @0 38 43
    %3 : Tensor = prim::GetAttr[name="weight"](%self)
    %4 : Tensor = aten::mul(%2, %3)  # @0 38 43
    return (%4)
}
"""


def test_program_reads_back():
    program = jit.Program()
    program.parse(PROGRAM)
    assert program.to_text()[0] == PROGRAM
    assert "# model.py:13" in str(program.function("Net.forward").graph)


def test_a_program_that_cannot_be_read_leaves_nothing_behind():
    program = jit.Program()
    broken = PROGRAM.replace("aten::mul(%2, %3)", "aten::mul(%2, %nobody)")
    with pytest.raises(RuntimeError, match="line 18: nothing above is called %nobody"):
        program.parse(broken)
    assert program.to_text()[0] == "program 1\n"
    program.parse(PROGRAM)
    with pytest.raises(RuntimeError, match="two classes __wisp__.Net"):
        program.parse(PROGRAM)
    assert program.to_text()[0] == PROGRAM


FAULTS = [
    ("graph(%x : Tensor):\n  return (%y)", "nothing above is called %y"),
    ("graph(%x : Tensor, %x : int):\n  return (%x)", "%x is defined twice"),
    ("graph(%x : Tenser):\n  return (%x)", "no type Tenser"),
    ("graph(%x : Tensor):\n  %y : Tensor = aten::nothing(%x)\n  return (%y)", "no operation aten::nothing"),
    ("graph(%x : Tensor):\n  %y : Tensor = prim::Nothing(%x)\n  return (%y)", "no operation prim::Nothing"),
    ("graph(%x : Tensor):\n  %y : Tensor = aten::matmul_(%x, %x)\n  return (%y)", "no operation aten::matmul_"),
    ("graph(%x : Tensor):\n  %y : Tensor = aten::add(%x)\n  return (%y)", "it has 1 inputs and needs 3"),
    ("graph(%x : str):\n  %y : Tensor = aten::neg(%x)\n  return (%y)", "'self' is str where Tensor is expected"),
    ("graph(%x : Tensor):\n  %y : int = aten::neg(%x)\n  return (%y)", "a result is Tensor where int is expected"),
    ("graph(%x : Tensor?):\n  %y : Tensor = aten::neg(%x)\n  return (%y)", "'self' is Tensor\\? where Tensor"),
    ("graph():\n  %y : Tensor = prim::Constant[value=1]()\n  return (%y)", "the value is not of type Tensor"),
    ("graph():\n  %y : int = prim::Constant[value=<tensor 0>]()\n  return (%y)", "no tensor 0"),
    ("graph():\n  %y : int = prim::Constant[value=99999999999999999999]()\n  return (%y)", "does not fit"),
    ('graph():\n  %y : str = prim::Constant[value="abc]()\n  return (%y)', "a string does not end"),
    (
        "graph(%c : bool):\n  %y : int = prim::If(%c)\n    block0():\n      -> (%c)\n  return (%y)",
        "1 blocks and needs 2",
    ),
    (
        (
            "graph(%c : bool, %n : int):\n  %y : int = prim::If(%c)\n    block0():\n      -> (%n)\n    block1():\n"
            "      -> (%c)\n  return (%y)"
        ),
        "result of a branch is bool where int",
    ),
    (
        (
            "graph(%c : bool, %x : Tensor):\n  prim::If(%c)\n    block0():\n      %y : Tensor = aten::neg(%x)\n      -> ()\n"
            "    block1():\n      -> ()\n  return (%y)"
        ),
        "%y is used where it is not known",
    ),
    ("graph(%n : int):\n  %y : int = prim::TupleIndex[index=3](%n)\n  return (%y)", "int where a tuple is expected"),
    ("graph(%t : (int, int)):\n  %y : int = prim::TupleIndex[index=2](%t)\n  return (%y)", "there is no item 2"),
    ('graph(%n : int):\n  %y : int = prim::CallFunction[name="f"](%n)\n  return (%y)', "no function f"),
    ("graph(%x : Tensor):\n  %y : Tensor = aten::neg(%x)  # @0 1 2\n  return (%y)", "no source 0"),
    ("graph(%x : Tensor):\n  return (%x)\nmore", "unexpected text at the end"),
    ("graph(%x : Tensor):\n", "the text ends inside of a graph"),
    ("", "expected 'graph'"),
]


@pytest.mark.parametrize("text,message", FAULTS)
def test_faults_are_named(text, message):
    with pytest.raises(RuntimeError, match=message):
        jit.parse_graph(text)


@pytest.mark.parametrize(
    "text",
    [
        "graph(%x : " + "(" * 100_000 + "int):\n  return (%x)",
        "graph(%x : int" + "[]" * 100_000 + "):\n  return (%x)",
        "graph():\n  %x : int = prim::Constant[value=" + "[" * 100_000 + "]()\n  return (%x)",
        "graph(%c : bool):\n" + "prim::If(%c)\n block0():\n" * 100_000,
        "graph(%x : " + "Dict(" * 100_000 + "int):\n  return (%x)",
    ],
)
def test_deep_nesting_is_refused(text):
    with pytest.raises(RuntimeError, match="nested too deeply"):
        jit.parse_graph(text)


def test_long_chains_of_branches_are_fine():
    depth = 300
    text = "graph(%c : bool, %n : int):\n"
    for i in range(depth):
        text += f"%y{i} : int = prim::If(%c)\n block0():\n -> (%n)\n block1():\n"
    text += "-> (%n)\n" + "".join(f"-> (%y{i})\n" for i in reversed(range(1, depth))) + "return (%y0)"
    graph = jit.parse_graph(text)
    assert graph.run(False, 7) == 7
    graph.run_pass("dead_code")
    graph.run_pass("constant_folding")
    assert "y299" in str(graph) and graph.code.count("else:") == depth - 1  # the innermost is an expression


def test_damaged_text_gives_errors_and_nothing_else():
    """Random damage: every variant is read or refused with RuntimeError or ValueError."""
    generator = random.Random(0)
    pieces = [
        "%x",
        "(",
        ")",
        ":",
        "=",
        "[",
        "]",
        '"',
        "\\u12",
        "prim::If",
        "aten::add",
        "->",
        "int",
        "-1",
        "1e999",
        "\0",
        "#",
    ]
    read = 0
    for source in (EVERYTHING, PROGRAM):
        for _ in range(1500):
            text = source
            for _ in range(generator.randint(1, 3)):
                at, length = generator.randrange(len(text)), generator.choice([0, 1, 1, 5, 40])
                text = text[:at] + generator.choice([*pieces, "", ""]) + text[at + length :]
            try:
                if source is EVERYTHING:
                    jit.parse_graph(text)
                else:
                    jit.Program().parse(text)
                read += 1
            except (RuntimeError, ValueError):
                pass
    assert 0 < read < 1500


CODE = [
    (
        (
            "graph(%x : Tensor, %n : int):\n  %1 : int = prim::Constant[value=1]()\n"
            "  %2 : Tensor = aten::add(%x, %n, %1)\n  %3 : Tensor = aten::mul(%2, %x)\n  %4 : Tensor = aten::relu(%3)\n"
            "  return (%4)"
        ),
        "def forward(x: Tensor, n: int) -> Tensor:\n    return wisp.relu((x + n) * x)\n",
    ),
    (
        (
            "graph(%x : Tensor, %c : bool):\n  %y : Tensor = prim::If(%c)\n    block0():\n"
            "      %2 : Tensor = aten::neg(%x)\n      -> (%2)\n    block1():\n      -> (%x)\n  return (%y)"
        ),
        "def forward(x: Tensor, c: bool) -> Tensor:\n    return -x if c else x\n",
    ),
    (
        (
            "graph(%x : Tensor, %n : int):\n  %t : bool = prim::Constant[value=True]()\n"
            "  %y : Tensor = prim::Loop(%n, %t, %x)\n    block0(%i : int, %z : Tensor):\n"
            "      %2 : Tensor = aten::mul(%z, %i)\n      -> (%t, %2)\n  return (%y)"
        ),
        (
            "def forward(x: Tensor, n: int) -> Tensor:\n    z: Tensor = x\n    for i in range(n):\n        z = z * i\n"
            "    return z\n"
        ),
    ),
    (
        (
            "graph(%x : Tensor):\n  %d : int = prim::Constant[value=1]()\n  %k : bool = prim::Constant[value=True]()\n"
            "  %f : bool = prim::Constant[value=False]()\n  %v : Tensor, %i : Tensor = aten::max.dim(%x, %d, %k)\n"
            "  %w : Tensor = aten::mul_(%v, %v)\n  %p : (Tensor, Tensor) = prim::TupleConstruct(%i, %w)\n  return (%p)"
        ),
        (
            "def forward(x: Tensor) -> Tuple[Tensor, Tensor]:\n    v, i = wisp.max(x, 1, True)\n    w = v.mul_(v)\n"
            "    return (i, w)\n"
        ),
    ),
    (
        (
            "graph(%a : int, %b : int):\n  %1 : int = aten::sub.int(%a, %b)\n  %2 : int = aten::sub.int(%b, %1)\n"
            "  %3 : int = aten::neg.int(%2)\n  %4 : bool = aten::lt.int(%3, %a)\n  %5 : bool = aten::__not__(%4)\n"
            "  return (%5)"
        ),
        "def forward(a: int, b: int) -> bool:\n    return not -(b - (a - b)) < a\n",
    ),
]


@pytest.mark.parametrize("text,code", CODE)
def test_code_is_python(text, code):
    assert jit.parse_graph(text).code == code
    compile(code, "code", "exec")


@pytest.mark.parametrize("name", ["lt", "le", "gt", "ge", "eq", "ne"])
def test_comparisons_of_earlier_versions_have_the_number_in_front(name):
    program = jit.Program()
    program.parse(
        f"""program 1
function f {{
  graph(%x : Tensor):
    %n : int = prim::Constant[value=1]()
    %r : Tensor = aten::{name}(%n, %x)
    return (%r)
}}
"""
    )
    x = wisp.tensor([0, 1, 2])
    assert program.function("f")(x).tolist() == [getattr(operator, name)(1, item) for item in x.tolist()]
