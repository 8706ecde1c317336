import pytest

import wisp
from tests.graph_passes.common import jit

LAYERS = {
    "conv2d": (
        wisp.nn.Conv2d(4, 6, 3, padding=1, groups=2),
        wisp.nn.BatchNorm2d(6),
        "%pair, %pair, %pair, %groups",
        (2, 4, 5, 5),
    ),
    "conv1d": (
        wisp.nn.Conv1d(4, 6, 3, padding=1, groups=2, bias=False),
        wisp.nn.BatchNorm1d(6, affine=False),
        "%single, %single, %single, %groups",
        (2, 4, 5),
    ),
    "linear": (wisp.nn.Linear(4, 6), wisp.nn.BatchNorm1d(6), "", (5, 4)),
}


def constants(layer, norm):
    """The text of their constants, and the tensors."""
    tensors, text = [], ""
    named = {"w": layer.weight, "b": layer.bias, "mean": norm.running_mean, "var": norm.running_var}
    for name, value in {**named, "gain": norm.weight, "shift": norm.bias}.items():
        if value is None:
            text += f"    %{name} : NoneType = prim::Constant[value=None]()\n"
            continue
        text += f"    %{name} : Tensor = prim::Constant[value=<tensor {len(tensors)}>]()\n"
        tensors.append(value.detach())
    return text, tensors


def make_program(layer, norm, op, rest):
    text, tensors = constants(layer, norm)
    comma = ", " if rest else ""
    program = jit.Program()
    program.set_tensors(tensors)
    program.parse(f"""program 1
function f {{
  graph(%x : {"Float(5, 4)" if op == "linear" else "Tensor"}):
{text}    %pair : int[] = prim::Constant[value=[1, 1]]()
    %single : int[] = prim::Constant[value=[1]]()
    %groups : int = prim::Constant[value=2]()
    %eps : float = prim::Constant[value={norm.eps}]()
    %false : bool = prim::Constant[value=False]()
    %y : Tensor = aten::{op}(%x, %w, %b{comma}{rest})
    %z : Tensor = aten::batch_norm(%y, %mean, %var, %gain, %shift, %false, %eps, %eps)
    return (%z)
}}
""")
    return program


@pytest.mark.parametrize("op", LAYERS)
def test_norms_go_into_weights(op):
    layer, norm, rest, shape = LAYERS[op]
    with wisp.no_grad():
        norm.running_mean.normal_()
        norm.running_var.uniform_(0.5, 2)
        if norm.weight is not None:
            norm.weight.normal_()
            norm.bias.normal_()
    x = wisp.rand(*shape)
    expected = norm.eval()(layer(x)).detach()
    program = make_program(layer, norm, op, rest)
    graph = program.function("f").graph
    wisp.testing.assert_close(graph.run(x), expected)
    graph.run_pass("shape_propagation")
    assert graph.run_pass("conv_batch_norm")
    graph.run_pass("dead_code")
    kinds = [node.kind() for node in graph.nodes()]
    assert [kind for kind in kinds if kind != "prim::Constant"] == [f"aten::{op}"]
    wisp.testing.assert_close(graph.run(x), expected)


def test_the_graph_before_and_after():
    layer, norm = wisp.nn.Linear(4, 6), wisp.nn.BatchNorm1d(6)
    graph = make_program(layer, norm, "linear", "").function("f").graph
    graph.run_pass("shape_propagation")
    graph.run_pass("conv_batch_norm")
    graph.run_pass("dead_code")
    assert str(graph) == (
        "graph(%x : Float(5, 4)):\n"
        "  %0 : Float(6, 4) = prim::Constant[value=<Tensor>]()\n"
        "  %1 : Float(6) = prim::Constant[value=<Tensor>]()\n"
        "  %2 : Float(5, 6) = aten::linear(%x, %0, %1)\n"
        "  return (%2)\n"
    )


def test_norms_in_training_stay():
    layer, norm = wisp.nn.Linear(4, 6), wisp.nn.BatchNorm1d(6)
    text, _ = make_program(layer, norm, "linear", "").to_text()
    program = jit.Program()
    program.set_tensors(constants(layer, norm)[1])
    program.parse(text.replace("value=False", "value=True"))
    graph = program.function("f").graph
    graph.run_pass("shape_propagation")
    assert not graph.run_pass("conv_batch_norm")
