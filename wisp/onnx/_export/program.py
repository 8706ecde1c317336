"""The graph of a model: of a module or function that is traced for it, or of a compiled one."""

import contextlib
from dataclasses import dataclass

import wisp
from wisp import nn
from wisp._C import no_grad
from wisp.jit import ScriptFunction, ScriptModule
from wisp.jit._record import parameter_names, record_function, record_module
from wisp.jit._views import inlined
from wisp.onnx._export.values import leaves


@dataclass
class Program:
    """A graph with all calls inlined, the object that it belongs to (or None), and its arguments: {name: example}."""

    graph: object
    owner: object
    arguments: dict


class _Flat(nn.Module):
    """A model whose results, of whatever structure, are a tuple of tensors."""

    def __init__(self, model):
        super().__init__()
        self.add_module(INNER, model)

    def forward(self, *args, **kwargs):
        return _flat(getattr(self, INNER)(*args, **kwargs))


INNER = "exported_model"  # the name of the model in the one around it


def _flat(result):
    return tuple(leaf for leaf in leaves(result) if leaf is not None)


def _without_python(graph):
    """A graph of its own, with an autograd.Function as what it calls."""
    made = inlined(graph)
    if made.run_pass("host_gradients"):
        made.run_pass("constant_folding")
    return made


def program_of(model, args, kwargs):
    if isinstance(model, ScriptModule):
        function = model._c.method("forward")
        return Program(_without_python(function.graph), model._c, _bound(function, args, kwargs))
    if isinstance(model, ScriptFunction):
        return Program(_without_python(model._c.graph), None, _bound(model._c, args, kwargs))
    with no_grad():
        if isinstance(model, nn.Module):
            around = _Flat(model)
            around.training = model.training
            owner = record_module(around, {"forward": (args, kwargs)}, False, keep_python=False)
            function, written = owner.method("forward"), model.forward
        else:
            owner, written = None, model
            function = record_function(
                lambda *a, **k: _flat(model(*a, **k)), "traced", args, kwargs, False, keep_python=False
            )
    names = [*parameter_names(written, len(args)), *kwargs]
    return Program(inlined(function.graph), owner, dict(zip(names, (*args, *kwargs.values()), strict=True)))


def _bound(function, args, kwargs):
    """Arguments by name, with defaults."""
    names = [name for name, *_ in function.params]
    if len(args) > len(names) or not set(kwargs) <= set(names[len(args) :]):
        raise TypeError(f"forward() takes the arguments {names}, got {len(args)} of them and {sorted(kwargs)} by name")
    return dict(zip(names, function.complete(tuple(args), kwargs), strict=True))


@contextlib.contextmanager
def in_mode(model, mode):
    """A model in evaluation or training mode, or as it is if the mode is None; afterwards as it was before."""
    if mode is None or not isinstance(model, nn.Module):
        yield
        return
    before = {module: module.training for module in model.modules()}
    model.train(mode)
    try:
        yield
    finally:
        for module, training in before.items():
            module.training = training


def copied(value):
    """Arguments for one run: what is written into them is not seen outside."""
    if isinstance(value, wisp.Tensor):
        return value.detach().clone()
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(copied, value))
    if isinstance(value, (list, tuple)):
        return type(value)(map(copied, value))
    return {key: copied(item) for key, item in value.items()} if isinstance(value, dict) else value
