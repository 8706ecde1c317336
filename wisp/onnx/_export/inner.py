"""Graphs inside of graphs: the bodies of branches and loops, and loops for lowerings."""

from dataclasses import replace

import wisp
from wisp.onnx._export.values import ELEMENTS, Ref
from wisp.onnx._package import onnx


def value_info(ref, sizes=None):
    """How ONNX declares a value."""
    sizes = ref.sizes if sizes is None else sizes
    make = onnx.helper.make_tensor_sequence_value_info if ref.sequence else onnx.helper.make_tensor_value_info
    return make(ref.name, int(ELEMENTS[ref.dtype]), sizes)


def graph_of(g, name, nodes, inputs, results, ends):
    """An inner graph. Results get names of their own, since they may be values from outside."""
    nodes = list(nodes)
    finals = []
    for result, end in zip(results, ends, strict=True):
        result = result if isinstance(result, Ref) else g.number(result, end.dtype)
        final = replace(end, name=g.fresh(f"{end.name}_{name}"))
        nodes.append(onnx.helper.make_node("Identity", [result.name], [final.name]))
        finals.append(final)
    infos = [value_info(ref) for ref in inputs]
    return onnx.helper.make_graph(nodes, name, infos, [value_info(ref) for ref in finals])


def add(g, kind, inputs, outputs, **attributes):
    """Adds a node with inner graphs."""
    names = [ref.name if ref is not None else "" for ref in inputs]
    node = onnx.helper.make_node(kind, names, [ref.name for ref in outputs], g.fresh(f"{kind}_node"), **attributes)
    if g.place:
        node.doc_string = g.place
    g.nodes.append(node)


def add_loop(g, nodes, control, values):
    """Adds a Loop. `control` is its index, number of rounds, condition before it and after a round."""
    index, trips, condition, again = control
    carried, params, results, made = values
    condition_in = Ref(g.fresh("again"), wisp.bool, (), depth=g.depth + 1)
    going_on = Ref(g.fresh("going_on"), wisp.bool, ())
    again = again if isinstance(again, Ref) else g.number(again, wisp.bool)
    ends = [Ref(g.fresh(f"{ref.name}_next"), ref.dtype, ref.sizes, sequence=ref.sequence) for ref in params]
    graph = graph_of(g, "body", nodes, [index, condition_in, *params], [again, *results], [going_on, *ends])
    trips = None if trips is None else g.number(trips, wisp.int64)
    condition = None if condition is True else g.number(condition, wisp.bool)
    add(g, "Loop", [trips, condition, *carried], made, body=graph)


# --- for lowerings


def _inside(g, values, stem):
    """Values of the same kind in an inner graph."""
    return [Ref(g.fresh(stem), v.dtype, v.sizes, depth=g.depth + 1) for v in values]


def _outside(g, values, stem):
    return [Ref(g.fresh(stem), v.dtype, v.sizes, depth=g.depth) for v in values]


def branch(g, condition, one, other):
    """The result of one of two functions. Nothing is known of its sizes."""
    results, bodies = [], []
    for body in (one, other):
        with g.scope() as nodes:
            results.append(body())
        bodies.append(nodes)
    made = Ref(g.fresh("if"), results[0].dtype, depth=g.depth)
    then, otherwise = (
        graph_of(g, name, nodes, [], [result], [made])
        for name, nodes, result in zip(("then", "else"), bodies, results, strict=True)
    )
    add(g, "If", [condition], [made], then_branch=then, else_branch=otherwise)
    return made


def loop(g, trips, carried, body, condition=None):
    """What is carried after so many rounds of `body(index, *carried)`, which gives the next ones.

    With a condition, a function of what is carried, it ends when that is false; trips may be None then.
    """
    params, index = _inside(g, carried, "carried"), Ref(g.fresh("i"), wisp.int64, (), True, depth=g.depth + 1)
    first = True if condition is None else condition(*carried)
    with g.scope() as nodes:
        results = body(index, *params)
        again = True if condition is None else condition(*results)
    made = _outside(g, carried, "loop")
    add_loop(g, nodes, (index, trips, first, again), (carried, params, results, made))
    return made


def scan(g, states, sequences, dim, body, *, collected, sizes=None, reverse=False):
    """Walks along a dimension of tensors: `body(states, items)` gives (next states, results).

    The results of all steps, of the dtypes `collected`, are put together along the dimension; the first results are
    the last states. They have the sizes of the first tensor, or, for one step, those given.
    """
    rank = sequences[0].rank
    items = [Ref("", s.dtype, _without(s.sizes, dim)) for s in sequences]
    params, items = _inside(g, states, "state"), _inside(g, items, "item")
    with g.scope() as nodes:
        ends, results = body(params, items)
    item_sizes = items[0].sizes if sizes is None else sizes
    all_sizes = (*item_sizes[:dim], sequences[0].sizes[dim], *item_sizes[dim:])
    outs = [Ref(g.fresh("out"), dtype, item_sizes) for dtype in collected]
    graph = graph_of(g, "step", nodes, [*params, *items], [*ends, *results], [*params, *outs])
    made = _outside(g, states, "scan")
    made += [Ref(g.fresh("scan"), dtype, all_sizes, depth=g.depth) for dtype in collected]
    settings = {"scan_input_axes": [dim] * len(sequences), "scan_output_axes": [dim] * len(outs)}
    settings = {name: axes for name, axes in settings.items() if rank > 1 and axes}
    if reverse:
        settings |= {"scan_input_directions": [1] * len(sequences), "scan_output_directions": [1] * len(outs)}
    add(g, "Scan", [*states, *sequences], made, body=graph, num_scan_inputs=len(sequences), **settings)
    return made


def _without(sizes, dim):
    return tuple(size for d, size in enumerate(sizes) if d != dim)
