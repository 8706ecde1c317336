"""Graphs of a single operator: to compute it, to find out what it gives, and to see what a composite is made of."""

import itertools
import json
import math
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache

import wisp
from wisp._C import _jit, no_grad
from wisp.onnx._export.values import Ref, Unsupported, leaves, read_type, type_text, without_sizes

_CONSTANT_TYPES = {
    bool: "bool", int: "int", float: "float", str: "str", complex: "complex", type(None): "NoneType",
    wisp.dtype: "Dtype", wisp.device: "Device",
}  # fmt: skip


_LARGEST = 2**16  # number for which sizes beside it are tried


class Call:
    """One call as the text of a graph. Tensors, and numbers that are not known, are parameters of that graph."""

    def __init__(self, kind, args, types, results):
        self.kind, self.results, self._given = kind, results, (args, types)
        self.params, self._lines, self._types = [], [], []
        inputs = [self._add(arg, kind_of) for arg, kind_of in zip(args, types, strict=True)]
        outputs = ", ".join(f"%r{i} : {kind_of}" for i, kind_of in enumerate(results))
        self._lines.append(f"{outputs + ' = ' if results else ''}{kind}({', '.join(inputs)})")

    def _add(self, value, kind):
        name = f"%a{len(self._lines) + len(self.params)}"
        if isinstance(value, (Ref, wisp.Tensor)):
            self.params.append(value)
            self._types.append(_param_type(value, kind))
            return f"%p{len(self.params) - 1}"
        if isinstance(value, (list, tuple)) and any(isinstance(item, (Ref, wisp.Tensor)) for item in value):
            items = [self._add(item, kind.removesuffix("?").removesuffix("[]")) for item in value]
            self._lines.append(f"{name} : {_plain(kind)} = prim::ListConstruct({', '.join(items)})")
        else:
            self._lines.append(f"{name} : {_constant_type(value, kind)} = prim::Constant[value={_text(value)}]()")
        return name

    def with_numbers(self, number, step):
        """The same call with this number in the place of the first that is not known, and others for the others."""
        args, types = self._given
        names = dict.fromkeys(p.name for p in self.params if isinstance(p, Ref) and p.number)
        numbers = {name: max(number + step * place, 0) for place, name in enumerate(names)}
        return Call(self.kind, [_substituted(arg, numbers) for arg in args], types, self.results)

    def with_sizes(self, size):
        """The same call with this size in the place of those that are not known."""
        args, types = self._given
        return Call(self.kind, [_sized(arg, size) for arg in args], types, self.results)

    def sizes_to_try(self):
        """Sizes with which it may go another way: small ones, and those beside the numbers among the arguments."""
        numbers = [leaf for leaf in leaves(list(self._given[0])) if type(leaf) is int and 2 < leaf <= _LARGEST]
        return sorted({1, 2, *(number + step for number in numbers for step in (-1, 1))})

    def text(self, unpacked=0):
        """The graph as text; the list that it gives may be unpacked into so many items."""
        names = [f"%r{i}" for i in range(len(self.results))]
        lines = list(self._lines)
        if unpacked:
            names = [f"%u{i}" for i in range(unpacked)]
            lines.append(f"{', '.join(f'{name} : Tensor' for name in names)} = prim::ListUnpack(%r0)")
        params = ", ".join(f"%p{i} : {kind}" for i, kind in enumerate(self._types))
        return f"graph({params}):\n  " + "\n  ".join(lines) + f"\n  return ({', '.join(names)})\n"


def _plain(kind):
    return "Tensor" if "(" in kind and kind[0] != "(" and not kind.startswith("Dict") else kind


def _param_type(value, kind):
    if isinstance(value, Ref) and value.number:
        return {wisp.int64: "int", wisp.bool: "bool"}.get(value.dtype, "float")
    if isinstance(value, wisp.Tensor):
        value = Ref("", value.dtype, tuple(value.shape))
    return type_text(value)


def _constant_type(value, kind):
    return _CONSTANT_TYPES.get(type(value), _plain(kind))


def _text(value):
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, (list, tuple)):
        inner = ", ".join(map(_text, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner},)" if len(value) == 1 else f"({inner})"
    return json.dumps(str(value)) if isinstance(value, wisp.device) else str(value)


@lru_cache(maxsize=1024)
def _propagated(text, default_dtype):
    """What follows for the results of a graph, where integers may become numbers of the default dtype."""
    graph = _jit.parse_graph(text)
    graph.run_pass("shape_propagation")
    return [read_type(value.type) for value in graph.outputs()]


def _substituted(value, numbers):
    if isinstance(value, Ref) and value.number:
        number = numbers[value.name]
        return float(number) if value.is_float else value.dtype == wisp.bool or number
    return [_substituted(item, numbers) for item in value] if isinstance(value, list) else value


