"""The graph of an ONNX file, read from the file's bytes: only the few fields that TensorBoard shows."""

from struct import unpack_from

from wisp.utils.tensorboard._proto import chunk, integer

# The numbers of a model's graph and of what is in it.
_GRAPH, _NODES, _INPUTS, _OUTPUTS = 7, 1, 11, 12


def _varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        shift, at = shift + 7, at + 1
        if byte < 128:
            return value, at


def _fields(data):
    """A message as {number: [values]}; what is inside stays bytes."""
    found, at = {}, 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = _varint(data, at)
        elif kind == 2:
            size, at = _varint(data, at)
            value, at = data[at : at + size], at + size
            if len(value) < size:
                raise IndexError
        else:
            code, size = {1: ("<d", 8), 5: ("<f", 4)}[kind]
            value, at = unpack_from(code, data, at)[0], at + size
        found.setdefault(key >> 3, []).append(value)
    return found


def onnx_graph(path):
    """The encoded event of the graph in an ONNX file."""
    with open(path, "rb") as file:
        data = file.read()
    try:
        graph = _fields(_fields(data)[_GRAPH][0])
        nodes = [_variable(_fields(info)) for info in graph.get(_INPUTS, ())]
        nodes += [_operator(_fields(node)) for node in graph.get(_NODES, ())]
        nodes += [_variable(_fields(info), is_output=True) for info in graph.get(_OUTPUTS, ())]
    except (LookupError, ValueError) as error:
        raise ValueError(f"{path} is not an ONNX file") from error
    return chunk(4, b"".join(chunk(1, node) for node in nodes) + chunk(4, integer(1, 22)))


def _variable(info, is_output=False):
    """An input or an output of the graph: a name and, inside its type, a shape."""
    name = info[1][0]
    tensor_type = _inner(_inner(info, 2), 1)
    dims = _inner(tensor_type, 2).get(1, ())
    sizes = b"".join(chunk(2, integer(1, _fields(dim).get(1, [-1])[0])) for dim in dims)  # -1: told by a name
    shape = chunk(5, chunk(1, "shape") + chunk(2, chunk(7, sizes)))
    label = chunk(1, b"output/" + name) + chunk(3, name) if is_output else chunk(1, name)
    return label + chunk(2, "Variable") + shape


def _operator(node):
    """A node, named by its first result: those are what other nodes take."""
    names = b", ".join(_fields(attribute)[1][0] for attribute in node.get(5, ()))
    parameters = chunk(5, chunk(1, "parameters") + chunk(2, chunk(2, names)))
    sources = b"".join(chunk(3, source) for source in node.get(1, ()) if source)
    return chunk(1, node[2][0]) + chunk(2, node[4][0]) + sources + parameters


def _inner(message, number):
    return _fields(message[number][0]) if number in message else {}
