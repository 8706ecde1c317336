"""The graph of a model: its modules in the order they were called, and which result went where.

The model runs once on the given input, with gradients recorded. A module's inputs are traced back through the recorded
graph to the results of other modules, so functions between modules (``x + y``, ``x.flatten(1)``) are part of the edges.
"""

import wisp
from wisp import Tensor
from wisp.utils import _pytree
from wisp.utils.tensorboard._proto import chunk, integer


class _Recorder:
    """Nodes of the graph, and which node made which tensor."""

    def __init__(self):
        self.nodes = []
        self._makers = {}  # a step of the recorded graph, or a tensor without one: the node whose result it is
        self._kept = []  # so that no other object takes their identity
        self._names = {}

    def add(self, scope, op, inputs, outputs):
        """A node of the graph, made from tensors into tensors."""
        count = self._names[scope] = self._names.get(scope, 0) + 1
        name = scope if count == 1 else f"{scope}_{count - 1}"
        sources = list(dict.fromkeys(source for x in inputs for source in self._sources(x)))
        self.nodes.append((name, op, sources, [tuple(x.shape) for x in outputs]))
        for x in outputs:
            self._makers[self._key(x)] = name
            self._kept.append(x)
        return name

    def _key(self, tensor):
        step = tensor.grad_fn
        if step is None:
            return id(tensor)
        self._kept.append(step)
        return id(step)

    def _sources(self, tensor):
        """The nodes that a tensor was computed from, without any between."""
        found, seen, stack = [], set(), [(tensor, tensor.grad_fn)]
        while stack:
            leaf, step = stack.pop()
            key = id(leaf) if step is None else id(step)
            if key in seen:
                continue
            seen.add(key)
            self._kept.append(step)
            if key in self._makers:
                found.append(self._makers[key])
            elif step is not None:
                stack.extend(
                    (getattr(before, "variable", None), _inner(before)) for before, _ in step.next_functions if before
                )
        return found


def _inner(step):
    """A step of the recorded graph; None for the leaves, which are told by their tensor."""
    return None if getattr(step, "variable", None) is not None else step


def _tensors(tree):
    return [x for x in _pytree.tree_leaves(tree) if isinstance(x, Tensor)]


def _scopes(model):
    """The names of all modules as paths of class names, with the attribute's name in brackets."""
    scopes = {id(model): type(model).__name__}
    for name, module in model.named_modules():
        for child_name, child in module.named_children():
            scopes.setdefault(id(child), f"{scopes[id(module)]}/{type(child).__name__}[{child_name}]")
    return scopes


def graph(model, args, verbose=False):
    """The encoded events of a model's graph: the graph itself, and the (empty) measurements of a run of it."""
    args = args if isinstance(args, (tuple, list)) else (args,)
    args = _pytree.tree_map(_leaf, tuple(args))
    recorder, scopes = _Recorder(), _scopes(model)
    for i, x in enumerate(_tensors(args)):
        recorder.add(f"input/input.{i + 1}", "IO Node", [], [x])

    def called(module, inputs, output):
        recorder.add(scopes[id(module)], type(module).__name__, _tensors(inputs), _tensors(output))

    leaves = [module for module in model.modules() if next(module.children(), None) is None]
    handles = [module.register_forward_hook(called) for module in leaves]
    was_training = model.training
    try:
        with wisp.enable_grad():
            results = _tensors(model.eval()(*args))
    finally:
        model.train(was_training)
        for handle in handles:
            handle.remove()
    for i, x in enumerate(results):
        recorder.add(f"output/output.{i + 1}", "IO Node", [x], [])
    if verbose:
        for node in recorder.nodes:
            print(*node)
    return chunk(4, _graph_def(recorder.nodes)), chunk(8, chunk(1, "step1") + chunk(2, _RUN))


def _leaf(x):
    """A tensor of its own, whose uses are recorded if it can have a gradient."""
    if not isinstance(x, Tensor):
        return x
    x = x.detach().clone()
    return x.requires_grad_() if x.is_floating_point() or x.is_complex() else x


_RUN = chunk(1, chunk(1, chunk(1, "/device:CPU:0")))  # RunMetadata.step_stats.dev_stats.device


def _graph_def(nodes):
    versions = integer(1, 22)
    return b"".join(chunk(1, _node(*node)) for node in nodes) + chunk(4, versions)


def _node(name, op, inputs, shapes):
    sources = b"".join(chunk(3, source) for source in inputs)
    return chunk(1, name) + chunk(2, op) + sources + (_output_shapes(shapes) if shapes else b"")


def _output_shapes(shapes):
    listed = b"".join(chunk(7, b"".join(chunk(2, integer(1, size)) for size in shape)) for shape in shapes)
    return chunk(5, chunk(1, "_output_shapes") + chunk(2, chunk(1, listed)))
