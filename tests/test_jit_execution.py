"""How compiled functions are run: context managers that switch parts of it off."""

import threading

import pytest

import wisp
from tests import fresh
from wisp import jit


@jit.script
def cell(x, w):
    h = x
    for _ in range(4):
        h = (h @ w).sigmoid() * h.tanh() + x @ w
    return h


def nodes_of(out):
    """Names of the nodes that led to a tensor."""
    found, waiting = [], [out.grad_fn]
    while waiting:
        node = waiting.pop()
        found.append(node.name())
        waiting += [parent for parent, _ in node.next_functions if parent is not None]
    return found


def test_without_optimised_execution_each_node_runs_by_itself():
    x, w = wisp.randn(2, 8), wisp.randn(8, 8)
    joined = cell(x, w)
    with jit.optimized_execution(False):
        alone = cell(x, w)
    assert wisp.allclose(joined, alone, atol=1e-6)


def test_a_joined_run_is_one_node_of_the_history_unless_it_is_switched_off():
    x, w = wisp.randn(2, 8, requires_grad=True), wisp.randn(8, 8)

    def count():
        for _ in range(3):
            out = cell(x, w)
        return len(nodes_of(out))

    joined = count()
    with jit.optimized_execution(False):
        alone = count()
        with jit.optimized_execution(True):
            assert count() == joined
    with jit.fuser("none"):
        assert count() == alone
    with jit.fuser("fuser1"):
        assert count() == joined
    assert count() == joined < alone


def test_each_thread_has_its_own():
    found = []
    x, w = wisp.randn(2, 8, requires_grad=True), wisp.randn(8, 8)
    with jit.fuser("none"):
        here = len(nodes_of(cell(x, w)))
        thread = threading.Thread(target=lambda: found.append(len(nodes_of(cell(x, w)))))
        thread.start()
        thread.join()
    assert found[0] < here


def test_an_error_inside_leaves_it_as_it_was():
    before = wisp._C._jit.execution()
    with pytest.raises(KeyError), jit.optimized_execution(False), jit.fuser("none"):
        raise KeyError
    assert wisp._C._jit.execution() == before
    with pytest.raises(ValueError, match="unrecognized fuser"):
        jit.fuser("fuser9")


def test_fusion_strategy():
    before = jit.set_fusion_strategy([("DYNAMIC", 3)])
    try:
        assert jit.set_fusion_strategy([("STATIC", 1), ("DYNAMIC", 2)]) == [("DYNAMIC", 3)]
        for wrong, error in (([("X", 1)], ValueError), ([("STATIC", "1")], TypeError)):
            with pytest.raises(error):
                jit.set_fusion_strategy(wrong)
    finally:
        assert jit.set_fusion_strategy(before) == [("STATIC", 1), ("DYNAMIC", 2)]


def test_nodes_are_an_iterator():
    kinds = [node.kind() for node in cell.graph.nodes()]
    assert "prim::Loop" in kinds and next(cell.graph.nodes()).kind() == kinds[0]


def test_strict_fusion():
    def fused(x, w):
        with jit.strict_fusion():
            a, b = (x @ w).chunk(2, 1)
            return (a.sigmoid() * 2 + b).relu()

    def alone(x):
        y = x.cumsum(0)
        with jit.strict_fusion():
            y = y * 2 + x.sort(0)[0]
        return y

    x = wisp.randn(2, 4)
    assert wisp.allclose(jit.script(fused)(x, x.t() @ x), fused(x, x.t() @ x), atol=1e-6)
    assert wisp.allclose(jit.trace(fused, (x, x.t() @ x))(x, x.t() @ x), fused(x, x.t() @ x), atol=1e-6)
    with pytest.raises(RuntimeError, match="Found unfused operators: aten::sort") as caught:
        jit.script(alone)
    assert "cumsum" not in str(caught.value)


def test_the_graph_that_was_run_last():
    twice = jit.trace(lambda x: x * 2, wisp.ones(1))

    @jit.script
    def outer(x):
        return twice(x).tanh()

    twice(wisp.ones(1))
    outer(wisp.ones(1))
    text = str(jit.last_executed_optimized_graph())
    assert "aten::mul" in text
    assert "aten::tanh" in text
    twice(wisp.ones(1))
    assert "aten::tanh" not in str(jit.last_executed_optimized_graph())
    net = jit.script(wisp.nn.Linear(2, 2))
    net(wisp.ones(1, 2))
    assert "aten::linear" in str(jit.last_executed_optimized_graph())
    jit.trace(lambda x: x * 2, wisp.ones(1), check_trace=False)(wisp.ones(1))  # is gone
    with pytest.raises(RuntimeError, match="no compiled function"):
        jit.last_executed_optimized_graph()


def test_programs_stay_python_where_the_environment_says_so(monkeypatch):
    monkeypatch.setenv("PYTORCH_JIT", "0")
    fresh.python(
        "import wisp\n"
        "from wisp import nn\n"
        "class Old(wisp.jit.ScriptModule):\n"
        "    @wisp.jit.script_method\n"
        "    def forward(self, x):\n"
        "        return {str(x): [x, None]}\n"
        "net, f = nn.Linear(1, 1), lambda x: eval('x')\n"
        "assert wisp.jit.script(f) is f and wisp.jit.script(net) is net\n"
        "assert wisp.jit.trace(net, wisp.ones(1, 1)) is net is wisp.jit.trace_module(net, {'forward': wisp.ones(1, 1)})\n"
        "assert Old()(3) == {'3': [3, None]}\n"
    )
