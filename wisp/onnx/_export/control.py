"""Containers, calls of attributes, branches and loops."""

from dataclasses import replace

import wisp
from wisp.onnx._export.inner import add, add_loop, graph_of
from wisp.onnx._export.sequences import Growing, begun, grow, unified
from wisp.onnx._export.values import (
    Items,
    Poisoned,
    Ref,
    Undefined,
    Unsupported,
    defined_like,
    is_sequence,
    is_static,
    leaves,
)
from wisp.onnx._export.writes import Writes

_UNROLLED = 512  # rounds at most


def _constant(walker, node, args):
    value = node.attributes["value"]
    if isinstance(value, wisp.Tensor):
        return [walker.g.constant(value)]
    return [Items(value, walker.g.depth) if isinstance(value, list) else value]


def _dict(walker, node, args):
    return [dict(zip(args[::2], args[1::2], strict=True))]


def _unpacked(walker, node, args):
    if isinstance(args[0], Ref) or len(args[0]) != len(node.outputs()):
        raise Unsupported(f"it gives another number of items than {len(node.outputs())}")
    return list(args[0])


def _attribute(walker, node, args):
    return [walker.attribute(args[0], node.attributes["name"])]


def _set_attribute(walker, node, args):
    owner, path = args[0]
    walker.owners[path] = owner
    walker.attributes[path, node.attributes["name"]] = walker.env[node.inputs()[1]]
    return []


def _changed(walker, after):
    """The attributes that an inner graph has set, given those at its end."""
    return [key for key, value in after.items() if walker.attributes.get(key) is not value]


# --- branches


def _raises(block):
    return any(node.kind() == "prim::RaiseException" for node in block.nodes())


def _if(walker, node, args):
    blocks = node.blocks()
    taken = None
    if not isinstance(args[0], Ref):
        taken = blocks[0 if args[0] else 1]
    elif any(map(_raises, blocks)):  # ONNX has no errors: what is checked is taken to hold
        taken = blocks[1 if _raises(blocks[0]) else 0]
    if taken is not None:
        return walker.run(taken, [])
    branches, results, attributes, lists = _branches(walker, blocks)
    made, outputs = [], []
    for pair in zip(*results, strict=True):
        made.append(_joined(walker.g, *pair, outputs))
    for key in dict.fromkeys(key for after in attributes for key in _changed(walker, after)):
        pair = [after[key] if key in after else walker.attribute_at(key) for after in attributes]
        walker.attributes[key] = _joined(walker.g, *pair, outputs)
    count = len(made) - len(lists)
    grow(lists, made[count:])
    made = made[:count]
    if not outputs:
        return made
    graphs = [
        graph_of(walker.g, name, nodes, [], [o[1 + i] for o in outputs], [o[0] for o in outputs])
        for i, (name, nodes) in enumerate(zip(("then", "else"), branches, strict=True))
    ]
    add(walker.g, "If", [args[0]], [o[0] for o in outputs], then_branch=graphs[0], else_branch=graphs[1])
    return made


def _branches(walker, blocks):
    """(nodes, results, attributes at the end) of each branch, and the lists that they add to, which are results too."""
    lists, problems = [], len(walker.problems)
    while True:
        branches, results, attributes = [], [], []
        for block in blocks:
            grown = Growing(walker.g, lists, [start for _, start in lists])
            with walker.g.scope() as nodes, grown:
                result, after = _isolated(walker, block, [])
            branches.append(nodes)
            results.append([*result, *grown.results])
            attributes.append(after)
        more = begun(walker.g, lists)
        if not more:
            return branches, results, attributes, lists
        del walker.problems[problems:]
        lists += more


def _isolated(walker, block, args, attributes=None):
    """The results of a block whose writes are not seen outside of it, and the attributes that are set at its end."""
    outer, around = walker.writes, walker.attributes
    walker.writes, walker.attributes = Writes(walker.g), {**around, **(attributes or {})}
    walker.writes.adopt(outer)
    try:
        results = walker.run(block, args)
        return results, {key: walker.writes.newest(value) for key, value in walker.attributes.items()}
    finally:
        walker.writes, walker.attributes = outer, around


