"""Compiled functions and modules as Python objects; freezing; the drawing of graphs."""

import copy
import pickle
import subprocess
import sys
import threading
import time
from html.parser import HTMLParser

import pytest

import wisp
from wisp import nn
from wisp.jit import ScriptModule, freeze, graph_html, optimize_for_inference, script, script_method, trace


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.drop = nn.Dropout(0.5)
        self.out = nn.Linear(4, 3)

    def forward(self, x):
        x = wisp.relu(self.norm(self.conv(x)))
        return self.out(self.drop(x).mean(dim=(2, 3)))

    @wisp.jit.export
    def features(self, x):
        return self.norm(self.conv(x))


def trained():
    net = Net()
    for _ in range(3):
        net(wisp.randn(4, 1, 8, 8))
    return net


X = wisp.linspace(0, 1, 2 * 64).reshape(2, 1, 8, 8)


def kinds(graph):
    return [node.kind() for node in graph.nodes()]


# --- modules


@pytest.mark.parametrize("compiled", [script, lambda net: trace(net, X)])
def test_a_compiled_module_is_a_module(compiled):
    net = trained().eval()
    made = compiled(net)
    assert isinstance(made, nn.Module)
    assert isinstance(made, ScriptModule)
    assert [name for name, _ in made.named_modules()] == [name for name, _ in net.named_modules()]
    assert [name for name, _ in made.named_buffers()] == [name for name, _ in net.named_buffers()]
    assert all(a is b for a, b in zip(made.parameters(), net.parameters(), strict=True))
    assert list(made.state_dict()) == list(net.state_dict())
    wisp.testing.assert_close(made(X), net(X))


def test_training_mode():
    net = trained()
    made = script(net)
    assert made.training
    assert not wisp.equal(made(X), made(X))
    made.eval()
    assert not made.drop.training
    assert wisp.equal(made(X), made(X))
    assert net.training  # the flag is each one's own


def test_attributes_and_methods():
    made = script(trained().eval())
    assert wisp.equal(made.features(X), made.norm(made.conv(X)))
    assert made.conv.weight.shape == (4, 1, 3, 3)
    assert {"conv", "features", "forward", "training"} <= set(dir(made))
    with pytest.raises(AttributeError, match="absent"):
        _ = made.absent
    with pytest.raises(RuntimeError, match="cannot get another member"):
        made.more = nn.Linear(1, 1)
    made.note = "what Python code likes to keep"
    assert made.note.startswith("what")
    assert "Net" in repr(made)


def test_setting_attributes_changes_what_is_computed():
    class Scale(nn.Module):
        factor: int

        def __init__(self):
            super().__init__()
            self.factor = 2
            self.weight = nn.Parameter(wisp.ones(2))

        def forward(self, x):
            return x * self.factor * self.weight

    made = script(Scale())
    assert made(wisp.ones(2)).tolist() == [2.0, 2.0]
    made.factor = 5
    assert made.factor == 5
    made.weight = nn.Parameter(wisp.full((2,), 3.0))
    assert made(wisp.ones(2)).tolist() == [15.0, 15.0]
    with pytest.raises(RuntimeError, match="Expected a value of type 'int' for attribute 'factor'"):
        made.factor = "three"


def test_conversions_reach_the_program():
    made = script(trained().eval())
    made.double()
    assert made.norm.running_mean.dtype == wisp.float64
    assert made(X.double()).dtype == wisp.float64
    made.to(wisp.float32)
    state = {name: wisp.zeros_like(value) for name, value in made.state_dict().items()}
    made.load_state_dict(state)
    assert made(X).abs().sum().item() == 0


def test_copies():
    made = script(trained().eval())
    other = copy.deepcopy(made)
    with wisp.no_grad():
        other.out.bias.add_(1)
    wisp.testing.assert_close(other(X), made(X) + 1)
    assert type(other.out.bias) is nn.Parameter
    assert other.out.bias.requires_grad
    with pytest.raises(TypeError, match="jit.save"):
        pickle.dumps(made)
    with pytest.raises(TypeError, match="jit.save"):
        pickle.dumps(script(lambda_free))


def lambda_free(x):
    return x + 1


def test_hooks_run():
    made, seen = script(trained().eval()), []
    made.register_forward_hook(lambda module, args, out: seen.append(out.shape))
    made(X)
    assert seen == [(2, 3)]


def test_members_keep_their_python_objects():
    made = script(trained())
    assert made.conv is made.conv
    made.conv.weight.mark = 3
    assert made.conv.weight.mark == 3
    assert type(made._c.part("conv").get("weight")) is nn.Parameter


