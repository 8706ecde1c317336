"""An exported graph as text."""

from wisp.onnx._export.values import TYPE_NAMES
from wisp.onnx._package import onnx
from wisp.onnx._values import DTYPES, Element


def graph_text(graph):
    """The graph as wisp prints its own, with shapes as far as they are known."""
    named = {dim.dim_param for info in (*graph.input, *graph.output) for dim in info.type.tensor_type.shape.dim}
    infos = *graph.input, *graph.output, *graph.value_info
    types = {info.name: _type(info.type.tensor_type, named) for info in infos}
    types |= {t.name: _name(t.data_type, list(t.dims)) for t in graph.initializer}
    names = [*(i.name for i in graph.input), *(t.name for t in graph.initializer)]
    head = ",\n      ".join(f"%{name} : {types[name]}" for name in names)
    lines = [f"graph({head}):"]
    for node in graph.node:
        lines += _node_lines(node, types, "  ")
    lines.append(f"  return ({', '.join('%' + output.name for output in graph.output)})")
    return "\n".join(lines)


def _node_lines(node, types, indent):
    outputs = ", ".join(f"%{name} : {types.get(name, 'Tensor')}" for name in node.output)
    plain = [a for a in node.attribute if a.type != onnx.AttributeProto.GRAPH]
    attributes = ", ".join(f"{a.name}={_value(a)}" for a in plain)
    inputs = ", ".join("%" + name if name else "None" for name in node.input)
    place = f"  # {node.doc_string}" if node.doc_string else ""
    lines = [f"{indent}{outputs} = onnx::{node.op_type}{f'[{attributes}]' if plain else ''}({inputs}){place}"]
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            lines.append(f"{indent}  {attribute.name}({', '.join('%' + i.name for i in attribute.g.input)}):")
            for inner in attribute.g.node:
                lines += _node_lines(inner, types, indent + "    ")
            lines.append(f"{indent}    -> ({', '.join('%' + o.name for o in attribute.g.output)})")
    return lines


def _value(attribute):
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return f'"{value.decode()}"'
    if isinstance(value, onnx.TensorProto):
        return "<Tensor>"
    if isinstance(value, float):
        return f"{value:g}"
    return str(list(value)) if attribute.type in (onnx.AttributeProto.INTS, onnx.AttributeProto.FLOATS) else str(value)


def _type(tensor, named):
    sizes = [_size(dim, named) for dim in tensor.shape.dim]
    return _name(tensor.elem_type, sizes) if tensor.HasField("shape") else "Tensor"


def _size(dim, named):
    """A number, or a name, if it is not one that inference made up."""
    if dim.HasField("dim_value"):
        return dim.dim_value
    return dim.dim_param if dim.dim_param and dim.dim_param in named else "*"


def _name(element, sizes):
    letter = TYPE_NAMES.get(DTYPES.get(Element(element)), Element(element).name)
    return f"{letter}({', '.join(map(str, sizes))})"