def _joined(g, one, other, outputs):
    """What is either of two values; those that have to be computed are added to outputs: (result, one, other)."""
    for value in (one, other):
        if isinstance(value, Poisoned):
            return value
    if isinstance(one, Undefined):
        one = defined_like(g, other)
    elif isinstance(other, Undefined):
        other = defined_like(g, one)
    if isinstance(one, Undefined):  # so are both
        return one
    if isinstance(one, (list, tuple)) and isinstance(other, type(one)) and len(one) == len(other):
        return type(one)(_joined(g, a, b, outputs) for a, b in zip(one, other, strict=True))
    if is_static(one) and is_static(other) and type(one) is type(other) and one == other:
        return one
    if one is None or other is None or isinstance(one, (list, tuple, str)) or isinstance(other, (list, tuple, str)):
        raise Unsupported("its branches give values of different kinds")
    dtype = next((v.dtype for v in (one, other) if isinstance(v, Ref)), None) or wisp.tensor(one).dtype
    one, other = (v if isinstance(v, Ref) else g.number(v, dtype) for v in (one, other))
    if one.dtype != other.dtype:
        raise Unsupported(f"its branches give tensors of {one.dtype} and {other.dtype}")
    made = Ref(
        g.fresh("if"), one.dtype, unified(one.sizes, other.sizes), one.number, depth=g.depth, sequence=one.sequence
    )
    outputs.append((made, one, other))
    return made


# --- loops


def _loop(walker, node, args):
    """A Loop; where that cannot be, and the number of rounds is known, one round after the other."""
    trips, condition, carried = args[0], args[1], args[2:]
    mark, problems = walker.g.mark(), len(walker.problems)
    unrolls = not isinstance(trips, Ref) and not isinstance(condition, Ref) and trips <= _UNROLLED
    try:
        made = _as_loop(walker, node, (trips, condition), carried, not unrolls)
        if len(walker.problems) == problems:
            return made
        reason = None
    except Unsupported as error:
        reason = error
    if not unrolls:
        if reason is not None:
            raise reason
        return made
    walker.g.rewind(mark)
    del walker.problems[problems:]
    return _round_by_round(walker, node.blocks()[0], trips, condition, carried)


def _round_by_round(walker, body, trips, condition, carried):
    for i in range(trips if condition else 0):
        condition, *carried = walker.run(body, [i, *carried])
        if isinstance(condition, Ref):
            raise Unsupported("it ends depending on what is computed, and changes values that a Loop cannot carry")
        if not condition:
            break
    return carried


def _as_loop(walker, node, control, carried, may_grow):
    """A Loop. It carries the attributes that its body sets too and, if they may grow, the lists that it adds to."""
    g, body, keys, lists = walker.g, node.blocks()[0], [], []
    own = carried = [_opened(g, value) for value in carried]
    problems = len(walker.problems)
    while True:
        params = [_param(g, value) for value in carried]
        index = Ref(g.fresh("i"), wisp.int64, (), True, depth=g.depth + 1)
        attributes = dict(zip(keys, params[len(own) :]))
        grown = Growing(g, lists, params[len(own) + len(keys) :])
        with g.scope() as nodes, grown:
            (again, *results), after = _isolated(walker, body, [index, *params[: len(own)]], attributes)
        more = [key for key in _changed(walker, after) if key not in keys], begun(g, lists, may_grow)
        if any(more):  # which it carries from now on
            del walker.problems[problems:]
            keys, lists = keys + more[0], lists + more[1]
            carried = [*own, *(_opened(g, walker.attribute_at(key)) for key in keys), *(start for _, start in lists)]
            continue
        if any(map(is_sequence, [*params, *results])) or any(map(_is_longer, carried, params)):
            raise Unsupported("a loop changes the length of a list that it hands on")
        results += [*(after[key] for key in keys), *grown.results]
        if any(isinstance(leaf, Poisoned) for leaf in leaves([again, *results])):
            return [Poisoned("?") for _ in own]
        if any(map(_gets_value, carried, results)):
            carried = [_begun(g, value, result) for value, result in zip(carried, results, strict=True)]
            own = carried[: len(own)]
            continue
        wider = [_widened(param, result) for param, result in zip(params, results, strict=True)]
        if all(a.sizes == b.sizes for a, b in zip(_refs(wider), _refs(params), strict=True)):
            break
        carried = [_with_sizes(value, wide) for value, wide in zip(carried, wider, strict=True)]
    made = [_param(g, value) for value in wider]
    for ref in _refs(made):
        ref.depth = g.depth
    add_loop(g, nodes, (index, *control, again), (_refs(carried), _refs(params), _refs(results), _refs(made)))
    walker.attributes.update(zip(keys, made[len(own) :]))
    grow(lists, made[len(own) + len(keys) :])
    return made[: len(own)]


