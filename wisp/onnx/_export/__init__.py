"""Writing models as ONNX."""

import os
from dataclasses import dataclass, replace

import wisp
from wisp.onnx._export import axes as axis_names
from wisp.onnx._export import write
from wisp.onnx._export.builder import Builder
from wisp.onnx._export.labels import simplified
from wisp.onnx._export.lowerings.complex import is_complex, pairs
from wisp.onnx._export.probing import example_ranks, open_groups
from wisp.onnx._export.program import copied, in_mode, program_of
from wisp.onnx._export.text import graph_text
from wisp.onnx._export.values import Poisoned, Ref, leaves
from wisp.onnx._export.walk import Walker
from wisp.onnx._package import defs, onnx
from wisp.onnx.errors import UnsupportedOperatorError

DEFAULT_OPSET, OLDEST_OPSET = 20, 13


def exported(model, args, kwargs, settings):
    """The ModelProto of a model on example arguments."""
    opset = _opset(settings["opset_version"])
    args, kwargs = _arguments(args, kwargs)
    with in_mode(model, settings["training"]):
        program = program_of(model, copied(args), copied(kwargs))
        return _Export(program, opset, settings).model(model, args, kwargs)


def _opset(version):
    newest = defs.onnx_opset_version()
    version = min(DEFAULT_OPSET, newest) if version is None else version
    if not OLDEST_OPSET <= version <= newest:
        raise ValueError(f"opset_version has to be between {OLDEST_OPSET} and {newest}, got {version}")
    return version


def _arguments(args, kwargs):
    """Arguments in order and by name: a dict at the end of args holds those by name."""
    args = tuple(args) if isinstance(args, (tuple, list)) else (args,)
    if kwargs is None and args and isinstance(args[-1], dict):
        return args[:-1], args[-1]
    return args, dict(kwargs or {})


@dataclass
class _Walked:
    """A graph of ONNX nodes, and what could not be written as such: [(operator, reason, place)]."""

    builder: Builder
    inputs: list
    results: list
    problems: list


class _Export:
    """One model on its way."""

    def __init__(self, program, opset, settings):
        self.program, self.settings, self.opset = program, settings, opset
        flat = _flat(program.arguments)
        self.examples = dict(zip(_input_names(flat, settings["input_names"]), flat.values(), strict=True))
        given = axis_names.from_shapes(settings["dynamic_shapes"], program.arguments)
        renamed = dict(zip(flat, self.examples, strict=True))
        given = {renamed.get(name, name): dims for name, dims in given.items()}
        self.axes = axis_names.checked(axis_names.from_axes(settings["dynamic_axes"]) | given, self.examples)

    def model(self, model, args, kwargs):
        """The ModelProto. Sizes that nobody spoke of may differ where the graph allows it."""
        walked = self._walked(self.axes)
        if walked.problems:
            raise UnsupportedOperatorError(walked.problems)
        if self.settings["dynamic_axes"] is None and self.settings["dynamic_shapes"] is None:
            groups = self._open_groups(model, args, kwargs)
            walked = self._opened(walked, groups) if groups else walked
        self.builder = walked.builder
        outputs = self._outputs(walked.results)
        if any(ref.sizes is None for ref, _ in outputs):  # a file has to tell at least the number of dimensions
            for (ref, _), rank in zip(outputs, example_ranks(model, args, kwargs, self.program.graph), strict=True):
                ref.sizes = (None,) * rank if ref.sizes is None else ref.sizes
        return self._finished(walked.inputs, outputs, type(model).__name__)

    def _open_groups(self, model, args, kwargs):
        """[(name, [(input, dimension), ...])] of sizes that the model may be called with others of."""
        names = list(self.examples)

        def rebuilt(tensors):
            refs = iter(tensors)
            return _rebuilt(args, refs), _rebuilt(kwargs, refs)

        found = open_groups(model, _flat({"": (args, kwargs)}).values(), rebuilt, self.program.graph)
        groups = [[(names[i], dim) for i, dim in group] for group in found]
        return [(f"{group[0][0]}_dim_{group[0][1]}", group) for group in groups]

    def _opened(self, walked, groups):
        """The walk with as many groups as there are rules for: all of them, or those that can be added one by one."""
        for tried in [groups, *([group] for group in groups)]:
            axes = {name: dict(dims) for name, dims in self.axes.items()}
            for label, places in tried:
                for name, dim in places:
                    axes.setdefault(name, {})[dim] = label
            more = self._walked(axes)
            if not more.problems:
                walked, self.axes = more, axes
                if tried is groups:
                    break
        return walked

    def _walked(self, axes):
        builder, problems = Builder(self.opset, self.examples), []
        walker = Walker(builder, self.settings["do_constant_folding"], problems)
        builder.asked = axes is self.axes
        builder.dense.update(name for name, value in self.examples.items() if value.is_contiguous())
        inputs = {path: self._input(path, axes.get(path, {})) for path in self.examples}
        results = walker.run(self.program.graph, self._values(inputs))
        if not problems and any(isinstance(leaf, Poisoned) for leaf in leaves(results)):
            problems.append(("return", "the model returns what only derivatives need", None))
        if not problems and all(leaf is None for leaf in leaves(results)):
            problems.append(("return", "the model returns no tensor", None))
        if not builder.asked and any(isinstance(leaf, Ref) and leaf.sequence for leaf in leaves(results)):
            problems.append(("return", "a list that is a result has as many tensors as on the example", None))
        return _Walked(builder, list(inputs.values()), results, problems)

    def _input(self, name, dims):
        value = self.examples[name]
        sizes = tuple(None if dim in dims else size for dim, size in enumerate(value.shape))
        return Ref(name, value.dtype, sizes)

    def _values(self, inputs):
        """The arguments of the graph: structures of inputs and of what is fixed."""
        refs = iter(inputs.values())
        values = [_rebuilt(value, refs) for value in self.program.arguments.values()]
        return values if self.program.owner is None else [(self.program.owner, ""), *values]

    # --- results

    def _outputs(self, results):
        """Results as values with names of their own: [(ref, final name)]."""
        found = [value for value in leaves(results) if value is not None]
        names = _output_names(len(found), self.settings["output_names"], self.builder)
        produced = {name for node in self.builder.nodes for name in node.output}
        outputs = []
        for value, name in zip(found, names, strict=True):
            ref = value if isinstance(value, Ref) else self.builder.number(value, wisp.tensor(value).dtype)
            if ref.name not in produced:  # an input, a constant, or a value that is a result twice
                same = self.builder.op("Identity", ref, dtype=ref.dtype, sizes=ref.sizes)
                ref = replace(same, sequence=ref.sequence)
            produced.discard(ref.name)
            outputs.append((_as_written(ref), name))
        return outputs

    def _finished(self, inputs, outputs, name):
        declared = [(ref, self._declared(ref, ref.name)) for ref in map(_as_written, inputs)]
        labels = simplified(self.builder, declared) if self.axes else {}
        nodes, read = write.without_dead(self.builder.nodes, [ref.name for ref, _ in outputs])
        write.rename(nodes, {ref.name: final for ref, final in outputs})
        kept = {key: tensor for key, tensor in self.builder.initializers.items() if key in read}
        results = [
            (replace(ref, name=final), self._result_sizes(ref, final, labels.get(ref.name))) for ref, final in outputs
        ]
        graph = write.graph_of(nodes, declared, results, kept, name)
        if not self.settings["export_params"]:
            self._parameters_as_inputs(graph)
        return write.model_of(graph, self.opset)

    def _declared(self, ref, name):
        labels = self.axes.get(name, {})
        return [labels.get(dim, size) for dim, size in enumerate(ref.sizes)]

    def _result_sizes(self, ref, name, found):
        """Sizes as far as they are known; for the others names from the user, or of the inputs that they come from."""
        if ref.sizes is None:
            return found
        labels, found = self.axes.get(name, {}), found or ref.sizes
        sizes = [own if size is None else size for size, own in zip(ref.sizes, found, strict=True)]
        return [labels.get(dim, size) for dim, size in enumerate(sizes)]

    @staticmethod
    def _parameters_as_inputs(graph):
        for tensor in graph.initializer:
            graph.input.append(onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims)))
        del graph.initializer[:]


