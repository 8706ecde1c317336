import textwrap

import wisp

jit = wisp._C._jit

PROGRAM = """\
program 1
class __wisp__.Scale module {
  parameter factor : Tensor
  method forward Scale.forward
}
class __wisp__.Net module {
  plain first : __wisp__.Scale
  method forward Net.forward
}
function twice {
  graph(%x : Tensor):
    %two : int = prim::Constant[value=2]()
    %y : Tensor = aten::mul(%x, %two)
    return (%y)
}
function both {
  graph(%x : Tensor):
    %y : Tensor = prim::CallFunction[name="twice"](%x)
    %z : Tensor = prim::CallFunction[name="twice"](%y)
    return (%y, %z)
}
function Scale.forward {
  graph(%self : __wisp__.Scale, %x : Tensor):
    %factor : Tensor = prim::GetAttr[name="factor"](%self)
    %y : Tensor = aten::mul(%x, %factor)
    return (%y)
}
function Net.forward {
  graph(%self : __wisp__.Net, %x : Tensor):
    %first : __wisp__.Scale = prim::GetAttr[name="first"](%self)
    %a : Tensor = prim::CallMethod[name="forward"](%first, %x)
    %pair : (Tensor, Tensor) = prim::CallFunction[name="both"](%a)
    return (%pair)
}
function down {
  graph(%n : int):
    %one : int = prim::Constant[value=1]()
    %zero : int = prim::Constant[value=0]()
    %done : bool = aten::le.int(%n, %zero)
    %y : int = prim::If(%done)
      block0():
        -> (%zero)
      block1():
        %less : int = aten::sub.int(%n, %one)
        %rest : int = prim::CallFunction[name="down"](%less)
        -> (%rest)
    return (%y)
}
"""


def test_methods_and_functions_in_functions():
    program = jit.Program()
    program.parse(PROGRAM)
    function = program.function("Net.forward")
    function.graph.run_pass("inlining")
    function.graph.verify()
    assert str(function.graph) == textwrap.dedent("""\
        graph(%self : __wisp__.Net, %x : Tensor):
          %first : __wisp__.Scale = prim::GetAttr[name="first"](%self)
          %factor : Tensor = prim::GetAttr[name="factor"](%first)
          %y : Tensor = aten::mul(%x, %factor)
          %two : int = prim::Constant[value=2]()
          %y.2 : Tensor = aten::mul(%y, %two)
          %two.1 : int = prim::Constant[value=2]()
          %y.3 : Tensor = aten::mul(%y.2, %two.1)
          %0 : (Tensor, Tensor) = prim::TupleConstruct(%y.2, %y.3)
          return (%0)
        """)


def test_results_agree():
    before, after = jit.Program(), jit.Program()
    for program in (before, after):
        program.parse(PROGRAM)
    graph = after.function("both").graph
    assert graph.run_pass("inlining") and not graph.run_pass("inlining")
    x = wisp.rand(3)
    for one, other in zip(before.function("both")(x), after.function("both")(x), strict=True):
        assert one.tolist() == other.tolist()


def test_functions_that_call_themselves_stay_calls():
    program = jit.Program()
    program.parse(PROGRAM)
    graph = program.function("down").graph
    assert not graph.run_pass("inlining")
    assert 'CallFunction[name="down"]' in str(graph) and program.function("down")(5) == 0
