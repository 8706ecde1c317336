"""From nodes of a wisp graph to nodes of an ONNX graph."""

from dataclasses import replace

import wisp
from wisp.onnx._export import control, numbers, sequences
from wisp.onnx._export.lowerings import COMPLEX, LOWERINGS, TABLE, involves_complex, is_rename, renamed
from wisp.onnx._export.program import INNER
from wisp.onnx._export.single import Call, evaluate, facts, taken_apart
from wisp.onnx._export.values import Poisoned, Ref, Undefined, Unsupported, is_sequence, is_static, leaves, read_type
from wisp.onnx._export.writes import Writes

# What gives others numbers each time though it draws none itself: see the table for those that do.
_NEVER_FOLDED = {"dropout", "dropout1d", "dropout2d", "dropout3d", "empty", "empty_like", "new_empty", "rrelu"}
# What a rule says to values that it does not reckon with, such as a number that is only known when the model runs.
_NOT_TAKEN = TypeError, ValueError, IndexError, KeyError, AttributeError, RuntimeError
# Nodes that do not look at what they hand on.
_HAND_ON = {"prim::Loop", "prim::ListConstruct", "prim::TupleConstruct"}


class Walker:
    """Turns the nodes of a graph, one after the other, into those of the builder."""

    def __init__(self, builder, fold, problems, module=None):
        self.g, self.fold, self.problems = builder, fold, problems
        self.module = module  # (object, path): what GetAttr starts from
        self.env = {}
        self.writes = Writes(builder)
        self.attributes, self.owners = {}, {}  # that the program has set: {(path, name): value}, and of which objects
        self._named = {}  # parameters by their tensors
        self._place_is_fixed = False

    # --- values

    def __getitem__(self, value):
        return self.writes.newest(self.env[value])

    def run(self, block, args):
        """Walks a graph or block with these arguments and gives its results."""
        for param, arg in zip(block.inputs(), args, strict=True):
            self.env[param] = arg
        for node in block.nodes():
            self.node(node)
        return [self[value] for value in block.outputs()]

    def node(self, node):
        """Turns one node into nodes of the ONNX graph; what cannot be is noted and stepped over."""
        if not self._place_is_fixed:
            self.g.place = node.place
        args = [self[value] for value in node.inputs()]
        if any(isinstance(leaf, Poisoned) for leaf in leaves(args)) and node.kind() != "prim::If":
            results = self._poison(node)
        elif any(isinstance(leaf, Undefined) for leaf in leaves(args)) and node.kind() not in _HAND_ON:
            results = [Undefined() for _ in node.outputs()]  # where nobody gets to
        else:
            try:
                results = self._results(node, args)
            except (Unsupported, *_NOT_TAKEN) as error:
                self.problems.append((node.kind(), _why(error), self.g.place))
                results = self._poison(node)
        for value, result in zip(node.outputs(), results, strict=True):
            self.env[value] = result

    @staticmethod
    def _poison(node):
        return [Poisoned("?", *read_type(value.type)) for value in node.outputs()]

    def _results(self, node, args):
        kind = node.kind()
        if kind in control.PRIMS:
            return control.PRIMS[kind](self, node, args)
        name = kind.removeprefix("aten::")
        if name in numbers.BUILTINS and not (name not in numbers.ALWAYS and is_static(args)):
            result = numbers.BUILTINS[name](self.g, *args)
            return [] if name in numbers.SILENT else [result]
        if kind.startswith("prim::"):
            raise Unsupported("it has no form in ONNX")
        return self._operator(node, name, args)

    # --- operators

    def _operator(self, node, name, args):
        if any(map(is_sequence, args)):
            return [sequences.joined(self.g, name, *args)]
        types = [value.type for value in node.inputs()]
        in_place = name not in TABLE and _without_underscore(name) in TABLE
        functional = _without_underscore(name) if in_place else name
        if functional not in TABLE and not is_static(args):
            raise Unsupported("it has no form in ONNX")
        call = Call(f"aten::{functional}", args, types, [_bare(value.type) for value in node.outputs()])
        if self._can_fold(functional, call):
            results = [_structured(result, self.g) for result in evaluate(call)]
        else:
            results = self._lowered(node, functional, args, call)
        target = self.env[node.inputs()[0]] if args else None
        if in_place:
            if target.dtype is not None and target.dtype.is_complex:
                raise Unsupported("it writes complex numbers into a tensor")
            self.writes.write(target, self._like(results[0], args[0]))
            return [target]
        given = {id(leaf) for leaf in leaves(args) if isinstance(leaf, Ref)}
        results = [replace(r) if id(r) in given else r for r in results]  # not the argument itself: it may be written
        if involves_complex([args, results], ()):
            self.writes.note_complex_view(functional, target, results)
        else:
            self.writes.note_view(functional, target, args, results, self)
        return results

    def _like(self, result, target):
        """What is written into a tensor has its dtype and sizes."""
        result = self.g.cast(result, target.dtype)
        if result.sizes == target.sizes and result.sizes is not None and None not in result.sizes:
            return replace(result)
        return replace(result, sizes=target.sizes) if result.sizes is None else replace(result)

    def _can_fold(self, name, call):
        if TABLE.get(name, {}).get("random") or name.partition(".")[0] in _NEVER_FOLDED:
            return False
        constant = [p.constant is not None if isinstance(p, Ref) else True for p in call.params]
        return all(constant) and (self.fold or not constant)

    def _lowered(self, node, name, args, call):
        """The results of an operator, with what is known of them."""
        rules = LOWERINGS
        if involves_complex(args, [read_type(value.type) for value in node.outputs()]):
            rules = COMPLEX
        if name not in rules and (rules is COMPLEX or not is_rename(name)):
            return self._parts(node, name, args, call)
        self.g.results = self._facts(node, call)
        made = rules[name](self.g, *args) if name in rules else renamed(self.g, name, args)
        if isinstance(made, list):
            for ref, known in zip(made, self._item_facts(call, made), strict=True):
                _learn(ref, *known)
            return [made]
        made = made if isinstance(made, tuple) else (made,)
        if len(made) < len(node.outputs()):  # results that only derivatives read
            made = (*made, *self._poison(node)[len(made) :])
        for ref, known in zip(made, self.g.results):
            _learn(ref, *known)
        return list(made)

    def _facts(self, node, call):
        """[(dtype, sizes)] of the results: as traced if that holds for all calls, else what the arguments tell."""
        traced = [read_type(value.type) for value in node.outputs()]
        fixed = all(ref.sizes is not None and None not in ref.sizes for ref in call.params if isinstance(ref, Ref))
        if (
            fixed
            and all(dtype is not None for dtype, _ in traced)
            and not any(isinstance(p, Ref) and p.number for p in call.params)
        ):
            return traced
        found = facts(call)
        return [_merged(one, other) for one, other in zip(found, traced, strict=True)]

    @staticmethod
    def _item_facts(call, items):
        return facts(call, len(items)) if items else []

    def _parts(self, node, name, args, call):
        """A composite that has no form of its own, as the operators that it calls."""
        if not TABLE[name]["composite"]:
            raise Unsupported(_reason(name))
        parts = taken_apart(call)
        inner = Walker(self.g, self.fold, self.problems)
        inner._place_is_fixed = True
        refs = [self.g.constant(p) if isinstance(p, wisp.Tensor) else p for p in call.params]
        results = inner.run(parts, refs)
        if any(isinstance(leaf, Poisoned) for leaf in leaves(results)):
            return self._poison(node)
        for value in node.inputs():  # a composite may write into its arguments
            written = inner.writes.newest(self[value])
            if written is not self[value]:
                self.writes.write(self.env[value], written)
        if len(node.outputs()) == 1:
            return results
        return list(results[0])

    # --- parameters

    def attribute(self, owner, name):
        """An attribute of a module: (object, path), a tensor or a plain value."""
        bare, path = owner
        if (path, name) in self.attributes:
            return self.attributes[path, name]
        part = bare.part(name)
        path = f"{path}.{name}" if path else "" if name == INNER else name
        if part is not None:
            return part, path
        value = bare.get(name)
        return self._parameter(value, path) if isinstance(value, wisp.Tensor) else value

    def attribute_at(self, key):
        """An attribute that the program sets somewhere, as it is now."""
        path, name = key
        return self.writes.newest(self.attribute((self.owners[path], path), name))

    def _parameter(self, tensor, path):
        found = self._named.get(tensor)
        if found is None:
            found = self._named[tensor] = self.g.parameter(tensor, path)
        return found