def _as_written(ref):
    """Complex tensors go in and out as pairs, as view_as_real() gives them."""
    return pairs(ref) if is_complex(ref) else ref


def _flat(arguments):
    """{path: tensor} of all tensors in the arguments."""
    found = {}

    def visit(path, value):
        if isinstance(value, wisp.Tensor):
            found[path] = value
        elif isinstance(value, dict):
            for key, item in value.items():
                visit(f"{path}.{key}", item)
        elif isinstance(value, (list, tuple)):
            for i, item in enumerate(value):
                visit(f"{path}.{i}", item)

    for name, value in arguments.items():
        visit(name, value)
    return found


def _rebuilt(value, refs):
    if isinstance(value, wisp.Tensor):
        return next(refs)
    if isinstance(value, dict):
        return {key: _rebuilt(item, refs) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        items = [_rebuilt(item, refs) for item in value]
        return items if isinstance(value, list) else tuple(items)
    return value


def _input_names(flat, given):
    names = list(given or ())
    if len(names) > len(flat):
        raise RuntimeError(f"input_names has {len(names)} names, but the model has {len(flat)} inputs: {list(flat)}")
    names += list(flat)[len(names) :]
    if len(set(names)) < len(names):
        raise ValueError(f"inputs need different names, got {names}")
    return names


def _output_names(count, given, builder):
    names = list(given or ())
    if len(names) > count:
        raise RuntimeError(f"output_names has {len(names)} names, but the model has {count} outputs")
    rest = ["output"] if count == 1 else [f"output_{i}" for i in range(count)]
    taken = builder.names & set(names)
    if taken:
        raise ValueError(f"outputs need names that nothing else has, but there is {sorted(taken)} already")
    builder.names.update(names)
    return [*names, *(builder.fresh(name) for name in rest[len(names) :])]


def export(model, args, f, kwargs, verbose, external_data, settings):
    """Exports and writes a model; gives the ModelProto back."""
    made = exported(model, args, kwargs, settings)
    write.check(made)
    if verbose:
        print(graph_text(onnx.shape_inference.infer_shapes(made, data_prop=True).graph))
    if f is not None:
        write.save(made, os.fspath(f) if isinstance(f, os.PathLike) else f, external_data)
    return made
