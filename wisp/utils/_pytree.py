"""Nested containers as flat lists: what function transforms take apart and put together again."""

from collections import OrderedDict, defaultdict, namedtuple
from typing import Any

PyTree = Any  # a nest, in annotations
LEAF = object()
_DICTS = (dict, OrderedDict, defaultdict)
_REGISTERED = {}  # class: (flatten, unflatten)


class TreeSpec(namedtuple("TreeSpec", "kind context children")):
    """The structure of a nest of lists, tuples, named tuples and dicts, without its leaves."""

    __slots__ = ()

    def __repr__(self):
        if self.kind is LEAF:
            return "*"
        inside = ", ".join(map(repr, self.children))
        shows_context = self.kind in _DICTS or self.kind in _REGISTERED
        return (
            f"{self.kind.__name__}({self.context}, [{inside}])"
            if shows_context
            else f"{self.kind.__name__}([{inside}])"
        )

    def is_leaf(self):
        return self.kind is LEAF

    @property
    def num_leaves(self):
        return 1 if self.kind is LEAF else sum(child.num_leaves for child in self.children)


_LEAF_SPEC = TreeSpec(LEAF, None, ())


def LeafSpec():
    """The structure of a leaf."""
    return _LEAF_SPEC


def register_pytree_node(
    cls,
    flatten_fn,
    unflatten_fn,
    *,
    serialized_type_name=None,
    to_dumpable_context=None,
    from_dumpable_context=None,
    flatten_with_keys_fn=None,
):
    """From now on objects of the class are containers: ``flatten_fn(object)`` gives their items and a context, of which
    ``unflatten_fn(items, context)`` makes an object again. What is about keys and files is not used."""
    if cls in _REGISTERED:
        raise ValueError(f"{cls} is already registered as pytree node.")
    _REGISTERED[cls] = (flatten_fn, unflatten_fn)
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn)


def _children(tree):
    """(kind, context, items) of a container, or None for a leaf."""
    kind = type(tree)
    if kind in _REGISTERED:
        items, context = _REGISTERED[kind][0](tree)
        return kind, context, list(items)
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
    if kind in _REGISTERED:
        return _REGISTERED[kind][1](items, context)
    if kind is dict or kind is OrderedDict:
        return kind(zip(context, items))
    if kind is defaultdict:
        return defaultdict(context[0], zip(context[1], items))
    if kind is namedtuple:
        return context(*items)
    if hasattr(kind, "_fields"):
        return kind(*items)
    return kind(items)


# --- for those who walk through nests by themselves

NodeDef = namedtuple("NodeDef", "type flatten_fn unflatten_fn")


def _get_node_type(tree):
    """The class of a container, and the function `namedtuple` for all that it has made."""
    return namedtuple if isinstance(tree, tuple) and hasattr(type(tree), "_fields") else type(tree)


def _flatten_once(tree):
    kind, context, items = _children(tree)
    return items, kind if _get_node_type(tree) is namedtuple else context


def _node(kind):
    return NodeDef(kind, _flatten_once, lambda items, context: _build(kind, context, items))


SUPPORTED_NODES = {kind: _node(kind) for kind in (list, tuple, *_DICTS, namedtuple)}


def tree_is_leaf(tree, is_leaf=None):
    """Whether something is no container, or one that ``is_leaf`` takes for a leaf."""
    return _children(tree) is None or (is_leaf is not None and is_leaf(tree))


def tree_flatten(tree, is_leaf=None):
    """The leaves of a nest, in order, and its structure. Whatever ``is_leaf`` is true of is a leaf."""
    leaves = []
    return leaves, _flatten(tree, leaves, is_leaf)


def _flatten(tree, leaves, is_leaf=None):
    found = None if is_leaf is not None and is_leaf(tree) else _children(tree)
    if found is None:
        leaves.append(tree)
        return _LEAF_SPEC
    kind, context, items = found
    return TreeSpec(kind, context, tuple(_flatten(item, leaves, is_leaf) for item in items))


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


def tree_map(function, tree, *others, is_leaf=None):
    """The nest with every leaf replaced by ``function(leaf, *corresponding leaves of the others)``."""
    leaves, spec = tree_flatten(tree, is_leaf)
    rest = []
    for other in others:
        other_leaves, other_spec = tree_flatten(other, is_leaf)
        if other_spec != spec:
            raise ValueError("tree_map: the nests have different structures")
        rest.append(other_leaves)
    return tree_unflatten([function(*each) for each in zip(leaves, *rest)], spec)


def tree_map_(function, tree, *others, is_leaf=None):
    """Calls a function for every leaf; the nest itself."""
    tree_map(function, tree, *others, is_leaf=is_leaf)
    return tree


def tree_map_only(kinds, function, tree, is_leaf=None):
    """The nest with the leaves of some classes (or those that a predicate is true of) replaced."""
    chosen = kinds if callable(kinds) and not isinstance(kinds, type) else lambda leaf: isinstance(leaf, kinds)
    return tree_map(lambda leaf: function(leaf) if chosen(leaf) else leaf, tree, is_leaf=is_leaf)


def tree_leaves(tree, is_leaf=None):
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree, is_leaf=None):
    return tree_flatten(tree, is_leaf)[1]


def tree_all(predicate, tree, is_leaf=None):
    """Whether a predicate is true of all leaves."""
    return all(map(predicate, tree_leaves(tree, is_leaf)))


def tree_any(predicate, tree, is_leaf=None):
    """Whether a predicate is true of any leaf."""
    return any(map(predicate, tree_leaves(tree, is_leaf)))


# --- keys of items, for those who register classes that are dicts


class MappingKey(namedtuple("MappingKey", "key")):
    """The place of an item in a dict."""

    __slots__ = ()

    def __str__(self):
        return f"[{self.key!r}]"


def _dict_flatten(tree):
    return list(tree.values()), list(tree)


def _dict_unflatten(items, context):
    return dict(zip(context, items))


def _dict_flatten_with_keys(tree):
    items, context = _dict_flatten(tree)
    return [(MappingKey(key), item) for key, item in zip(context, items)], context


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
