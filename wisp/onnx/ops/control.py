"""Control flow: operators with inner graphs, which may use values from around them."""

import wisp
from wisp.onnx._tensors import element_type
from wisp.onnx._values import made, moved
from wisp.onnx.ops._common import positive


def _if(node, outer, condition):
    branch = node["then_branch"] if condition.item() else node["else_branch"]
    return tuple(branch.run([], outer))


def _loop(node, outer, trip_count=None, condition=None, *states):
    """Runs the body while its condition holds, up to a number of times; some of its outputs are collected."""
    body, states = node["body"], list(states)
    collected = [[] for _ in body.outputs[1 + len(states) :]]
    limit = None if trip_count is None else int(trip_count.item())
    condition = wisp.tensor(True) if condition is None else condition
    step = 0
    while condition.item() and (limit is None or step < limit):
        condition, *results = body.run([wisp.tensor(step), condition, *states], outer)
        states = results[: len(states)]
        for column, value in zip(collected, results[len(states) :]):
            column.append(value)
        step += 1
    stacked = [_stacked(column, 0, body, 1 + len(states) + i) for i, column in enumerate(collected)]
    return (*states, *stacked)


def _stacked(values, axis, body, index):
    """Collected outputs as one tensor. Of none at all, one of the size zero and the shape that the body declares."""
    if values:
        return moved(lambda *tensors: wisp.stack(tensors, axis), *values)
    declared = body.output_types[index].tensor_type
    if not declared.elem_type:
        raise ValueError(f"there were no steps, and the body does not declare the type of {body.outputs[index]!r}")
    element = element_type(declared.elem_type, f"output {body.outputs[index]!r}")
    sizes = [d.dim_value for d in declared.shape.dim]
    axis = positive(axis, len(sizes) + 1)
    return made(wisp.zeros([*sizes[:axis], 0, *sizes[axis:]]), element)


def _scan(node, outer, *values):
    """Runs the body for each slice of some inputs, carrying states along; some of its outputs are collected."""
    count = node["num_scan_inputs"]
    states, inputs = list(values[:-count]), values[-count:]
    axes = [positive(axis, len(x.shape)) for axis, x in zip(node["scan_input_axes"] or [0] * count, inputs)]
    backwards = node["scan_input_directions"] or [0] * count
    outputs = len(node["body"].outputs) - len(states)
    return _scanned(
        node["body"], outer, states, [_slices(*each) for each in zip(inputs, axes, backwards)],
        node["scan_output_axes"] or [0] * outputs, node["scan_output_directions"] or [0] * outputs,
    )  # fmt: skip


def _slices(x, axis, backwards):
    """The slices of a tensor along an axis, in either order."""
    slices = moved(lambda data: list(data.unbind(axis)), x)
    return slices[::-1] if backwards else slices


def _scanned(body, outer, states, inputs, axes, backwards):
    if len({len(slices) for slices in inputs}) != 1:
        raise ValueError(f"the scanned inputs have different lengths: {[len(slices) for slices in inputs]}")
    collected = [[] for _ in axes]
    for slices in zip(*inputs):
        results = body.run([*states, *slices], outer)
        states = results[: len(states)]
        for column, value in zip(collected, results[len(states) :]):
            column.append(value)
    columns = [column[::-1] if back else column for column, back in zip(collected, backwards)]
    stacked = [_stacked(c, axis, body, len(states) + i) for i, (c, axis) in enumerate(zip(columns, axes))]
    return (*states, *stacked)


def _scan_batches(node, outer, lengths, *values):
    """Version 8: every input has a batch axis in front, and sequences of a batch may differ in length."""
    count = node["num_scan_inputs"]
    states, inputs = values[:-count], values[-count:]
    backwards = node["directions"] or [0] * count
    outputs, longest = len(node["body"].outputs) - len(states), inputs[0].shape[1]
    rows = []
    for i in range(inputs[0].shape[0]):
        length = longest if lengths is None else int(lengths[i].item())
        slices = [_slices(x[i, :length], 0, back) for x, back in zip(inputs, backwards)]
        row = _scanned(node["body"], outer, [s[i] for s in states], slices, [0] * outputs, [0] * outputs)
        rows.append([*row[: len(states)], *(_filled_up(r, longest) for r in row[len(states) :])])
    return tuple(wisp.stack(column) for column in zip(*rows))


def _filled_up(x, length):
    """A tensor with zeros behind it up to a length."""
    return wisp.cat([x, x.new_zeros(length - len(x), *x.shape[1:])])


OPERATORS = {
    "If": [(1, _if)],
    "Loop": [(1, _loop)],
    "Scan": [(8, _scan_batches), (9, _scan)],
}
KNOW_TYPES = set(OPERATORS)
