"""The listings of the talks about compiled programs, run as they stand."""

import re
import textwrap

import pytest

import wisp as torch
from wisp import jit, nn
from wisp import models as torchvision_models
from wisp.nn import Parameter


def without_names(text):
    """The text of a graph with values named by the order in which they occur, and without places and overloads."""
    text = re.sub(r"  #.*", "", str(text))
    names = {}
    text = re.sub(r"%[\w.]+", lambda found: names.setdefault(found[0], f"%{len(names)}"), text)
    text = re.sub(r"__wisp__\.\w+", "Class", text)
    return [line.strip() for line in text.strip().splitlines()]


# --- tracing


def foo(x, y):
    return 2 * x + y


def test_trace_a_function_and_a_model(tmp_path):
    traced_foo = torch.jit.trace(foo, (torch.rand(3), torch.rand(3)))
    x, y = torch.rand(4), torch.rand(4)
    assert torch.equal(traced_foo(x, y), foo(x, y))

    resnet = torchvision_models.resnet18()
    traced_resnet = torch.jit.trace(resnet.eval(), torch.rand(1, 3, 64, 64))
    traced_resnet.save(tmp_path / "serialized_resnet.pt")
    example = torch.rand(1, 3, 64, 64)
    output = torch.jit.load(tmp_path / "serialized_resnet.pt")(example)
    torch.testing.assert_close(output, resnet(example))


def foo_with_a_number(x, t):
    y = x.mm(x)
    print(y)  # still works!
    return y + t


def test_trace_with_a_number_and_save(tmp_path, capsys):
    x = torch.Tensor([[1, 2], [3, 4]])
    expected = foo_with_a_number(x, 1)
    trace = torch.jit.trace(foo_with_a_number, (x, 1))
    trace.save(tmp_path / "serialized.pt")
    printed = capsys.readouterr().out
    assert "tensor([[ 7., 10.],\n        [15., 22.]])" in printed
    assert torch.equal(torch.jit.load(tmp_path / "serialized.pt")(x, 1), expected)
    assert torch.equal(trace(x, 5), x.mm(x) + 5)


def test_a_script_that_calls_a_trace():
    def foo(x, w, t):
        y = x.mm(w)
        return y + t

    trace = torch.jit.trace(foo, (torch.ones(1, 2), torch.ones(2, 2), torch.ones(2)))

    @torch.jit.script
    def bar(x, w):
        y = torch.zeros(1, 2)
        for t in x:
            y = trace(y, w, t)
        return y

    x, w = torch.rand(5, 2), torch.rand(2, 2)
    y = torch.zeros(1, 2)
    for t in x:
        y = foo(y, w, t)
    assert torch.equal(bar(x, w), y)


class MyCell(torch.nn.Module):
    def __init__(self):
        super(MyCell, self).__init__()  # noqa: UP008
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x, h):
        new_h = torch.tanh(self.linear(x) + h)
        return new_h, new_h


def test_the_graph_of_a_traced_cell():
    my_cell = MyCell()
    x, h = torch.rand(3, 4), torch.rand(3, 4)
    traced_cell = torch.jit.trace(my_cell, (x, h))
    shown = textwrap.dedent("""
        graph(%self : Class, %input : Float(3, 4), %h : Float(3, 4)):
        %19 : Class = prim::GetAttr[name="linear"](%self)
        %21 : Tensor = prim::CallMethod[name="forward"](%19, %input)
        %12 : int = prim::Constant[value=1]()
        %13 : Float(3, 4) = aten::add(%21, %h, %12)
        %14 : Float(3, 4) = aten::tanh(%13)
        %15 : (Float(3, 4), Float(3, 4)) = prim::TupleConstruct(%14, %14)
        return (%15)
    """)
    assert without_names(traced_cell.graph) == without_names(shown)
    assert torch.equal(traced_cell(x, h)[0], my_cell(x, h)[0])


# --- scripts


class RNN(torch.jit.ScriptModule):
    def __init__(self, W_h, U_h, W_y, b_h, b_y):
        super(RNN, self).__init__()  # noqa: UP008
        self.W_h = nn.Parameter(W_h)
        self.U_h = nn.Parameter(U_h)
        self.W_y = nn.Parameter(W_y)
        self.b_h = nn.Parameter(b_h)
        self.b_y = nn.Parameter(b_y)

    @torch.jit.script_method
    def forward(self, x, h):
        y = []
        for t in range(x.size(0)):
            h = torch.tanh(x[t] @ self.W_h + h @ self.U_h + self.b_h)
            y += [torch.tanh(h @ self.W_y + self.b_y)]
            if t % 10 == 0:
                print("stats: ", h.mean(), h.var())
        return torch.stack(y), h


