"""Calls of an autograd.Function in traces: where gradients are recorded, its own backward computes them."""

import json

from wisp import _C
from wisp._C import Tensor, _jit, no_grad
from wisp.autograd import function as custom
from wisp.jit._numbers import TracedFloat, TracedInt, plain_number

_KINDS = {TracedInt: "int", TracedFloat: "float"}

# The graph calls Python where that has the function and gradients are recorded, else what forward() called.
_TEXT = """program 1
function {name} {{
  graph({params}):
    %function : str = prim::Constant[value={key}]()
    %inputs : Tensor[] = prim::ListConstruct({tensors})
    %by_python : bool = aten::_gradient_by_host(%function, %inputs)
    %result : {type} = prim::If(%by_python)
      block0():
        %own : {type} = prim::HostCall[name={key}]({names})
        -> (%own)
      block1():
        %recorded : {type} = prim::CallFunction[name={forward}]({names})
        -> (%recorded)
    return (%result)
}}
"""


def exchange_apply(apply):
    """Sets what Function.apply() does; returns what it did."""
    before, custom._traced_apply = custom._traced_apply, apply
    return before


def calls_of_custom_functions(recorder, program, run_aside, record):
    """What stands in for Function.apply(). `record` makes a function of a new program of what a Python function calls."""

    def apply(cls, *args):
        places = [i for i, value in enumerate(args) if isinstance(value, Tensor) or type(value) in _KINDS]
        ours = cls.__module__.partition(".")[0] == "wisp"
        if _jit.current_recorder() is None or not _C.is_grad_enabled() or ours or not places:
            return cls._apply(*args)
        given, rest = [args[i] for i in places], [None if i in places else value for i, value in enumerate(args)]

        def call(*values):
            own = list(rest)
            for i, value in zip(places, values, strict=True):
                own[i] = value
            return cls._apply(*own)

        values = [recorder.value(value) for value in given]
        copies = [value.detach().clone() if isinstance(value, Tensor) else value for value in given]
        result = run_aside(recorder, call, map(plain_number, given))
        kind = _type_of(result)
        if kind is None:
            raise TypeError(
                f"{cls.__name__}.forward() returns what a trace cannot hold: return tensors, or tuples of tensors"
            )
        made = run_aside(recorder, lambda *inputs: _compiled(cls, call, inputs, kind, record), copies)
        return recorder.call_function(program.link(made), values, result)

    return apply


def _type_of(result):
    if isinstance(result, Tensor):
        return "Tensor"
    if not isinstance(result, tuple) or not all(isinstance(item, Tensor) for item in result):
        return None
    return f"({', '.join('Tensor' for _ in result)}{',' if len(result) == 1 else ''})"


def _compiled(cls, call, inputs, kind, record):
    """A function of a new program that does what apply() does."""
    with no_grad():
        forward = record(call, f"{cls.__name__}.forward", inputs)
    key = f"{cls.__module__}.{cls.__qualname__}.{id(call):x}"
    _jit.host_functions[key] = call
    names = [f"%x{i}" for i in range(len(inputs))]
    params = [f"{name} : {_KINDS.get(type(value), 'Tensor')}" for name, value in zip(names, inputs, strict=True)]
    tensors = [name for name, value in zip(names, inputs, strict=True) if isinstance(value, Tensor)]
    forward.program.parse(
        _TEXT.format(
            name=cls.__name__,
            params=", ".join(params),
            key=json.dumps(key),
            type=kind,
            names=", ".join(names),
            tensors=", ".join(tensors),
            forward=json.dumps(forward.name),
        )
    )
    return forward.program.function(cls.__name__)