def _sized(value, size):
    if isinstance(value, Ref) and value.sizes is not None:
        return replace(value, sizes=tuple(size if own is None else own for own in value.sizes))
    return [_sized(item, size) for item in value] if isinstance(value, list) else value


def _tried(call, unpacked):
    try:
        return _propagated(call.text(unpacked), wisp.get_default_dtype())
    except (RuntimeError, ValueError, TypeError, IndexError):
        return [(None, None)] * (unpacked or len(call.results))


def facts(call, unpacked=0):
    """[(dtype, sizes)] of the results as far as they follow from what is known of the arguments.

    Numbers that are not known are tried out: what comes out the same for several is taken to be so for all.
    """
    if not any(isinstance(param, Ref) and param.number for param in call.params):
        return _doubted(call, _tried(call, unpacked), unpacked)
    tries = [_tried(call.with_numbers(number, step), unpacked) for number, step in _NUMBERS]
    return [_agreed([found for found in each if found[0] is not None]) for each in zip(*tries, strict=True)]


def _doubted(call, found, unpacked):
    """What was found by trying out sizes, without what only a single one of them, that fits by chance, tells."""
    if not _is_open(call) or not any(size in _TRIED for _, sizes in found for size in sizes or ()):
        return found
    tries = (_tried(call.with_sizes(size), unpacked) for size in _TRIED)
    if len(list(itertools.islice((each for each in tries if each[0][0] is not None), 2))) == 2:
        return found
    return [(dtype, None if sizes is None else (None,) * len(sizes)) for dtype, sizes in found]


# Tried for numbers that are not known: all the same, rising and falling ones.
_NUMBERS = (0, 0), (1, 0), (2, 0), (3, 0), (5, 0), (0, 1), (1, 2), (3, -1)
_TRIED = 2, 3, 7, 1, 64  # by shape_propagation, for all sizes that are not known


def _agreed(found):
    """What several tries have in common; of a single one only the number of dimensions."""
    if not found or len({(dtype, len(sizes)) for dtype, sizes in found}) > 1:
        return None, None
    columns = zip(*(sizes for _, sizes in found), strict=True)
    sizes = tuple(column[0] if len(found) > 1 and len(set(column)) == 1 else None for column in columns)
    return found[0][0], sizes


def evaluate(call):
    """What a call gives whose arguments are all known: a list."""
    graph = _jit.parse_graph(call.text())
    try:
        with no_grad():
            results = graph.run(*(p.constant if isinstance(p, Ref) else p for p in call.params))
    except _FAILURES as error:
        raise Unsupported(f"it cannot be computed: {error}") from error
    return [results] if len(call.results) == 1 else list(results or ())


def taken_apart(call):
    """The graph of the calls that a composite makes. Where sizes are not known, it must be the same for all of them."""
    try:
        graphs = [_recorded_parts(call, probe) for probe in (_PROBES if _is_open(call) else _PROBES[:1])]
    except _FAILURES as error:
        raise Unsupported(f"it cannot be taken apart: {error}") from error
    for probe in call.sizes_to_try() if _is_open(call) else ():
        with suppress(*_FAILURES):  # a size that the operator does not take
            graphs.append(_recorded_parts(call, probe))
    texts = {without_sizes(graph.to_text(places=False)) for graph in graphs}
    if len(texts) > 1:
        raise Unsupported("how it is computed depends on sizes that may differ from call to call")
    return graphs[0]


_FAILURES = RuntimeError, ValueError, IndexError, TypeError
_PROBES = 6, 10  # both can be halved, as operators with two halves need


def _is_open(call):
    return any(isinstance(param, Ref) and None in (param.sizes or ()) for param in call.params)


def _recorded_parts(call, probe):
    program = _jit.Program()
    recorder = _jit.Recorder(program)
    graph = _jit.parse_graph(call.text())
    examples = [_example(param, probe) for param in call.params]
    recorder.start()
    try:
        recorder.begin("parts", None, ())
        inner = [recorder.param(f"p{i}", example) for i, example in enumerate(examples)]
        recorder.take_apart(call.kind.removeprefix("aten::"))
        with no_grad():
            result = graph.run(*inner)
        recorder.end(result, None)
    finally:
        recorder.stop()
    parts = program.function("parts").graph
    parts.run_pass("dead_code")
    return parts


def _example(param, probe):
    """A tensor without contents, so that how a composite is computed cannot depend on them."""
    if isinstance(param, wisp.Tensor):
        return param.to("meta")
    if param.number or param.sizes is None:
        raise Unsupported("how it is computed depends on numbers that may differ from call to call")
    return wisp.zeros([probe if size is None else size for size in param.sizes], dtype=param.dtype, device="meta")
