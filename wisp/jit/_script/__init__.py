"""The compiler of scripts: Python source to graphs."""

import inspect
import sys
import warnings
from builtins import isinstance as _is
from copy import copy
from enum import Enum
from functools import partial

from wisp.jit._containers import ScriptDict, ScriptList
from wisp.jit._marks import (
    Attribute,
    Final,
    annotate,
    export,
    ignore,
    interface,
    is_scripting,
    marker,
    overloaded,
    script_method,
    scripted_classes,
    stays_python,
    unused,
)
from wisp.jit._marks import (
    isinstance as isinstance,
)
from wisp.jit._module import ScriptModule, keep_python
from wisp.jit._script import types as T
from wisp.jit._script.errors import CompileError, FrontendError
from wisp.jit._script.modules import ModuleSpec
from wisp.jit._script.program import Program
from wisp.jit._script.tables import tables
from wisp.jit._script.units import function_of_operator
from wisp.jit.annotations import Broadcasted
from wisp.nn import Module


def __getattr__(name):
    if name == "CompilationUnit":
        from wisp.jit._script.units import CompilationUnit

        return CompilationUnit
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["Attribute", "CompileError", "Final", "FrontendError", "annotate", "export", "ignore", "interface", "is_scripting",
           "isinstance", "script", "script_method", "unused"]  # fmt: skip


def script(obj, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """Compiles a function, a module or a class from its Python source; of a list or dict, makes one that scripts can write to.

    Parameters without annotation are tensors. Of a module, forward() and the methods that it calls or that are marked
    with ``export`` are compiled; the result shares its parameters. A class is returned as it is, after a check that
    scripts can use it.
    """
    from wisp.jit._module import ScriptFunction

    if stays_python or _is(obj, (ScriptFunction, ScriptModule, ScriptList, ScriptDict)):
        return obj
    try:
        return _script(obj)
    except (CompileError, OSError) as error:  # OSError: there is no source
        if _stands_in_for_torch() and _in_an_import():
            # Libraries compile functions when they are imported; as Python they do the same.
            warnings.warn(f"{getattr(obj, '__name__', type(obj).__name__)} stays Python: {error}", stacklevel=2)
            return obj
        raise error.with_traceback(None) from None


def _stands_in_for_torch():
    import wisp

    return sys.modules.get("torch") is wisp


def _in_an_import():
    """Whether Python is running the body of a module that is being imported."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename != "<frozen importlib._bootstrap>":
        frame = frame.f_back
    return frame is not None


def _script(obj):
    if not inspect.isclass(obj):
        obj = _prepared(obj, {})
    if _is(obj, (list, dict)):
        return ScriptList(obj) if _is(obj, list) else ScriptDict(obj)
    if _is(obj, Module):
        return script_module(obj)
    if inspect.isclass(obj):
        return _script_class(obj)
    if inspect.isfunction(obj):
        return script_function(obj)
    if (operator := tables().function(obj)) is not None:
        return script_function(function_of_operator(obj, operator[0][0]))
    if inspect.ismethod(obj) and _is(obj.__self__, Module):
        raise TypeError("a method of a module cannot be compiled on its own: compile the module")
    raise TypeError(f"an object of type {type(obj).__name__} cannot be compiled: pass a function, a module or a class")


def _overload(fn):
    """A decorator for declarations of other types that a function takes: the implementation decides."""
    overloaded.add((fn.__module__, fn.__qualname__))
    return fn


_overload_method = _overload


def script_function(fn):
    """A compiled function."""
    from wisp.jit._module import BroadcastingFunction, ScriptFunction

    program = Program()
    fn = inspect.unwrap(fn)
    compiled = program.function_of(fn)
    sizes = {p.name: T.without_none(p.type).host for p in compiled.params}
    sizes = {name: host.size for name, host in sizes.items() if _is(host, Broadcasted)}
    make = partial(BroadcastingFunction, sizes=sizes) if sizes else ScriptFunction
    made = make(program.native().function(compiled.name), fn)
    made.__dict__["_scripted"] = fn
    return made


def script_module(module):
    """A compiled module, which shares the parameters of the Python one."""
    from wisp.jit._module import wrap_module

    program, spec = compile_module(module)
    made = wrap_module(spec.instantiate(program.native(), {}, module), type(module).__name__)
    _keep_python_methods(made, module)
    return made


def _keep_python_methods(made, module):
    """Methods that are marked as Python's own are called as before, on the compiled module, and properties are read by
    them; so in its submodules."""
    members = {name: inspect.getattr_static(type(module), name) for name in dir(type(module))}
    keep_python(made, {name: member for name, member in members.items() if _stays_python(made, name, member)})
    for name, child in module._modules.items():
        if child is not None and not _is(child, ScriptModule):
            _keep_python_methods(made._modules[name], child)


def _stays_python(made, name, member):
    if _is(member, property):
        return not hasattr(Module, name)
    return inspect.isfunction(member) and marker(member) in ("ignore", "unused") and name not in made._c.methods()


def _prepared(obj, known):
    """What an object and its submodules give to be compiled in their place."""
    if id(obj) in known:
        return known[id(obj)]
    known[id(obj)] = found = obj.__prepare_scriptable__() if hasattr(obj, "__prepare_scriptable__") else obj
    if not _is(found, Module) or _is(found, ScriptModule):
        return found
    children = {name: None if child is None else _prepared(child, known) for name, child in found._modules.items()}
    if any(child is not found._modules[name] for name, child in children.items()):
        known[id(obj)] = found = copy(found)
        found.__dict__["_modules"] = children
    return found


def compile_module(module, methods=None):
    """(program, class) of a module with its methods compiled."""
    program = Program()
    spec = program.spec_of(module)
    for fn in _methods_to_compile(spec) if methods is None else methods:
        _compile_method(program, spec, fn)
    if spec.hooks and "forward" in spec.methods:
        program.call_of(spec)
    for other in program.classes:  # which may grow
        if other is not spec and _is(other, ModuleSpec):
            _compile_what_nobody_calls(program, other)
    return program, spec


def _compile_what_nobody_calls(program, spec):
    """Methods of a submodule that Python may call. If forward() cannot be compiled, the submodule has none."""
    for fn in _methods_to_compile(spec):
        try:
            _compile_method(program, spec, fn)
            if fn.__name__ == "forward" and spec.hooks:
                program.call_of(spec)
        except CompileError:
            if marker(fn) is not None:
                raise


def _compile_method(program, spec, fn):
    compiled = program.method_of(spec, fn)
    if fn is (spec.own_forward() or spec.python_class.forward):  # which may have another name of its own
        spec.methods["forward"] = compiled


def _methods_to_compile(spec):
    """forward(), and those that are marked."""
    cls = type(spec.module)
    forward = spec.own_forward() or cls.forward
    found = [] if forward is Module.forward or marker(forward) in ("ignore", "unused") else [forward]
    for name in dir(cls):
        fn = inspect.getattr_static(cls, name)
        if inspect.isfunction(fn) and marker(fn) in ("export", "script_method") and fn not in found:
            found.append(fn)
    return found


def _script_class(cls):
    if issubclass(cls, Module):
        raise TypeError(f"'{cls.__name__}' is a class of modules: compile an instance")
    if (issubclass(cls, tuple) and hasattr(cls, "_fields")) or issubclass(cls, Enum):
        return cls
    program = Program()
    spec = program.class_spec(cls)
    for name, fn in vars(cls).items():
        if inspect.isfunction(fn) and name != "__init__" and not spec.is_generated(name) and marker(fn) is None:
            program.method_of(spec, fn)
    scripted_classes.add(cls)
    return cls