def _why(error):
    if isinstance(error, Unsupported):
        return str(error)
    return f"there is no rule for these arguments ({type(error).__name__}: {error})"


def _without_underscore(name):
    base, dot, overload = name.partition(".")
    return base[:-1] + dot + overload


def _bare(kind):
    return "Tensor" if read_type(kind)[0] is not None else kind


def _merged(found, traced):
    """What follows from the arguments, or, where nothing does, the dtype and the rank of the example."""
    if found[0] is not None:
        return found
    dtype, sizes = traced
    return dtype, None if sizes is None else (None,) * len(sizes)


def _learn(ref, dtype, sizes):
    if not isinstance(ref, Ref):
        return
    if dtype is not None:
        ref.dtype = dtype
    if sizes is not None and (ref.sizes is None or len(ref.sizes) != len(sizes)):
        ref.sizes = sizes
    elif sizes is not None:
        ref.sizes = tuple(own if known is None else known for own, known in zip(ref.sizes, sizes, strict=True))


def _structured(value, g):
    """What was computed while exporting, with tensors as constants."""
    if isinstance(value, wisp.Tensor):
        return replace(g.constant(value), depth=g.depth)
    if isinstance(value, (list, tuple)):
        return type(value)(_structured(item, g) for item in value)
    return value


def _reason(name):
    text = TABLE[name]["onnx"]
    return text[2:] if text[0] == "-" else f"there is no rule for it (ONNX has {text})"
