"""Sizes that have a name: where in a graph they turn up again, and what follows from that."""

from wisp.onnx._export.values import ELEMENTS
from wisp.onnx._export.write import graph_of, model_of
from wisp.onnx._package import onnx

_SMALL = 64  # elements of constants whose values may tell something about sizes
_ROUNDS = 3


def labelled(builder, inputs):
    """{value: sizes} with names, or None, for those that are not fixed. `inputs` is [(ref, sizes and names)]."""
    small = {name: tensor for name, tensor in builder.initializers.items() if tensor.numel() <= _SMALL}
    graph = graph_of(builder.nodes, inputs, [], small, "labelled")
    for name, tensor in builder.initializers.items():
        if name not in small:
            graph.input.append(onnx.helper.make_tensor_value_info(name, int(ELEMENTS[tensor.dtype]), tensor.shape))
    inferred = onnx.shape_inference.infer_shapes(model_of(graph, builder.opset), data_prop=True).graph
    given = {size for _, sizes in inputs for size in sizes if isinstance(size, str)}
    return {info.name: _sizes(info, given) for info in (*inferred.input, *inferred.value_info)}


def _sizes(info, given):
    tensor = info.type.tensor_type
    if not tensor.HasField("shape"):
        return None
    return [d.dim_value if d.HasField("dim_value") else d.dim_param if d.dim_param in given else None
            for d in tensor.shape.dim]  # fmt: skip


def simplified(builder, inputs):
    """Makes the sizes of reshapes constant where they are those of the argument, but for one. Gives all labels."""
    for _ in range(_ROUNDS):
        labels = labelled(builder, inputs)
        producers = {name: node for node in builder.nodes for name in node.output}
        changed = [_simplify(builder, node, labels, producers) for node in builder.nodes if node.op_type == "Reshape"]
        if not any(changed):
            break
    return labels


def _simplify(builder, node, labels, producers):
    """Whether the sizes of a reshape were computed and have become constant."""
    asked = producers.get(node.input[1])
    own = labels.get(node.input[0])
    if asked is None or own is None or any(attribute.name == "allowzero" for attribute in node.attribute):
        return False
    sizes = _asked_for(builder, asked, labels, producers)
    if sizes is None:
        return False
    kept = [0 if isinstance(size, str) and own[i : i + 1] == [size] else size for i, size in enumerate(sizes)]
    is_open = [not isinstance(size, int) for size in kept]
    if sum(is_open) + kept.count(-1) > 1:
        return False
    node.input[1] = builder.ints([-1 if open_ else size for size, open_ in zip(kept, is_open, strict=True)]).name
    return True


def _asked_for(builder, node, labels, producers):
    """The sizes that a value holds: numbers, names or None; altogether None if even their number is not known."""
    if node.op_type == "Shape":
        return labels.get(node.input[0])
    if node.op_type == "Unsqueeze":
        return [_picked(builder, producers.get(node.input[0]), labels, producers)]
    if node.op_type != "Concat":
        return None
    found = []
    for name in node.input:
        if name in builder.initializers:
            found += builder.initializers[name].tolist()
        else:
            found += _asked_for(builder, producers[name], labels, producers) or [None]
    return None if 0 in found else found


def _picked(builder, node, labels, producers):
    """The name of a size that is taken out of a shape."""
    if node is None or node.op_type != "Gather" or node.input[1] not in builder.initializers:
        return None
    shape, index = producers.get(node.input[0]), builder.initializers[node.input[1]]
    sizes = labels.get(shape.input[0]) if shape is not None and shape.op_type == "Shape" else None
    return sizes[index.item()] if sizes and index.dim() == 0 else None
