"""ScriptModule as a base class: methods marked with script_method are compiled once __init__ is done."""

import inspect
import linecache
from itertools import count

from wisp.jit._marks import marker
from wisp.jit._module import RecursiveScriptModule, attach
from wisp.nn import Module


class _CompilesItself(type):
    """Compiles an instance after __init__; compiled modules of any origin count as instances of ScriptModule."""

    def __call__(cls, *args, **kwargs):
        made = super().__call__(*args, **kwargs)
        if type(made) is cls:
            _finish(made)
        return made

    def __instancecheck__(cls, instance):
        return super().__instancecheck__(instance) or (cls is ScriptModule and isinstance(instance, RecursiveScriptModule))


class ScriptModule(RecursiveScriptModule, metaclass=_CompilesItself):
    """The base of modules that are written as scripts.

    >>> class Scale(wisp.jit.ScriptModule):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.weight = wisp.nn.Parameter(wisp.full((1,), 2.0))
    ...
    ...     @wisp.jit.script_method
    ...     def forward(self, x):
    ...         return x * self.weight
    >>> Scale()(wisp.ones(2)).tolist()
    [2.0, 2.0]
    """

    def __init__(self, *args, **kwargs):
        Module.__init__(self, *args, **kwargs)
        self.__dict__["original_name"] = type(self).__name__

    def __getattr__(self, name):
        if "_c" in self.__dict__:
            return super().__getattr__(name)
        return Module.__getattr__(self, name) if hasattr(Module, "__getattr__") else object.__getattribute__(self, name)

    def __setattr__(self, name, value):
        if "_c" in self.__dict__:
            super().__setattr__(name, value)
        else:
            Module.__setattr__(self, name, value)

    def forward(self, *input):
        """What the module computes; to be defined by subclasses."""
        return Module.forward(self, *input)

    def __deepcopy__(self, memo):
        from wisp.jit._module import copy_object, wrap_module

        made = memo[id(self)] = wrap_module(copy_object(self._c, memo), type(self).__name__)
        return made

    def extra_repr(self):
        return ""


def _finish(module):
    """Compiles the marked methods; the module then shows the members of the compiled object."""
    from wisp.jit._script import compile_module

    methods = [fn for fn in _methods(type(module)) if marker(fn) in ("script_method", "export")]
    if not methods:
        return
    program, spec = compile_module(module, methods)
    bare = spec.instantiate(program.native(), {}, module)
    children = {name: child for name, child in module._modules.items() if "_c" in vars(child)}
    for name in [*spec.attributes, *spec.children]:
        module.__dict__.pop(name, None)
    attach(module, bare, children)
    for fn in methods:
        module.__dict__[fn.__name__] = bare.method(fn.__name__)


def _methods(cls):
    found = (inspect.getattr_static(cls, name) for name in dir(cls))
    return [fn for fn in found if inspect.isfunction(fn)]


_units = count()


class CompilationUnit:
    """Functions compiled from a text, as attributes.

    >>> unit = wisp.jit.CompilationUnit("def twice(x):\\n    return x * 2")
    >>> unit.twice(wisp.ones(1)).item()
    2.0
    """

    def __init__(self, lang=None, _frames_up=0):
        if lang is not None:
            self.define(lang)

    def define(self, lang, rcb=None, _frames_up=0):
        """Compiles more functions."""
        import wisp
        from wisp.jit._script import script_function

        file = f"<compilation unit {next(_units)}>"
        linecache.cache[file] = (len(lang), None, lang.splitlines(keepends=True), file)
        names = {"torch": wisp, "wisp": wisp, "Tensor": wisp.Tensor, "__name__": "__wisp_unit__"}
        exec(compile(lang, file, "exec"), names)
        for name, fn in names.items():
            if inspect.isfunction(fn) and fn.__code__.co_filename == file:
                setattr(self, name, script_function(fn))
