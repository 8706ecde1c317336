"""Calls of Python functions: compiled on their own, or into their callers."""

import ast
import inspect

from wisp.jit._marks import overloaded
from wisp.jit._script import types as T
from wisp.jit._script.control import FALLS
from wisp.jit._script.emitter import Frame
from wisp.jit._script.errors import CompileError
from wisp.jit._script.values import (
    FALSE,
    NONE,
    UNSET,
    Const,
    StaticDict,
    Tuple,
)

_DEEPEST = 60  # functions compiled into their callers


class Functions:
    """Arguments, and the bodies of functions."""

    # --- Python functions

    def call_python(self, fn, arguments, keywords, node):
        """Calls a Python function: the library's own is compiled into the caller, others are functions of the program."""
        fn = inspect.unwrap(fn, stop=lambda f: self.program.marker(f) is not None)
        marker = self.program.marker(fn)
        if marker == "unused":
            self.raise_error(
                "RuntimeError",
                Const(f"'{fn.__name__}' is marked as unused: it is annotated to be ignored and cannot be run"),
            )
            return self.unset_result(fn)
        if marker == "ignore":
            return self.call_host(fn, None, arguments, keywords, node)
        if self.program.is_library(fn):
            return self.call_library(fn, arguments, keywords)
        many = fn.__code__.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
        if many or (fn.__module__, fn.__qualname__) in overloaded:  # of other types with every call
            return self.call_inline(fn, arguments, keywords, None, node)
        try:
            compiled = self.program.function_of(fn)
        except CompileError as error:
            raise error.inside(self.describe_here()) from None
        return self.call_compiled(compiled, arguments, keywords, node)

    def unset_result(self, fn):
        found = self.program.declared_result(fn)
        return NONE if found in (None, T.NONE) else self.materialize(UNSET, found)

    def bind(self, compiled, arguments, keywords, node):
        """Arguments as the parameters of a compiled function take them."""
        params = list(compiled.params)
        positional = [p for p in params if not p.keyword_only]
        if len(arguments) > len(positional):
            self.fail(
                f"{compiled.shown}() Expected at most {len(positional)} arguments but found {len(arguments)}", node
            )
        given = {p.name: a for p, a in zip(positional, arguments)}
        for name, value in keywords.items():
            if name not in [p.name for p in params] or name in given:
                self.fail(f"{compiled.shown}() got an unexpected or repeated argument '{name}'", node)
            given[name] = value
        values = []
        for param in params:
            value = given.get(param.name)
            if value is None:
                if not param.has_default:
                    self.fail(f"{compiled.shown}(): Argument {param.name} not provided", node)
                value = Const(param.default)
            converted = self.try_convert(value, param.type)
            if converted is None:
                self.fail(f"{compiled.shown}(): {self.wrong_argument(param.name, param.type, value)}", node)
            values.append(converted)
        return values

    def call_compiled(self, compiled, arguments, keywords, node):
        values = self.bind(compiled, arguments, keywords, node)
        return self.emit_one("prim::CallFunction", values, compiled.result_type(self), {"name": compiled.name})

    def call_host(self, fn, owner, arguments, keywords, node):
        """A call of a Python function that stays one."""
        host = self.program.host_function(fn, owner)
        values = self.bind(host, arguments, keywords, node)
        unknown = host.result is None
        result = host.result if not unknown else T.ANY if getattr(node, "is_dropped", False) else T.TENSOR
        return self.emit_one("prim::HostCall", values, result, {"name": host.name})

    def call_library(self, fn, arguments, keywords, owner=None):
        """Compiles one of the library's functions into this one, for the arguments of this call."""
        source, tree = self.program.parsed(fn)
        lookup = self.program.lookup_of(fn)
        frame = Frame(fn.__qualname__, source, lookup, True, self.frame, self.place(), owner)
        bound = self._bind_python(fn, arguments, keywords)
        return self._run_inline(frame, tree, bound)

    def _bind_python(self, fn, arguments, keywords):
        """Arguments by parameter, as Python binds them; * and ** parameters hold tuples and dicts."""
        try:
            bound = inspect.signature(fn).bind(*arguments, **keywords)
        except TypeError as error:
            self.fail(f"{fn.__name__}(): {error}")
        bound.apply_defaults()
        values = {}
        for name, value in bound.arguments.items():
            kind = bound.signature.parameters[name].kind
            if kind is inspect.Parameter.VAR_POSITIONAL:
                values[name] = Tuple([self.wrap(v) for v in value])
            elif kind is inspect.Parameter.VAR_KEYWORD:
                values[name] = StaticDict({k: self.wrap(v) for k, v in value.items()})
            else:
                values[name] = self.wrap(value)
        return values

    def _call_closure(self, closure, arguments, keywords, node):
        """Calls a function defined here; it sees the names as they are now."""
        outer, tree = closure.frame, closure.node

        def lookup(name):
            if name in outer.scope:
                return outer.scope[name]
            return outer.lookup(name)

        name = getattr(tree, "name", "<lambda>")
        place = self.place() if outer.library else None
        frame = Frame(name, outer.source, lookup, outer.library, self.frame, place, outer.owner)
        return self._run_inline(frame, tree, self._bind_tree(tree, arguments, keywords, node))

    def _bind_tree(self, tree, arguments, keywords, node):
        args = tree.args
        names = [a.arg for a in (*args.posonlyargs, *args.args)]
        values = dict(zip(names, arguments))
        if args.vararg is not None:
            values[args.vararg.arg] = Tuple(arguments[len(names) :])
        elif len(arguments) > len(names):
            self.fail(
                f"{getattr(tree, 'name', 'the lambda')}() takes {len(names)} arguments but {len(arguments)} were given",
                node,
            )
        values.update(keywords)
        for name, default in zip(reversed(names), reversed(args.defaults)):
            if name not in values:
                values[name] = self.expression(default)
        for arg, default in zip(args.kwonlyargs, args.kw_defaults):
            if arg.arg not in values and default is not None:
                values[arg.arg] = self.expression(default)
        missing = [n for n in (*names, *(a.arg for a in args.kwonlyargs)) if n not in values]
        if missing:
            self.fail(f"{getattr(tree, 'name', 'the lambda')}() is missing the argument '{missing[0]}'", node)
        return values

    def _run_inline(self, frame, tree, values):
        """The result of a function's body, compiled here."""
        outer, at = self.frame, self.at
        if self.depth >= _DEEPEST:
            self.fail("functions call each other too deeply: recursion cannot be compiled")
        self.depth += 1
        self.frame = frame
        frame.scope.update(values)
        frame.scope.update((name, value) for name, value in outer.scope.items() if name[0] == "@")
        try:
            result = self.function_body(tree)
        except CompileError as error:
            self.frame, self.at = outer, at
            raise error.inside(self.describe_here()) from None
        finally:
            self.frame, self.at, self.depth = outer, at, self.depth - 1
        outer.scope.update((name, value) for name, value in frame.scope.items() if name[0] == "@")
        return result

    def function_body(self, tree):
        """Compiles the body of a function; returns what it returns."""
        if isinstance(tree, ast.Lambda):
            return self.expression(tree.body, self.frame.result)
        self.scope["$ret"], self.scope["$val"] = FALSE, UNSET
        status = self.statements([*tree.body, _implied_return(tree)])
        result = self.scope["$val"]
        if result is UNSET:  # it always raises
            return NONE if self.frame.result is None else self.materialize(UNSET, self.frame.result)
        assert status != FALLS
        return result


def _implied_return(tree):
    """What Python does at the end of a function."""
    made = ast.copy_location(ast.Return(None), tree.body[-1])
    made.implied = True
    return made
