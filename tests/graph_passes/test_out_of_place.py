import pytest

import wisp
from tests.graph_passes.common import check, check_unchanged
from wisp import nn


def test_writes_into_private_values_become_calls():
    check(
        "out_of_place",
        """\
        graph(%x : Tensor, %w : Tensor):
          %true : bool = prim::Constant[value=True]()
          %a : Tensor = aten::mm(%x, %w)
          %b : Tensor = aten::relu_(%a)
          %c : Tensor = aten::silu(%b, %true)
          return (%c)
        """,
        """\
        graph(%x : Tensor, %w : Tensor):
          %true : bool = prim::Constant[value=True]()
          %a : Tensor = aten::mm(%x, %w)
          %b : Tensor = aten::relu(%a)
          %0 : bool = prim::Constant[value=False]()
          %c : Tensor = aten::silu(%b, %0)
          return (%c)
        """,
        (wisp.randn(4, 5), wisp.randn(5, 3)),
    )


UNCHANGED = {
    "a parameter": "%b : Tensor = aten::relu_(%x)",
    "used again": "%a : Tensor = aten::mm(%x, %w)\n  %b0 : Tensor = aten::relu_(%a)\n  %b : Tensor = aten::mm(%a, %b0)",
    "a view": "%a : Tensor = aten::t(%x)\n  %b : Tensor = aten::relu_(%a)",
    "another dtype": "%a : Tensor = aten::mm(%x, %w)\n  %b : Tensor = aten::mul_(%a, %w)",
    "other memory": "%a : Tensor = aten::contiguous(%x, %format)\n  %b : Tensor = aten::relu_(%a)",
    "in a block": "%a : Tensor = aten::mm(%x, %w)\n  %b : Tensor = prim::Loop(%two, %true, %x)\n"
    "    block0(%i : int, %h : Tensor):\n      %r : Tensor = aten::relu_(%a)\n      -> (%true, %r)",
}


@pytest.mark.parametrize("name", UNCHANGED)
def test_others_are_left_alone(name):
    check_unchanged(
        "out_of_place",
        f"""graph(%x : Tensor, %w : Tensor):
  %two : int = prim::Constant[value=2]()
  %true : bool = prim::Constant[value=True]()
  %format : MemoryFormat = prim::Constant[value=wisp.contiguous_format]()
  {UNCHANGED[name]}
  return (%b)
""",
    )


class Block(nn.Module):
    """As residual networks write it, in place wherever that can be."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.Conv2d(8, 8, 3, padding=1, bias=False)
        self.norms, self.relu = nn.ModuleList([nn.BatchNorm2d(8), nn.BatchNorm2d(8)]), nn.ReLU(inplace=True)
        for norm in self.norms:
            norm.running_mean.normal_()
            norm.running_var.uniform_(0.5, 2)

    def forward(self, x):
        out = self.norms[1](self.second(self.relu(self.norms[0](self.first(x)))))
        out += x
        return self.relu(out)


@pytest.mark.parametrize("compiled", [wisp.jit.script, wisp.jit.trace])
def test_norms_before_writes_go_into_weights(compiled):
    net, x = Block().eval(), wisp.randn(2, 8, 6, 6)
    kept = x.clone()
    script = compiled(net) if compiled is wisp.jit.script else compiled(net, x)
    frozen = wisp.jit.freeze(script)
    text = frozen.graph.to_text(places=False)
    assert "batch_norm" not in text and "relu_" not in text and text.count("aten::conv2d") == 2
    for shape in [(2, 8, 6, 6), (1, 8, 40, 40)]:
        x = wisp.randn(shape)
        kept = x.clone()
        wisp.testing.assert_close(frozen(x), net(x), atol=1e-5, rtol=1e-5)
        assert wisp.equal(x, kept)


class WrittenBefore(Block):
    def forward(self, x):
        out = self.first(x)
        out += x
        return self.norms[0](out)


def test_norms_of_what_was_written_stay():
    net, x = WrittenBefore().eval(), wisp.randn(2, 8, 6, 6)
    frozen = wisp.jit.freeze(wisp.jit.script(net))
    assert "batch_norm" in str(frozen.graph)
    wisp.testing.assert_close(frozen(x), net(x))
