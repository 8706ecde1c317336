"""Which modules of a network call which, seen by hooks."""

from wisp import _C
from wisp._summary._work import multiply_adds
from wisp.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from wisp.utils._pytree import tree_leaves


class Layer:
    """One line of a summary: a module in the place where it was called.

    Attributes:
        name: what the module that called it calls it; ``path`` is the whole way from the top.
        module: the module; ``kind`` the name of its class.
        depth: how many modules are around it.
        calls: how often it was called in this place.
        input_shapes, output_shapes: of the tensors of the last call; ``output_shape`` is the first of them or None.
        parameters, trainable_parameters: how many are in it.
        is_shared: whether all of them are counted in lines before.
        multiply_adds, activation_bytes: of all calls in this place. Results on the memory of an argument take none.
        is_leaf: whether it called no module with a line of its own.
    """

    def __init__(self, module, name, parent):
        self.module, self.name, self.parent = module, name, parent
        self.kind = type(module).__name__
        self.depth = 0 if parent is None else parent.depth + 1
        self.path = ".".join(part for part in (parent.path if parent else "", name) if part)
        self.children, self.calls, self.is_shared = {}, 0, False
        self.input_shapes, self.output_shapes = [], []
        self._work = self._kept = 0

    @property
    def output_shape(self):
        return self.output_shapes[0] if self.output_shapes else None

    @property
    def is_leaf(self):
        return not any(child.calls for child in self.children.values()) or self._work > 0

    @property
    def multiply_adds(self):
        return self._work if self.is_leaf else sum(child.multiply_adds for child in self.children.values())

    @property
    def activation_bytes(self):
        return self._kept if self.is_leaf else sum(child.activation_bytes for child in self.children.values())

    @property
    def parameters(self):
        return sum(p.numel() for p in self.module.parameters())

    @property
    def trainable_parameters(self):
        return sum(p.numel() for p in self.module.parameters() if p.requires_grad)

    def note(self, inputs, output):
        """Takes down a call."""
        self.calls += 1
        given, found = _tensors(inputs), _tensors(output)
        self.input_shapes, self.output_shapes = [t.shape for t in given], [t.shape for t in found]
        memory = {t._storage_id() for t in given}
        self._kept += sum(t.numel() * t.element_size() for t in found if t._storage_id() not in memory)
        self._work += multiply_adds(self.module, given, found)

    def __repr__(self):
        return f"<{self.path or 'top'}: {self.kind}, {self.parameters} parameters>"


def _tensors(value):
    """The tensors in nested arguments or results, in order."""
    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, _C.Tensor)]


class _Observer:
    """Builds the tree of calls: the module called last and not yet done is the one that calls."""

    def __init__(self, model):
        self.top, self.stack = Layer(model, "", None), []

    def enter(self, module, args):
        if not self.stack:
            self.stack.append(self.top)
            return
        around = self.stack[-1]
        if id(module) not in around.children:
            around.children[id(module)] = Layer(module, _name(around.module, module), around)
        self.stack.append(around.children[id(module)])

    def leave(self, module, args, kwargs, output):
        self.stack.pop().note((*args, *kwargs.values()), output)


def _name(around, module):
    """What a module calls another that it calls; it may be none of its own."""
    if around is module:
        return "itself"
    return next((name for name, other in around.named_modules(remove_duplicate=False) if other is module), "outside")


def observe(model, inputs, kwargs):
    """The layers of a network, in the order they are called."""
    observer = _Observer(model)
    modes = [(module, module.training) for module in model.modules()]
    # Hooks on all modules leave nothing behind on those of the network.
    handles = [
        register_module_forward_pre_hook(observer.enter),
        register_module_forward_hook(observer.leave, with_kwargs=True),
    ]
    try:
        for module, _ in modes:
            module.training = False
        with _C.no_grad():
            model(*inputs, **kwargs)
    finally:
        for handle in handles:
            handle.remove()
        for module, mode in modes:
            module.training = mode
    _add_uncalled(observer.top)
    layers = _in_order(observer.top)
    _mark_shared(layers)
    return layers


def _in_order(layer):
    found, rest = [], [layer]
    while rest:
        layer = rest.pop()
        found.append(layer)
        rest += reversed(layer.children.values())
    return found


def _add_uncalled(top):
    """Adds modules with parameters that nobody called, each to the innermost layer around it. Those inside a layer of
    known work are part of it."""
    layers = _in_order(top)
    seen = {id(layer.module) for layer in layers}
    for layer in layers:
        if layer._work:
            seen.update(id(module) for module in layer.module.modules())
    for layer in reversed(layers):
        for name, module in layer.module.named_modules():
            owns = any(p is not None for p in module._parameters.values())
            if id(module) not in seen and owns:
                seen.add(id(module))
                layer.children[id(module)] = Layer(module, name, layer)


def _mark_shared(layers):
    counted = set()
    for layer in layers:
        if not layer.children or layer._work:
            own = {id(p) for p in layer.module.parameters()}
            layer.is_shared = bool(own) and own <= counted
            counted |= own
