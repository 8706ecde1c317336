"""Tracing: a function or module is run, and what it called becomes a graph."""

import re
import sys
import warnings
from contextlib import contextmanager
from functools import wraps

from wisp._C import Tensor, no_grad
from wisp.jit._marks import stays_python
from wisp.jit._module import RecursiveScriptModule, ScriptFunction, TopLevelTracedModule
from wisp.jit._names import without_shapes
from wisp.jit._record import is_tracing, record_function, record_module
from wisp.jit._views import all_nodes
from wisp.nn import Module


class TracerWarning(Warning):
    """Something in a traced program may make the trace wrong for other inputs."""

    @staticmethod
    def ignore_lib_warnings():
        """Accepted: wisp itself causes no such warnings."""


class TracingCheckError(Exception):
    """A program called other operations when it was run again."""


_READS = {
    "bool()": "a Python boolean",
    "int()": "a Python integer",
    "float()": "a Python float",
    "round()": "a Python number",
    "an index": "a Python index",
    "item()": "a Python number",
    "tolist()": "a Python list",
    "set_()": "a part of another's memory",
    "numpy()": "a NumPy array",
}
_SIZES = {
    "len()": "Using len to get tensor shape might cause the trace to be incorrect. Recommended usage would be "
    "tensor.shape[0]. Passing a tensor of different shape might lead to errors or silently give incorrect results.",
    "iter()": "Iterating over a tensor might cause the trace to be incorrect. Passing a tensor of different shape won't "
    "change the number of iterations executed (and might lead to errors or silently give incorrect results).",
}


def warn_read(what):
    """Warns, at the user's line, that a value of a tensor, or a size, becomes a part of the trace."""
    if what in _SIZES:
        if not _is_ours(sys._getframe(1)):
            _warn(_SIZES[what])
        return
    _warn(
        f"Converting a tensor to {_READS[what]} might cause the trace to be incorrect. We can't record the data flow of "
        "Python values, so this value will be treated as a constant in the future. This means that the trace might not "
        "generalize to other inputs!"
    )


def _is_ours(frame):
    return frame.f_globals.get("__name__", "").partition(".")[0] == "wisp"


