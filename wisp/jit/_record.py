"""Running functions and modules with every call recorded."""

import inspect
from contextlib import contextmanager
from threading import RLock

from wisp._C import _jit
from wisp.jit._custom_calls import calls_of_custom_functions, exchange_apply
from wisp.jit._custom_ops import calls_of_custom_ops, exchange_call
from wisp.jit._module import ScriptFunction
from wisp.jit._module_tree import Tree
from wisp.nn import Module


class _Unstructured(Exception):
    """A submodule takes, returns or hands on what its method cannot: what it calls is recorded as its caller's."""


def is_tracing():
    """Whether a trace is being recorded."""
    return _jit.current_recorder() is not None


# Calls of modules and compiled functions go through the classes, which all threads share.
_one_at_a_time = RLock()


@contextmanager
def _recording(recorder, program, tree=None, keep_python=True):
    """Calls are recorded; with a tree of modules, those of submodules as calls of their methods. Unless `keep_python`, what
    an autograd.Function or an operator of the program calls is recorded in its place."""
    with _one_at_a_time:
        recorder.start()
        originals = Module.__call__, ScriptFunction.__call__
        call = exchange_call(calls_of_custom_ops(recorder, program, _run_aside) if keep_python else None)
        apply = exchange_apply(
            calls_of_custom_functions(recorder, program, _run_aside, _record_plain) if keep_python else None
        )
        ScriptFunction.__call__ = _calls_of_functions(recorder, program)
        if tree is not None:
            Module.__call__ = _calls_of_submodules(recorder, tree)
        try:
            yield
        finally:
            Module.__call__, ScriptFunction.__call__ = originals
            exchange_apply(apply)
            exchange_call(call)
            recorder.stop()
            recorder.close()


def _run_aside(recorder, function, args):
    """Runs a compiled function without recording what it calls."""
    recorder.stop()
    try:
        return function(*args)
    finally:
        recorder.start()


def _calls_of_functions(recorder, program):
    """What stands in for ScriptFunction.__call__: compiled functions are called by the trace as they are."""
    names = {}

    def call(function, *args, **kwargs):
        if not is_tracing():
            return function._c(*args, **kwargs)
        given = function._c.complete(args, kwargs)
        values = [recorder.value(value) for value in given]
        if function not in names:
            names[function] = program.link(function._c)
        return recorder.call_function(names[function], values, _run_aside(recorder, function._c, given))

    return call


def _calls_of_submodules(recorder, tree):
    """What stands in for Module.__call__: a submodule's call becomes a method of its own, and a call of that."""
    plain, counts, around = Module.__call__, {}, [()]  # `around`: paths of the modules whose calls are recorded

    def record(module, args, kwargs):
        path, given = tree.paths[module], [*args, *kwargs.values()]
        values = [recorder.value(value) for value in given]
        count = counts[module] = counts.get(module, -1) + 1
        method = f"forward{count}" if count else "forward"
        recorder.begin(f"{tree.name}.{'.'.join(path)}.{method}", tree.classes[module], path)
        names = [*parameter_names(module.forward, len(args)), *kwargs]
        inner = [recorder.param(name, value) for name, value in zip(names, given, strict=True)]
        around.append(path)
        try:
            result = plain(module, *inner[: len(args)], **dict(zip(kwargs, inner[len(args) :], strict=True)))
        finally:
            around.pop()
        try:
            recorder.end(result, method)
        except TypeError:
            raise _Unstructured from None
        return recorder.call_method(path, method, values, result)

    def call_compiled(module, args, kwargs):
        forward = module._c.method("forward")
        given = forward.complete(args, kwargs)
        values = [recorder.value(value) for value in given]
        return recorder.call_method(tree.paths[module], "forward", values, _run_aside(recorder, forward, given))

    def is_below(module):
        """Whether the module that calls holds it. Of one that has several names only the first one counts."""
        path = tree.paths.get(module)
        return path is not None and path[: len(around[-1])] == around[-1]

    def call(module, *args, **kwargs):
        compiled = module in tree.compiled
        if not is_tracing() or not is_below(module) or not _can_pass((args, kwargs)) or (compiled and module._hooked):
            return plain(module, *args, **kwargs)
        return call_compiled(module, args, kwargs) if compiled else record(module, args, kwargs)

    return call


def _can_pass(value):
    """Whether a graph can hold a value."""
    try:
        _jit.type_of(value)
    except TypeError:
        return False
    return True


def parameter_names(function, count):
    """Names for the first arguments of a function."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "input")
    names += [f"{rest}_{i}" for i in range(count - len(names))]
    return names[:count]


def _run(recorder, function, signature, args, kwargs):
    """Calls a function on parameters of the one that is recorded."""
    names = parameter_names(signature, len(args))
    inner = [recorder.param(name, value) for name, value in zip(names, args, strict=True)]
    return function(*inner, **{name: recorder.param(name, value) for name, value in kwargs.items()})


def _finish(recorder, result, method, strict):
    if strict:
        _question_containers(result)
    try:
        return recorder.end(result, method)
    except TypeError as error:
        raise RuntimeError(
            f"a traced function returned what a graph cannot hold: {error}. Return tensors, or tuples of tensors"
        ) from error


def _question_containers(result):
    """Lists and dicts may be others in another call, which a trace cannot show: PyTorch warns of lists, and refuses dicts."""
    if isinstance(result, (list, dict)):
        message = (
            f"Encountering a {type(result).__name__} at the output of the tracer might cause the trace to be incorrect, this "
            "is only valid if the container structure does not change based on the module's inputs. Consider using a "
            "constant container instead (e.g. for `list`, use a `tuple` instead. for `dict`, use a `NamedTuple` instead). "
            "If you absolutely need this and know the side effects, pass strict=False to trace() to allow this behavior."
        )
        if isinstance(result, dict):
            raise RuntimeError(message)
        from wisp.jit._trace import _warn

        _warn(message)
    for item in result if isinstance(result, (list, tuple)) else ():
        _question_containers(item)


def _tidied(program):
    for name in program.functions():
        program.function(name).graph.run_pass("dead_code")


def record_function(function, name, args, kwargs, strict, keep_python=True):
    """A function of a new program: what the given one calls."""
    program = _jit.Program()
    recorder = _jit.Recorder(program)
    with _recording(recorder, program, None, keep_python):
        recorder.begin(name, None, ())
        made = _finish(recorder, _run(recorder, function, function, args, kwargs), None, strict)
    _tidied(program)
    return program.function(made)


def _record_plain(function, name, args):
    return record_function(function, name, args, {}, False)


def record_module(module, inputs, strict, keep_python=True):
    """An object of a new program whose methods were run on these inputs: {method: (args, kwargs)}."""
    try:
        return _record_module(module, inputs, strict, True, keep_python)
    except _Unstructured:
        return _record_module(module, inputs, strict, False, keep_python)


def _record_module(module, inputs, strict, keep_calls, keep_python):
    program = _jit.Program()
    tree = Tree(program, module)
    for method, (args, kwargs) in inputs.items():
        recorder = _jit.Recorder(program)
        for tensor, path in tree.tensors:
            recorder.name_tensor(tensor, path)
        written = getattr(module, method)
        function = module if method == "forward" else written
        with _recording(recorder, program, tree if keep_calls else None, keep_python):
            recorder.begin(f"{tree.name}.{method}", tree.classes[module], ())
            _finish(recorder, _run(recorder, function, written, args, kwargs), method, strict)
        if recorder.leaked:
            raise _Unstructured
    _tidied(program)
    return tree.root
