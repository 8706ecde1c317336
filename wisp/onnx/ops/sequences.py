"""Sequences (lists of tensors) and optional values (None if empty)."""

import wisp
from wisp.onnx._values import moved
from wisp.onnx.ops._common import numbers, positive


def _construct(node, *values):
    return list(values)


def _empty(node):
    return []


def _place(position, length):
    """A position in a sequence, counted from the front."""
    index = int(position.item())
    if not -length <= index < length:
        raise IndexError(f"position {index} is out of range for a sequence of length {length}")
    return index % length


def _at(node, sequence, position):
    return sequence[_place(position, len(sequence))]


def _erase(node, sequence, position=None):
    place = len(sequence) - 1 if position is None else _place(position, len(sequence))
    return sequence[:place] + sequence[place + 1 :]


def _insert(node, sequence, value, position=None):
    place = len(sequence) if position is None else int(position.item())
    if not -len(sequence) <= place <= len(sequence):
        raise IndexError(f"position {place} is out of range for a sequence of length {len(sequence)}")
    place += len(sequence) if place < 0 else 0
    return [*sequence[:place], value, *sequence[place:]]


def _length(node, sequence):
    return wisp.tensor(len(sequence))


def _concat(node, sequence):
    join = wisp.stack if node["new_axis"] else wisp.cat
    return moved(lambda *tensors: join(tensors, node["axis"]), *sequence)


def _split(node, x, split=None):
    """Pieces of a tensor: of one size, of given sizes, or single slices."""
    axis = positive(node["axis"], len(x.shape))
    if split is None:
        if node["keepdims"]:
            return moved(lambda data: list(data.split(1, axis)), x)
        return moved(lambda data: list(data.unbind(axis)), x)
    sizes = split.item() if split.ndim == 0 else numbers(split)
    return moved(lambda data: list(data.split(sizes, axis)), x)


def _map(node, outer, sequence, *others):
    """The results of a graph for each element of a sequence; other inputs are sequences too, or the same each time."""
    rows = []
    for i, value in enumerate(sequence):
        rest = [other[i] if isinstance(other, list) else other for other in others]
        rows.append(node["body"].run([value, *rest], outer))
    return tuple([row[i] for row in rows] for i in range(len(node.outputs)))


def _optional(node, value=None):
    return value


def _get_element(node, value=None):
    if value is None:
        raise ValueError("the optional value is empty")
    return value


def _has_element(node, value=None):
    return wisp.tensor(value is not None)


OPERATORS = {
    "ConcatFromSequence": [(11, _concat)],
    "Optional": [(15, _optional)],
    "OptionalGetElement": [(15, _get_element)],
    "OptionalHasElement": [(15, _has_element)],
    "SequenceAt": [(11, _at)],
    "SequenceConstruct": [(11, _construct)],
    "SequenceEmpty": [(11, _empty)],
    "SequenceErase": [(11, _erase)],
    "SequenceInsert": [(11, _insert)],
    "SequenceLength": [(11, _length)],
    "SequenceMap": [(17, _map)],
    "SplitToSequence": [(11, _split)],
}
KNOW_TYPES = set(OPERATORS)