def _warn(message):
    """Warns at the innermost line that is not wisp's own."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _is_ours(frame):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, TracerWarning, stacklevel=level)


# --- inputs


def _as_tuple(inputs):
    if inputs is None or isinstance(inputs, (Tensor, dict, int, float, str)):
        return (inputs,)
    return tuple(inputs)


def _copied(value):
    """Inputs for one run: what is written into them is not seen by the next."""
    if isinstance(value, Tensor):
        return value.detach().clone().requires_grad_() if value.requires_grad and value.is_leaf else value.clone()
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(_copied, value))
    if isinstance(value, (list, tuple)):
        return type(value)(map(_copied, value))
    return {key: _copied(item) for key, item in value.items()} if isinstance(value, dict) else value


# --- checking


@contextmanager
def _afterwards_as_before(module):
    """Leaves random numbers, and what a module counts or averages, as they were."""
    from wisp.random import get_rng_state, set_rng_state

    state = get_rng_state()
    buffers = [(buffer, buffer.clone()) for buffer in module.buffers()] if module is not None else ()
    try:
        yield
    finally:
        set_rng_state(state)
        with no_grad():
            for buffer, before in buffers:
                buffer.copy_(before)


def _check_results(module, written, compiled, inputs, tolerance):
    """Compares a trace with the program on inputs."""
    for args, kwargs in inputs:
        results = []
        for each in (written, compiled):
            with _afterwards_as_before(module):
                own_args, own_kwargs = _copied((args, kwargs))
                results.append(each(*own_args, **own_kwargs))
        _compare(*results, tolerance)


def _check_again(first, record, inputs):
    """Compares the functions of a trace with those of further ones, on the same inputs and on others."""
    for i, (args, kwargs) in enumerate(inputs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TracerWarning)  # they have been heard
            second = record(_copied((args, kwargs)))
        _compare_graphs(first, second, of_other_shapes=i > 0)


def _warn_of_random_nodes(program):
    """Warns if a trace draws random numbers, which a model in training does unawares."""
    graphs = [program.function(name).graph for name in program.functions()]
    found = [node for graph in graphs for node in all_nodes(graph) if node.isNondeterministic()]
    if found:
        lines = "\n".join(f"\t{node.kind()}  # {node.place}" for node in found[:20])
        _warn(
            f"Trace had nondeterministic nodes. Did you forget call .eval() on your model? Nodes:\n{lines}\nThey draw new random "
            "numbers in every call."
        )


_HOST_NUMBER = re.compile(r'\.[0-9a-f]{6,}"')  # by which Python functions of one name are told apart


def _texts(program, of_other_shapes):
    texts = [program.function(name).graph.to_text(places=False) for name in program.functions()]
    texts = [_HOST_NUMBER.sub('"', text) for text in texts]
    return list(map(without_shapes, texts)) if of_other_shapes else texts


def _compare_graphs(first, second, of_other_shapes):
    first, second = (_texts(program, of_other_shapes) for program in (first, second))
    if first == second:
        return
    from difflib import ndiff

    changed = ndiff("\n".join(first).splitlines(), "\n".join(second).splitlines())
    lines = "\n".join(line for line in changed if line[:1] in "+-?")
    raise TracingCheckError(f"Tracing failed sanity checks!\nGraphs differed across invocations!\n{lines}")


def _compare(expected, found, tolerance):
    from wisp.testing import assert_close

    try:
        assert_close(found, expected, rtol=tolerance, atol=tolerance, equal_nan=True)
    except AssertionError as error:
        _warn(f"The traced function's result differs from that of the Python function. Detailed error:\n{error}")


# --- the public functions


def trace(func, example_inputs=None, optimize=None, check_trace=True, check_inputs=None, check_tolerance=1e-5,
          strict=True, _force_outplace=False, _module_class=None, _compilation_unit=None, example_kwarg_inputs=None,
          _store_inputs=True):  # fmt: skip
    """Runs a function or module and returns it compiled: the operations that it performed, in that order.

    What depends on the values of tensors (``if x.sum() > 0``) is fixed as it went; a TracerWarning says so. Sizes of
    tensors, and ints and floats among the inputs, stay values that may differ in each call.

    Args:
        func: a function, a module, or a method of a module.
        example_inputs: its arguments: a tuple, or one tensor.
        check_trace: whether to run the program again and compare.
        check_inputs: a list of further arguments to compare on.
        check_tolerance: how far results may differ.
        strict: whether dicts as results are refused, and lists warned of: a trace cannot show whether they are always the same.
        example_kwarg_inputs: arguments by name.
        _store_inputs: whether saved files say of what shapes and dtypes the arguments were.
        optimize, _force_outplace, _module_class, _compilation_unit: accepted and ignored.

    >>> def step(x, h):
    ...     return wisp.tanh(x @ h)
    >>> traced = wisp.jit.trace(step, (wisp.rand(3, 4), wisp.rand(4, 4)))
    >>> traced(wisp.zeros(2, 4), wisp.zeros(4, 4)).shape
    wisp.Size([2, 4])
    """
    if stays_python or isinstance(func, (ScriptFunction, RecursiveScriptModule)):
        return func
    if not callable(func):
        raise TypeError(f"trace() expects a function or a module, got {type(func).__name__}")
    args = () if example_inputs is None else _as_tuple(example_inputs)
    inputs = [(args, dict(example_kwarg_inputs or {})), *((_as_tuple(each), {}) for each in check_inputs or ())]
    owner = func if isinstance(func, Module) else getattr(func, "__self__", None)
    if isinstance(owner, Module):
        method = "forward" if owner is func else func.__name__
        made = _traced_module(owner, {method: inputs}, check_trace, check_tolerance, strict, _store_inputs)
        return made if owner is func else getattr(made, method)

    def record(example):
        return record_function(func, _name(func), *example, strict)

    made = ScriptFunction(record(_copied(inputs[0])), func)
    if check_trace:
        _warn_of_random_nodes(made._c.program)
        with _afterwards_as_before(None):
            _check_again(made._c.program, lambda example: record(example).program, inputs)
        _check_results(None, func, made, inputs, check_tolerance)
    _note_inputs(made._c, *inputs[0], _store_inputs)
    return made


def _note_inputs(function, args, kwargs, wanted):
    function.example = function.complete(args, kwargs) if wanted else []


def _name(function):
    name = getattr(function, "__name__", type(function).__name__)
    return name if name.isidentifier() else "traced"


def trace_module(mod, inputs, optimize=None, check_trace=True, check_inputs=None, check_tolerance=1e-5, strict=True,
                 _force_outplace=False, _module_class=None, _compilation_unit=None, example_inputs_is_kwarg=False,
                 _store_inputs=True):  # fmt: skip
    """Traces methods of a module: ``{name of the method: its arguments}``; see trace().

    >>> class Net(wisp.nn.Module):
    ...     def forward(self, x):
    ...         return x + 1
    ...
    ...     def twice(self, x):
    ...         return x * 2
    >>> net = wisp.jit.trace_module(Net(), {"forward": wisp.ones(2), "twice": wisp.ones(2)})
    >>> net.twice(wisp.ones(3))
    tensor([2., 2., 2.])
    """
    if stays_python:
        return mod
    if not isinstance(mod, Module):
        raise AttributeError(f"expected wisp.nn.Module as the first argument, got {type(mod).__name__}")
    if not isinstance(inputs, dict):
        raise AttributeError("expected a dictionary of (method_name, input) pairs")
    all_inputs = {}
    for method, given in inputs.items():
        examples = [given, *(each[method] for each in check_inputs or ())]
        by_name = example_inputs_is_kwarg
        all_inputs[method] = [((), dict(each)) if by_name else (_as_tuple(each), {}) for each in examples]
    return _traced_module(mod, all_inputs, check_trace, check_tolerance, strict, _store_inputs)


def _traced_module(module, inputs, check_trace, tolerance, strict, store_inputs):
    """``inputs`` is {method: [(args, kwargs) to trace with, and to check with]}."""

    _refuse_backward_hooks(module)

    def record(examples):
        return record_module(module, examples, strict)

    made = TopLevelTracedModule(
        record({method: _copied(given[0]) for method, given in inputs.items()}), type(module).__name__
    )
    if check_trace:
        _warn_of_random_nodes(made._c.program)
        rounds = [(dict(zip(inputs, each, strict=True)), {}) for each in zip(*inputs.values(), strict=True)]
        with _afterwards_as_before(module):
            _check_again(made._c.program, lambda example: record(example[0]).program, rounds)
        for method, given in inputs.items():
            written, compiled = (each if method == "forward" else getattr(each, method) for each in (module, made))
            _check_results(module, written, compiled, given, tolerance)
    for method, given in inputs.items():
        _note_inputs(made._c.method(method), *given[0], store_inputs)
    return made


def _refuse_backward_hooks(module):
    """They would be lost."""
    for name, part in module.named_modules():
        if any(vars(part).get(kind) for kind in ("_backward_hooks", "_backward_pre_hooks")):
            where = f"the submodule '{name}'" if name else "this one"
            raise ValueError(f"Modules that have backward hooks assigned can't be compiled: {where} is a {part}")


def script_if_tracing(fn):
    """A decorator: inside of a trace the function is compiled by script(), so that its control flow is kept."""
    compiled = []

    @wraps(fn)
    def call(*args, **kwargs):
        if not is_tracing():
            return fn(*args, **kwargs)
        if not compiled:
            from wisp.jit._script import script

            compiled.append(script(fn))
        return compiled[0](*args, **kwargs)

    return call


_script_if_tracing = script_if_tracing  # by which libraries call it
