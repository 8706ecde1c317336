"""Which sizes of inputs may differ from call to call: those with which the model does the same as with the example's.

A model is traced again with other sizes. If what it calls is the same, but for the sizes of tensors, the graph holds
for them too. Sizes that cannot be changed alone are tried together with equal ones of other inputs.
"""

import copy
import itertools
import warnings

import wisp
from wisp._C import no_grad
from wisp.jit import ScriptFunction, ScriptModule
from wisp.onnx._export.program import copied, program_of
from wisp.onnx._export.values import leaves, without_sizes
from wisp.random import fork_rng

# The only device is recorded if the process has used another one before, "meta", as exporting does.
_CPU, _NO_DEVICE = 'Device = prim::Constant[value="cpu"]', "NoneType = prim::Constant[value=None]"
_MOST_PAIRS = 8  # that are tried for one size


def open_groups(model, tensors, rebuilt, graph):
    """Groups of (input, dimension) whose sizes may differ, one size for each group.

    `rebuilt` makes args and kwargs of tensors, `graph` is the one of the example.
    """
    probe = _Probe(model, rebuilt, graph)
    tensors, settled, groups = list(tensors), set(), []
    places = [(i, dim) for i, tensor in enumerate(tensors) for dim in range(tensor.dim())]
    with fork_rng(), warnings.catch_warnings(), _kept_buffers(model):
        warnings.simplefilter("ignore")
        for place in places:
            if place in settled:
                continue
            settled.add(place)
            for group in _groups(place, places, tensors, settled):
                changed = probe.changed(tensors, group)
                if changed is not None:
                    tensors = changed
                    settled.update(group)
                    groups.append(group)
                    break
    return groups


def _groups(place, places, tensors, settled):
    """What a size may have to be changed together with: nothing, one, those of the same dimension, all equal ones."""

    def size(i, dim):
        return tensors[i].size(dim)

    equal = [other for other in places if other not in settled and size(*other) == size(*place)]
    equal.sort(key=lambda other: other[1] != place[1])
    alike = [other for other in equal if other[1] == place[1]]
    first = [next(same) for _, same in itertools.groupby(sorted(equal), key=lambda other: other[0])]
    found = [[], *([other] for other in equal[:_MOST_PAIRS]), alike, first, equal]
    return list(dict.fromkeys((place, *others) for others in found))


class _Probe:
    """Runs a model with other sizes."""

    def __init__(self, model, rebuilt, graph):
        self.model, self.rebuilt = free_to_run(model, graph), rebuilt
        self.is_compiled = isinstance(model, (ScriptModule, ScriptFunction))
        self.calls = None if self.is_compiled else _calls(graph)

    def changed(self, tensors, group):
        """The smallest tensors that the graph holds for and in which the sizes of a group are others, or None."""
        size = tensors[group[0][0]].size(group[0][1])
        found = []
        for other in _other_sizes(size, len(group) == 1):
            resized = _resized(tensors, group, other)
            holds = self._holds(resized)
            if holds is False:
                return None
            found += [resized] if holds else []
            if len(found) == 2:
                break
        return found[0] if found else None

    def _holds(self, tensors):
        """Whether the graph is the one of such tensors, or None if the model does not take them."""
        args, kwargs = copied(self.rebuilt(tensors))
        try:
            if self.is_compiled:
                with no_grad():
                    self.model(*args, **kwargs)
                return True
            return _are_same(_calls(program_of(self.model, args, kwargs).graph), self.calls)
        except Exception:  # noqa: BLE001 - whatever a model says to sizes that it does not like
            return None


def free_to_run(model, graph):
    """A model that may be run: a copy if it is compiled and sets its attributes."""
    compiled = isinstance(model, ScriptModule)
    return copy.deepcopy(model) if compiled and any(n.kind() == "prim::SetAttr" for n in _nodes(graph)) else model


def example_ranks(model, args, kwargs, graph):
    """How many dimensions the results on the example have."""
    with no_grad(), fork_rng(), _kept_buffers(model):
        found = leaves(free_to_run(model, graph)(*copied(args), **copied(kwargs)))
    return [value.dim() if isinstance(value, wisp.Tensor) else 0 for value in found if value is not None]


def _other_sizes(size, all_of_them):
    """Small ones come first: what follows is tried with the first one that works."""
    if size == 0:
        return []
    others = {2, 3, size // 2, size + 1, 2 * size} if all_of_them else {2 if size > 2 else 3, 2 * size}
    return sorted(others - {0, 1, size})


def _resized(tensors, group, size):
    """Tensors with the same contents, repeated or cut off."""
    changed = list(tensors)
    for i, dim in group:
        tensor = changed[i]
        changed[i] = tensor.index_select(dim, wisp.arange(size) % tensor.size(dim))
    return changed


def _calls(graph):
    """What a graph calls, without the sizes of what is computed; and its constants."""
    constants = [node.attributes["value"] for node in _nodes(graph) if node.kind() == "prim::Constant"]
    text = without_sizes(graph.to_text(places=False)).replace(_CPU, _NO_DEVICE)
    return text, [constant for constant in constants if isinstance(constant, wisp.Tensor)]


def _nodes(block):
    for node in block.nodes():
        yield node
        for inner in node.blocks():
            yield from _nodes(inner)


def _are_same(one, other):
    return one[0] == other[0] and all(map(_are_equal, one[1], other[1]))


def _are_equal(one, other):
    return one.dtype == other.dtype and wisp.equal(one, other)


class _kept_buffers:
    """Buffers of a module that are written meanwhile are put back."""

    def __init__(self, model):
        self.buffers = list(model.buffers()) if isinstance(model, wisp.nn.Module) else []

    def __enter__(self):
        self.values = [buffer.clone() for buffer in self.buffers]

    def __exit__(self, *_):
        with no_grad():
            for buffer, value in zip(self.buffers, self.values, strict=True):
                buffer.copy_(value)