def _is_longer(before, after):
    return isinstance(before, Items) and len(before) != len(after)


def _gets_value(value, result):
    return isinstance(value, Undefined) and not isinstance(result, Undefined)


def _begun(g, value, result):
    return _opened(g, defined_like(g, result)) if _gets_value(value, result) else value


def _refs(values):
    return [leaf for leaf in leaves(list(values)) if isinstance(leaf, Ref)]


def _opened(g, value):
    """What a loop carries: numbers become values of the graph, since a round may change them."""
    if isinstance(value, (list, tuple)):
        return type(value)(_opened(g, item) for item in value)
    if isinstance(value, (bool, int, float)):
        dtype = wisp.bool if isinstance(value, bool) else wisp.int64 if isinstance(value, int) else wisp.float32
        return replace(g.number(value, dtype), number=True)
    return value


def _param(g, value):
    if isinstance(value, (list, tuple)):
        items = [_param(g, item) for item in value]
        return tuple(items) if isinstance(value, tuple) else Items(items, g.depth + 1)
    if isinstance(value, Ref):
        return replace(value, name=g.fresh("carried"), constant=None, depth=g.depth + 1)
    return value


def _widened(param, result):
    """What holds before and after a round."""
    if isinstance(param, (list, tuple)):
        if not isinstance(result, type(param)) or len(result) != len(param):
            raise Unsupported("a loop changes the length of a list")
        return type(param)(_widened(a, b) for a, b in zip(param, result, strict=True))
    if not isinstance(param, Ref):
        if param is not result and param != result:
            raise Unsupported("a loop changes a value that ONNX cannot carry")
        return param
    if isinstance(result, Ref) and result.dtype != param.dtype:
        raise Unsupported(f"a loop turns a tensor of {param.dtype} into one of {result.dtype}")
    sizes = result.sizes if isinstance(result, Ref) else ()
    return replace(param, sizes=unified(param.sizes, sizes))


def _with_sizes(value, wide):
    if isinstance(value, (list, tuple)):
        return type(value)(_with_sizes(a, b) for a, b in zip(value, wide, strict=True))
    return replace(value, sizes=wide.sizes) if isinstance(value, Ref) else value


def _group(walker, node, args):
    return walker.run(node.blocks()[0], args)


def _parallel(walker, node, args):
    return [result for block in node.blocks() for result in walker.run(block, [])]


def _checked(walker, node, args):
    return [args[0]]


def _nothing(walker, node, args):
    return []


PRIMS = {
    "prim::Constant": _constant,
    "prim::ListConstruct": lambda walker, node, args: [Items(args, walker.g.depth)],
    "prim::TupleConstruct": lambda walker, node, args: [tuple(args)],
    "prim::DictConstruct": _dict,
    "prim::ListUnpack": _unpacked,
    "prim::TupleUnpack": _unpacked,
    "prim::TupleIndex": lambda walker, node, args: [args[0][node.attributes["index"]]],
    "prim::GetAttr": _attribute,
    "prim::SetAttr": _set_attribute,
    "prim::If": _if,
    "prim::Loop": _loop,
    "prim::UncheckedCast": _checked,
    "prim::Uninitialized": lambda walker, node, args: [Undefined()],
    "prim::Print": _nothing,
    "aten::warn": _nothing,
    "prim::FusionGroup": _group,
    "prim::Parallel": _parallel,
    "prim::Fork": _group,
    "prim::Wait": _checked,
}
