"""Nests of containers as lists of leaves, with classes of users among the containers."""

from collections import OrderedDict, defaultdict, namedtuple

import pytest

import wisp
from wisp.utils import _pytree as pytree


class Pair:
    def __init__(self, left, right):
        self.left, self.right = left, right


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setattr(pytree, "_REGISTERED", {})
    monkeypatch.setattr(pytree, "SUPPORTED_NODES", dict(pytree.SUPPORTED_NODES))
    pytree.register_pytree_node(Pair, lambda p: ([p.left, p.right], "pair"), lambda items, context: Pair(*items))


def test_registered_classes_are_containers():
    nest = {"a": Pair(1, [2, 3]), "b": 4}
    leaves, spec = pytree.tree_flatten(nest)
    assert leaves == [1, 2, 3, 4] and "Pair(pair, [*, list([*, *])])" in repr(spec)
    again = pytree.tree_map(lambda x: x * 10, nest)
    assert isinstance(again["a"], Pair) and again["a"].right == [20, 30]
    with pytest.raises(ValueError, match="already registered"):
        pytree.register_pytree_node(Pair, None, None)
    batched = wisp.vmap(lambda p: p.left + p.right)(Pair(wisp.ones(3), wisp.arange(3.0)))
    assert batched.tolist() == [1, 2, 3]


def test_leaves_are_chosen():
    nest = [(1, 2), {"x": (3, 4)}]
    is_pair = lambda x: isinstance(x, tuple)
    assert pytree.tree_leaves(nest, is_leaf=is_pair) == [(1, 2), (3, 4)]
    assert pytree.tree_map(sum, nest, is_leaf=is_pair) == [3, {"x": 7}]
    assert pytree.tree_map_only(int, str, [1, 2.0, ("a", 3)]) == ["1", 2.0, ("a", "3")]
    assert pytree.tree_map_only(lambda x: x > 1, lambda x: 0, [1, 2]) == [1, 0]
    assert pytree.tree_all(lambda x: x > 0, nest) and not pytree.tree_any(lambda x: x > 4, nest)
    assert pytree.tree_is_leaf(3) and not pytree.tree_is_leaf([3]) and pytree.tree_structure(3).is_leaf()
    seen = []
    assert pytree.tree_map_(seen.append, nest) is nest and seen == [1, 2, 3, 4]


def test_nodes_can_be_walked_through_by_hand():
    """One level at a time, as those do who keep something beside every container."""
    Point = namedtuple("Point", "x y")
    for nest in ([1, 2], (1, 2), {"a": 1, "b": 2}, OrderedDict(a=1), defaultdict(list, a=1), Point(1, 2), Pair(1, 2)):
        node = pytree.SUPPORTED_NODES[pytree._get_node_type(nest)]
        items, context = node.flatten_fn(nest)
        again = node.unflatten_fn([item * 10 for item in items], context)
        assert type(again) is type(nest) and pytree.tree_leaves(again) == [
            10 * leaf for leaf in pytree.tree_leaves(nest)
        ]
    assert pytree.LeafSpec() == pytree.tree_structure(3)
