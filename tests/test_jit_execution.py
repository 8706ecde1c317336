"""How compiled functions are run: context managers that switch parts of it off."""

import threading

import pytest

import wisp
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