def test_script_module_in_the_style_of_the_talks():
    class Cell(ScriptModule):
        __constants__ = ("size",)

        def __init__(self, size):
            super().__init__()
            self.size = size
            self.weight = nn.Parameter(wisp.full((size, size), 0.5))
            self.inner = nn.Linear(size, size)

        @script_method
        def forward(self, x, h):
            for _ in range(x.size(0)):
                if bool(h.sum() > 0):
                    h = wisp.tanh(h @ self.weight)
                else:
                    h = self.inner(h)
            return h

        def plain(self):
            return "Python"

    cell = Cell(3)
    assert cell.plain() == "Python"
    assert cell.weight[1, 2].item() == 0.5
    assert isinstance(cell, Cell)
    x, h = wisp.ones(2, 1), wisp.ones(1, 3)
    wisp.testing.assert_close(cell(x, h), wisp.tanh(wisp.tanh(h @ cell.weight) @ cell.weight))
    cell(x, h).sum().backward()
    assert cell.weight.grad is not None
    assert {"prim::Loop"} <= set(kinds(cell.graph))
    assert [name for name, _ in cell.named_parameters()] == ["weight", "inner.weight", "inner.bias"]
    assert list(copy.deepcopy(cell).state_dict()) == list(cell.state_dict())


# --- functions


def test_arguments_of_compiled_functions():
    @script
    def f(x: wisp.Tensor, n: int = 2, *, up: bool = False) -> wisp.Tensor:
        return x + n if up else x - n

    x = wisp.zeros(1)
    assert f(x).item() == -2
    assert f(x, 3).item() == -3
    assert f(n=4, x=x, up=True).item() == 4
    for args, kwargs, message in (
        ((), {}, r"missing value for argument 'x'"),
        ((3,), {}, r"Expected a value of type 'Tensor' for argument 'x' but instead found type 'int'"),
        ((x, "a"), {}, r"Expected a value of type 'int' for argument 'n' but instead found type 'str'"),
        ((x, 1.5), {}, r"Expected a value of type 'int'"),
        ((x,), {"m": 1}, r"unexpected keyword argument 'm'"),
        ((x,), {"x": x}, r"multiple values for argument 'x'"),
        ((x, 1, True, 4), {}, r"expected at most 3 argument"),
    ):
        with pytest.raises(RuntimeError, match=message):
            f(*args, **kwargs)
    assert f.name == "f"
    assert f.schema.startswith("f(Tensor x, int n=2")
    assert f.code.startswith("def f(")


def test_values_of_all_kinds_pass_the_border():
    from typing import NamedTuple

    class Point(NamedTuple):
        x: int
        y: wisp.Tensor

    @script
    def f(
        a: int, b: float, c: bool, d: str, e: int | None, g: list[int], h: tuple[int, str], i: dict[str, wisp.Tensor],
        j: wisp.dtype, k: wisp.device,
    ):  # fmt: skip
        return a, b, c, d, e, g, h, i, j, k

    x = wisp.ones(1)
    values = (1, 2, True, "é", None, [1, 2], (3, "x"), {"t": x}, wisp.float16, wisp.device("cpu"))
    result = f(*values)
    assert result == values
    assert type(result[1]) is float
    assert result[7]["t"] is x

    given = [1, 2]

    @script
    def grow(items: list[int]):
        items.append(3)
        return items

    assert grow(given) == [1, 2, 3]
    assert given == [1, 2]  # lists are copied

    @script
    def moved(p: Point) -> Point:
        return Point(p.x + 1, p.y)

    assert moved(Point(1, x)).x == 2
    for wrong in ([1, "a"], {"a": 1}, (1,), 3):
        with pytest.raises(RuntimeError, match="Expected a value of type"):
            moved(wrong)


# --- freezing


def test_freezing_folds_what_is_fixed():
    frozen = freeze(trace(trained().eval(), X))
    operators = [kind for kind in kinds(frozen.graph) if kind != "prim::Constant"]
    assert operators == ["aten::conv2d", "aten::relu", "aten::mean.dim", "aten::linear"]


@pytest.mark.parametrize("compiled", [script, lambda net: trace(net, X)])
def test_frozen_modules_compute_the_same(compiled):
    net = trained().eval()
    frozen = freeze(compiled(net))
    assert list(frozen.parameters()) == []
    assert not {"prim::GetAttr", "prim::CallMethod", "aten::dropout"} & set(kinds(frozen.graph))
    for shape in ((2, 1, 8, 8), (5, 1, 9, 12)):
        x = wisp.rand(shape)
        wisp.testing.assert_close(frozen(x), net(x))


