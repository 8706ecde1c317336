"""Nested containers as flat lists: what function transforms take apart and put together again."""

from collections import OrderedDict, defaultdict, namedtuple

LEAF = object()
_DICTS = (dict, OrderedDict, defaultdict)


class TreeSpec(namedtuple("TreeSpec", "kind context children")):
    """The structure of a nest of lists, tuples, named tuples and dicts, without its leaves."""

    __slots__ = ()

    def __repr__(self):
        if self.kind is LEAF:
            return "*"
        inside = ", ".join(map(repr, self.children))
        return (
            f"{self.kind.__name__}({self.context}, [{inside}])"
            if self.kind in _DICTS
            else f"{self.kind.__name__}([{inside}])"
        )

    @property
    def num_leaves(self):
        return 1 if self.kind is LEAF else sum(child.num_leaves for child in self.children)


_LEAF_SPEC = TreeSpec(LEAF, None, ())


def _children(tree):
    """(kind, context, items) of a container, or None for a leaf."""
    kind = type(tree)
    if kind is dict or kind is OrderedDict:
        return kind, tuple(tree), list(tree.values())
    if kind is defaultdict:
        return kind, (tree.default_factory, tuple(tree)), list(tree.values())
    if kind is list or kind is tuple:
        return kind, len(tree), list(tree)
    if isinstance(tree, tuple) and (hasattr(kind, "_fields") or hasattr(kind, "n_fields")):
        return kind, len(tree), list(tree)
    return None


def _build(kind, context, items):
    if kind is dict or kind is OrderedDict:
        return kind(zip(context, items))
    if kind is defaultdict:
        return defaultdict(context[0], zip(context[1], items))
    if hasattr(kind, "_fields"):
        return kind(*items)
    return kind(items)


def tree_flatten(tree):
    """The leaves of a nest, in order, and its structure."""
    leaves = []
    return leaves, _flatten(tree, leaves)


def _flatten(tree, leaves):
    found = _children(tree)
    if found is None:
        leaves.append(tree)
        return _LEAF_SPEC
    kind, context, items = found
    return TreeSpec(kind, context, tuple(_flatten(item, leaves) for item in items))


def tree_unflatten(leaves, spec):
    """The nest of that structure with those leaves."""
    leaves = list(leaves)
    if len(leaves) != spec.num_leaves:
        raise ValueError(f"a structure of {spec.num_leaves} leaves cannot hold {len(leaves)}")
    return _unflatten(iter(leaves), spec)


def _unflatten(leaves, spec):
    if spec.kind is LEAF:
        return next(leaves)
    return _build(spec.kind, spec.context, [_unflatten(leaves, child) for child in spec.children])


def tree_map(function, tree, *others):
    """The nest with every leaf replaced by ``function(leaf, *corresponding leaves of the others)``."""
    leaves, spec = tree_flatten(tree)
    rest = []
    for other in others:
        other_leaves, other_spec = tree_flatten(other)
        if other_spec != spec:
            raise ValueError("tree_map: the nests have different structures")
        rest.append(other_leaves)
    return tree_unflatten([function(*each) for each in zip(leaves, *rest)], spec)


def tree_leaves(tree):
    return tree_flatten(tree)[0]


def broadcast_prefix(prefix, tree, is_leaf=lambda x: x is None or isinstance(x, int)):
    """One item of ``prefix`` for every leaf of ``tree``, or None if the two do not fit. An item of the prefix stands
    for everything below its place."""
    if is_leaf(prefix):
        return [prefix] * tree_flatten(tree)[1].num_leaves
    found, wanted = _children(prefix), _children(tree)
    if found is None or wanted is None or found[:2] != wanted[:2]:
        return None
    result = []
    for part, branch in zip(found[2], wanted[2]):
        below = broadcast_prefix(part, branch, is_leaf)
        if below is None:
            return None
        result += below
    return result
