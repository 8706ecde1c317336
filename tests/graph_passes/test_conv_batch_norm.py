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


def folds_after(old, new):
    """Whether the pass still folds a layer and its norm when the program's text is changed."""
    layer, norm = wisp.nn.Linear(4, 6), wisp.nn.BatchNorm1d(6)
    text, _ = make_program(layer, norm, "linear", "").to_text()
    assert old in text
    program = jit.Program()
    program.set_tensors(constants(layer, norm)[1])
    program.parse(text.replace(old, new))
    graph = program.function("f").graph
    graph.run_pass("shape_propagation")
    return graph.run_pass("conv_batch_norm")


def test_norms_in_training_stay():
    assert not folds_after("value=False", "value=True")


class Scripted(wisp.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.first_norm = wisp.nn.Conv2d(3, 4, 3), wisp.nn.BatchNorm2d(4)
        self.second, self.second_norm = wisp.nn.Conv2d(4, 5, 1, bias=False), wisp.nn.BatchNorm2d(5)

    def forward(self, x):
        x = self.first_norm(self.first(x)).relu()
        return self.second_norm(self.second(x))


def test_scripted_norms_that_check_their_input():
    net = Scripted().eval()
    for norm in (net.first_norm, net.second_norm):
        norm.running_mean.normal_()
        norm.running_var.uniform_(0.5, 2)
    compiled = wisp.jit.script(net)
    frozen = wisp.jit.freeze(compiled)
    assert compiled.inlined_graph.to_text().count("aten::batch_norm") == 2
    assert "aten::batch_norm" not in frozen.graph.to_text()
    assert "aten::batch_norm" in wisp.jit.freeze(compiled, optimize_numerics=False).graph.to_text()
    x = wisp.rand(2, 3, 6, 6)
    wisp.testing.assert_close(frozen(x), net(x).detach())
    with pytest.raises(ValueError, match="expected 4D input"):
        frozen(x[0])


def test_layers_that_others_read_stay():
    assert not folds_after("return (%z)", "return (%z, %y)")