def test_frozen_modules_keep_what_they_are_asked_to():
    made = script(trained().eval())
    frozen = freeze(made, ["features"])
    wisp.testing.assert_close(frozen.features(X), made.features(X))

    class Counter(nn.Module):
        count: int

        def __init__(self):
            super().__init__()
            self.count = 0
            self.weight = nn.Parameter(wisp.ones(1))
            self.register_buffer("seen", wisp.zeros(1))

        def forward(self, x):
            self.count += 1
            self.seen.add_(1)
            return x * self.weight * self.count + self.seen

    counter = freeze(script(Counter().eval()))
    assert [counter(wisp.ones(1)).item() for _ in range(3)] == [2.0, 4.0, 6.0]
    assert counter.count == 3


def test_what_cannot_be_frozen():
    with pytest.raises(RuntimeError, match="training mode"):
        freeze(script(trained()))
    with pytest.raises(RuntimeError, match="expects a ScriptModule"):
        freeze(trained())


def test_optimize_for_inference():
    net = trained()
    fast = optimize_for_inference(script(net))
    net.eval()
    wisp.testing.assert_close(fast(X), net(X))


# --- futures


def test_fork_and_wait():
    future = wisp.jit.fork(lambda x: x * 2, wisp.ones(1))
    assert wisp.jit.wait(future).item() == 2
    assert future.done()
    assert future.then(lambda f: f.value() + 1).wait().item() == 3
    failing = wisp.jit.fork(lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        failing.wait()


# --- the interpreter


def test_memory_is_freed_at_the_last_use():
    @script
    def chain(x, n: int):
        for _ in range(n):
            x = (x + 1).sqrt().mul(2)
        return x

    x = wisp.ones(1 << 20)
    start = wisp.memory.current()
    wisp.memory.reset_peak()
    chain(x, 50)
    assert wisp.memory.peak() - start <= 2.1 * 4 * x.numel()  # an operand and a result


def test_values_go_round_all_at_once():
    @script
    def fibonacci(n: int):
        a, b = 0, 1
        for _ in range(n):
            a, b = b, a + b
        return a

    assert [fibonacci(n) for n in range(10)] == [0, 1, 1, 2, 3, 5, 8, 13, 21, 34]


def test_large_dicts():
    @script
    def count(n: int):
        table: dict[int, int] = {}
        for i in range(n):
            key = i % (n // 2)
            table[key] = table.get(key, 0) + i
        table.pop(3)
        return len(table), table[5], 3 in table, table

    length, sum_at_5, has_3, table = count(40_000)
    assert (length, sum_at_5, has_3) == (19_999, 5 + 20_005, False)
    assert list(table)[:4] == [0, 1, 2, 4]


def test_defaults_and_constants_are_fresh_in_each_call():
    @script
    def f(items: list[int] = [1]):  # noqa: B006
        items.append(2)
        return items

    assert f() == [1, 2]
    assert f() == [1, 2]
    graph = wisp._C._jit.parse_graph("""graph(%n : int):
  %l : int[] = prim::Constant[value=[1]]()
  %m : int[] = prim::UncheckedCast(%l)
  aten::append.t(%m, %n)
  return (%m)
""")
    assert graph.run(5) == [1, 5]
    assert graph.run(6) == [1, 6]


def test_errors_show_the_chain_of_calls():
    @script
    def inner(x, y):
        return x @ y

    @script
    def outer(x):
        z = x + 1
        return inner(z, x)

    with pytest.raises(RuntimeError) as error:
        outer(wisp.ones(2, 3))
    lines = str(error.value).splitlines()
    places = [line for line in lines if line.startswith("  File ")]
    assert [place.rpartition(" in ")[2] for place in places] == ["outer", "inner"]
    assert lines[-2].strip() == "return x @ y"
    assert lines[-1].strip() == "~~~~~ <--- HERE"


def test_errors_keep_their_types():
    @script
    def fail(kind: int):
        if kind == 0:
            raise ValueError("a value")
        if kind == 1:
            raise KeyError("a key")
        if kind == 2:
            return [1][kind + 3]
        assert kind != 3, "asserted"
        return 1 // (kind - 4)

    for kind, cls in enumerate((ValueError, KeyError, IndexError, AssertionError, ZeroDivisionError)):
        with pytest.raises(cls, match="HERE"):
            fail(kind)


def down(n: int) -> int:
    return n if n == 0 else down(n - 1)


def test_recursion_ends_in_an_error():
    compiled = script(down)
    assert compiled(500) == 0
    with pytest.raises(RecursionError, match="maximum recursion depth"):
        compiled(10_000_000)


CHAIN = """program 1
class __wisp__.Link {
  plain next : __wisp__.Link?
}
function chain {
  graph(%n : int):
    %t : bool = prim::Constant[value=True]()
    %none : NoneType = prim::Constant[value=None]()
    %last : __wisp__.Link? = prim::Loop(%n, %t, %none)
      block0(%i : int, %before : __wisp__.Link?):
        %link : __wisp__.Link = prim::CreateObject[name="__wisp__.Link"]()
        prim::SetAttr[name="next"](%link, %before)
        -> (%t, %link)
    %is : bool = aten::eq.any(%last, %none)
    return (%is)
}
"""


def test_long_chains_of_objects_are_freed():
    program = wisp._C._jit.Program()
    program.parse(CHAIN)
    assert program.function("chain")(1_000_000) is False


def test_ctrl_c_ends_a_loop(tmp_path):
    code = """
import signal, threading, time, os, wisp
@wisp.jit.script
def forever(x):
    while True:
        x = x + 1
    return x
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    forever(wisp.ones(1))
except KeyboardInterrupt:
    print("interrupted")
"""
    path = tmp_path / "forever.py"
    path.write_text(code)
    output = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=60, check=False)
    assert "interrupted" in output.stdout, output.stderr


def test_other_threads_run_during_a_loop():
    @script
    def busy(x, n: int):
        for _ in range(n):
            x = x + 1
        return x

    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(1)
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    busy(wisp.ones(1), 500_000)
    done.set()
    thread.join()
    assert len(ticks) > 3


def test_functions_run_on_several_threads():
    @script
    def f(x):
        for i in range(20):
            x = x * 2 - i
        return x

    results = {}

    def run(i):
        results[i] = f(wisp.full((3,), float(i)))

    threads = [threading.Thread(target=run, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(wisp.equal(results[i], f(wisp.full((3,), float(i)))) for i in range(8))


def test_autograd_sees_what_it_sees_of_python():
    def f(x, w):
        for i in range(3):
            x = wisp.tanh(x @ w) + i
        return x.sum()

    compiled = script(f)
    x, w = wisp.randn(2, 3), wisp.randn(3, 3)
    grads = []
    for each in (f, compiled):
        a, b = x.clone().requires_grad_(), w.clone().requires_grad_()
        each(a, b).backward()
        grads.append((a.grad, b.grad))
    assert all(wisp.equal(a, b) for a, b in zip(*grads, strict=True))
    wisp.testing.assert_close(wisp.func.grad(compiled)(x, w), wisp.func.grad(f)(x, w))
    with wisp.no_grad():
        assert compiled(x.clone().requires_grad_(), w).requires_grad is False


# --- drawing


class Reader(HTMLParser):
    """Checks that tags are closed, and collects the boxes."""

    def __init__(self):
        super().__init__()
        self.open, self.tips, self.edges, self.links = [], [], 0, []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag != "meta":
            self.open.append(tag)
        self.tips += [attrs["data-tip"]] if "data-tip" in attrs else []
        self.edges += tag == "path"
        self.links += [value for name, value in attrs.items() if name in ("src", "href")]

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_a_page_that_draws_a_graph():
    @script
    def f(x, n: int):
        for i in range(n):
            if i % 2 == 0:
                x = x + 1
            else:
                x = x * 2
        return x

    page = graph_html(f)
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    assert reader.links == []
    assert "http" not in page.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert sum("aten::add" in tip for tip in reader.tips) == 1
    assert any("prim::Loop" in tip and "test_jit_module.py" in tip for tip in reader.tips)
    assert reader.edges >= 5
    large = graph_html(trace(trained().eval(), X).inlined_graph, "<net>")
    assert "<title>&lt;net&gt;</title>" in large


def test_boxes_do_not_overlap():
    from wisp.jit._layout import Drawing

    @script
    def f(x, n: int):
        y = x
        for i in range(n):
            if i % 2 == 0:
                y = y + x
            else:
                y = wisp.cat([y, x, wisp.exp(y)])[: x.size(0)]
        return y, x.sum(), wisp.stack([x, y.sum().expand(x.size(0))])

    drawing = Drawing(f.graph)
    inside = {id(each): box for box in drawing.boxes for each in box.inner}
    for a in drawing.boxes:
        around = inside.get(id(a))
        if around is not None:
            assert around.x <= a.x
            assert a.x + a.width <= around.x + around.width
            assert around.y < a.y
            assert a.bottom < around.bottom
        for b in drawing.boxes:
            if a is not b and inside.get(id(b)) is around:
                apart = a.x + a.width <= b.x or b.x + b.width <= a.x or a.bottom <= b.y or b.bottom <= a.y
                assert apart, (a.label, b.label)
    assert all(0 <= box.x and box.x + box.width <= drawing.width + 1 for box in drawing.boxes)