def test_rnn(capsys):
    rnn = RNN(torch.randn(3, 4), torch.randn(4, 4), torch.randn(4, 2), torch.randn(4), torch.randn(2))
    y, h = rnn(torch.randn(11, 5, 3), torch.zeros(5, 4))
    assert y.shape == (11, 5, 2)
    assert h.shape == (5, 4)
    assert capsys.readouterr().out.count("stats:  tensor(") == 2
    y.sum().backward()
    assert rnn.U_h.grad is not None


class MyModule(torch.jit.ScriptModule):
    def __init__(self, N, M):
        super(MyModule, self).__init__()  # noqa: UP008
        self.weight = torch.nn.Parameter(torch.rand(N, M))

    @torch.jit.script_method
    def forward(self, input):
        if bool(input.sum() > 0):
            output = self.weight.mv(input)
        else:
            output = self.weight + input
        return output


def test_under_the_hood(tmp_path):
    ms = MyModule(3, 4)
    assert re.fullmatch(r"tensor\(0\.\d+, grad_fn=<SelectBackward0>\)", str(ms.weight[1, 2]))
    result = ms(torch.rand(4))
    assert result.shape == (3,)
    assert "MvBackward" in str(result)
    kinds = [line.partition(" = ")[2].partition("(")[0] for line in without_names(ms.graph)]
    assert [kind for kind in kinds if kind.startswith("aten::")] == [
        "aten::sum", "aten::gt", "aten::Bool.Tensor", "aten::mv", "aten::add",
    ]  # fmt: skip
    assert kinds.count("prim::If") == 1
    printed = ms.graph.pretty_print()
    assert printed.startswith("def graph(self")
    assert re.search(r"if bool\(.*sum\(input.*> 0\)", printed)
    ms.save(tmp_path / "mymodel.pt")
    x = torch.rand(4)
    assert torch.equal(torch.jit.load(tmp_path / "mymodel.pt")(x), ms(x))


def test_predictable_error_messages():
    class Wrong(torch.jit.ScriptModule):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.rand(3, 4))

        @torch.jit.script_method
        def forward(self, input):
            if bool(input.sum() > 0):
                output = self.weight.mv(inpu)  # noqa: F821
            else:
                output = self.weight + input
            return output

    with pytest.raises(RuntimeError) as error:
        Wrong()
    lines = str(error.value).splitlines()
    assert "inpu" in lines[0]
    at = next(i for i, line in enumerate(lines) if "<--- HERE" in line)
    assert lines[at - 1][lines[at].index("~") :].startswith("inpu)")
    assert lines[at].strip() == "~~~~ <--- HERE"

    with pytest.raises(RuntimeError) as error:
        MyModule(3, 4)(torch.rand(111))
    lines = str(error.value).splitlines()
    assert "size mismatch" in lines[0]
    at = next(i for i, line in enumerate(lines) if "<--- HERE" in line)
    assert lines[at - 1].strip() == "output = self.weight.mv(input)"


class LSTMCell(jit.ScriptModule):
    def __init__(self, input_size, hidden_size):
        super(LSTMCell, self).__init__()  # noqa: UP008
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.weight_ih = Parameter(torch.randn(4 * hidden_size, input_size))
        self.weight_hh = Parameter(torch.randn(4 * hidden_size, hidden_size))
        self.bias_ih = Parameter(torch.randn(4 * hidden_size))
        self.bias_hh = Parameter(torch.randn(4 * hidden_size))

    @jit.script_method
    def forward(self, input, state):
        # type: (Tensor, Tuple[Tensor, Tensor]) -> Tuple[Tensor, Tuple[Tensor, Tensor]]
        hx, cx = state
        gates = torch.mm(input, self.weight_ih.t()) + self.bias_ih + torch.mm(hx, self.weight_hh.t()) + self.bias_hh
        ingate, forgetgate, cellgate, outgate = gates.chunk(4, 1)

        ingate = torch.sigmoid(ingate)
        forgetgate = torch.sigmoid(forgetgate)
        cellgate = torch.tanh(cellgate)
        outgate = torch.sigmoid(outgate)

        cy = (forgetgate * cx) + (ingate * cellgate)
        hy = outgate * torch.tanh(cy)

        return hy, (hy, cy)


def test_lstm_cell_agrees_with_the_layer():
    cell, layer = LSTMCell(3, 4), nn.LSTMCell(3, 4)
    layer.load_state_dict(cell.state_dict())
    x, state = torch.rand(2, 3), (torch.rand(2, 4), torch.rand(2, 4))
    hy, (_, cy) = cell(x, state)
    for ours, theirs in zip((hy, cy), layer(x, state), strict=True):
        torch.testing.assert_close(ours, theirs)
    optimized = cell.graph.copy()
    optimized.optimize()
    torch.testing.assert_close(optimized.run(cell, x, state)[0], hy)
