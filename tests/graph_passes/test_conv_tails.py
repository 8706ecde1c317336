"""Sums and relu behind convolutions: what goes into one group with them, and that it computes the same."""

import pytest

import wisp
from tests.fresh import python
from wisp import nn


class Block(nn.Module):
    """A residual block, with a convolution beside the others if it changes the number of channels."""

    def __init__(self, channels, width, conv=nn.Conv2d):
        super().__init__()
        self.a, self.b = conv(channels, width, 3, padding=1), conv(width, width, 3, padding=1)
        self.beside = conv(channels, width, 1) if channels != width else nn.Identity()

    def forward(self, x):
        return (self.b(self.a(x).relu()) + self.beside(x)).relu()


def groups(frozen):
    """How many nodes of each kind there are in each group."""
    found = []
    for node in frozen.graph.nodes():
        if node.kind() == "prim::FusionGroup":
            found.append([inner.kind().removeprefix("aten::") for inner in node.blocks()[0].nodes()])
    return found


def frozen(module):
    return wisp.jit.freeze(wisp.jit.script(module.eval()))


CONVOLUTIONS = {nn.Conv1d: (40,), nn.Conv2d: (14, 15), nn.Conv3d: (5, 6, 7)}


@pytest.mark.parametrize("conv", CONVOLUTIONS)
@pytest.mark.parametrize("channels", [32, 16])
def test_a_residual_block(conv, channels):
    block = Block(channels, 32, conv)
    made = frozen(block)
    assert groups(made)[-1][-2:] == ["add", "relu"]
    for batch in (1, 3):
        x = wisp.randn(batch, channels, *CONVOLUTIONS[conv])
        with wisp.no_grad():
            wisp.testing.assert_close(made(x), block(x), rtol=1e-5, atol=1e-5)
            assert wisp.equal(made(x), made(x))


def test_the_sum_goes_to_the_convolution_that_comes_last():
    made = frozen(Block(16, 32))
    assert sorted(map(len, groups(made))) == [2, 3]
    assert sum(group.count("conv2d") for group in groups(made)) == 2


def test_relu_comes_before_pooling_again():
    net = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.MaxPool2d(3, 2))
    made = frozen(net)
    assert groups(made) == [["conv2d", "relu"]]
    x = wisp.randn(1, 3, 20, 20)
    with wisp.no_grad():
        assert wisp.equal(made(x), net(x))


def test_what_others_see_stays():
    class Seen(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(8, 8, 3)

        def forward(self, x):
            y = self.conv(x)
            return y.relu(), y

    class Doubled(Seen):
        def forward(self, x):
            y = self.conv(x)
            return (y + y).relu()

    class Scaled(Seen):
        def forward(self, x, other):
            return wisp.add(self.conv(x), other, alpha=2).relu()

    x = wisp.randn(1, 8, 12, 12)
    with wisp.no_grad():
        for module, args in ((Seen(), (x,)), (Doubled(), (x,)), (Scaled(), (x, wisp.randn(1, 8, 10, 10)))):
            made = frozen(module)
            assert not any("conv2d" in group for group in groups(made))
            wisp.testing.assert_close(made(*args), module(*args))


class Added(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(16, 16, 3, padding=1)

    def forward(self, x, other):
        return (self.conv(x) + other).relu()


OTHERS = {
    "an image": lambda: wisp.randn(1, 16, 12, 12),
    "a row that is broadcast": lambda: wisp.randn(12),
    "a number for each channel": lambda: wisp.randn(16, 1, 1),
    "a larger batch": lambda: wisp.randn(3, 16, 12, 12),
    "channels last": lambda: wisp.randn(1, 16, 12, 12).contiguous(memory_format=wisp.channels_last),
    "a view": lambda: wisp.randn(1, 12, 12, 16).permute(0, 3, 1, 2),
    "double": lambda: wisp.randn(1, 16, 12, 12).double(),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_added_may_be_anything(name):
    module, x, other = Added(), wisp.randn(1, 16, 12, 12), OTHERS[name]()
    made = frozen(module)
    with wisp.no_grad():
        wisp.testing.assert_close(made(x, other), module(x, other), rtol=1e-5, atol=1e-5)
        arranged = module.conv(x)  # lies in the order of the convolutions
        wisp.testing.assert_close(made(x, arranged), module(x, arranged), rtol=1e-5, atol=1e-5)
        wisp.testing.assert_close(made(x, x), module(x, x), rtol=1e-5, atol=1e-5)


def test_inputs_without_a_batch_and_of_other_dtypes():
    module = nn.Sequential(nn.Conv2d(16, 16, 3), nn.ReLU())
    made = frozen(module)
    with wisp.no_grad():
        for x in (wisp.randn(16, 12, 12), wisp.randn(0, 16, 12, 12), wisp.randn(2, 16, 3, 3)):
            assert wisp.equal(made(x), module(x))
    double = frozen(module.double())
    with wisp.no_grad():
        assert wisp.equal(double(wisp.ones(1, 16, 9, 9).double()), module(wisp.ones(1, 16, 9, 9).double()))
    with pytest.raises(RuntimeError, match="expected input"):
        made(wisp.randn(1, 3, 12, 12))


def test_gradients_go_through():
    module = Added()
    made = frozen(module)
    x, other = wisp.randn(1, 16, 12, 12, requires_grad=True), wisp.randn(1, 16, 12, 12, requires_grad=True)
    expected = wisp.autograd.grad(module(x, other).sum(), (x, other))
    found = wisp.autograd.grad(made(x, other).sum(), (x, other))
    wisp.testing.assert_close(found, expected)
    wisp.testing.assert_close(wisp.func.vmap(made)(x[None], other[None])[0], module(x, other))


def test_nan_and_infinity_are_not_lost():
    """relu of the library underneath would make zeros of NaN."""
    module = Added()
    made = frozen(module)
    x = wisp.randn(1, 16, 12, 12)
    with wisp.no_grad():
        for value in (
            1.0,
            float("nan"),
            float("inf"),
            float("-inf"),
            float("nan"),
            2.0,
            float("nan"),
            3.0,
            float("nan"),
        ):
            other = wisp.randn(1, 16, 12, 12)
            other[0, 3, 4, 5] = value
            wisp.testing.assert_close(made(x, other), module(x, other), rtol=1e-5, atol=1e-5, equal_nan=True)
            x[0, 5, 6, 7] = value
            wisp.testing.assert_close(made(x, x), module(x, x), rtol=1e-5, atol=1e-5, equal_nan=True)
            x[0, 5, 6, 7] = 0


def test_the_number_of_threads_changes_nothing():
    made = frozen(Block(16, 32))
    x, results = wisp.randn(2, 16, 30, 30), []
    before = wisp.get_num_threads()
    try:
        with wisp.no_grad():
            for threads in (1, 2, 3):
                wisp.set_num_threads(threads)
                results.append(made(x).clone())
    finally:
        wisp.set_num_threads(before)
    assert wisp.equal(results[0], results[1]) and wisp.equal(results[0], results[2])


def test_it_is_done_in_one_step(tmp_path):
    path = str(tmp_path / "blocks.pt")
    frozen(nn.Sequential(Block(32, 32), Block(32, 32))).save(path)
    shown = python(f"""
import os
os.environ["ONEDNN_VERBOSE"] = "1"
import wisp
made = wisp.jit.load({path!r})
with wisp.no_grad():
    made(wisp.randn(1, 32, 20, 20))
""")
    if "onednn_verbose" not in shown:
        pytest.skip("built without oneDNN")
    assert "attr-post-ops:eltwise_relu" in shown and "attr-post-ops:binary_add" in shown
