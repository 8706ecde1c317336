"""Calls: what is called decides how."""

import ast
import inspect
import types as python_types

from wisp._ops import _TableOperator
from wisp.jit._custom_ops import argument_types, host_name, overloads_of, result_type
from wisp.jit._script import ir
from wisp.jit._script import types as T
from wisp.jit._script.errors import FrontendError
from wisp.jit._script.interfaces import interface_of
from wisp.jit._script.maths import CMATH, MATH
from wisp.jit._script.objects import changes_container
from wisp.jit._script.plain import FUNCTIONS
from wisp.jit._script.signatures import function_arguments
from wisp.jit._script.values import (
    NONE,
    Attribute,
    Closure,
    Const,
    Method,
    ModuleValue,
    Native,
    StaticDict,
    Tuple,
)
from wisp.nn import Module


class Calls:
    """Calls of anything."""

    # --- calls

    def on_Call(self, node, hint):
        function = self.expression(node.func)
        special = self.special_form(function, node, hint)
        if special is not None:
            return special
        arguments = []
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                arguments += self.items_of(self.expression(argument.value), None, argument)
            else:
                arguments.append(self.expression(argument))
        keywords = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                keywords.update(self.keyword_items(self.expression(keyword.value), keyword))
            else:
                keywords[keyword.arg] = self.expression(keyword.value)
        self.at = node
        return self.call(function, arguments, keywords, node)

    def keyword_items(self, value, node):
        if isinstance(value, StaticDict):
            return value.items
        if isinstance(value, Const) and isinstance(value.obj, dict):
            return {k: self.wrap(v) for k, v in value.obj.items()}
        return self.fail(
            "keyword-arg expansion is not supported here: write the arguments one by one", node, FrontendError
        )

    def special_form(self, function, node, hint):
        """Calls whose arguments are no values: annotate(List[int], []), isinstance(x, T), x.tolist()."""
        if isinstance(function, Attribute) and function.name == "tolist" and hint is not None and not node.args:
            return self.tolist(self.materialize(function.owner), T.without_none(hint))
        if not isinstance(function, Const):
            return None
        if self.program.is_isinstance(function.obj):
            return self.isinstance_condition(node).value
        kind = self.program.special(function.obj)
        if kind == "annotate":
            wanted = self.annotation(node.args[0])
            return self.convert(self.expression(node.args[1], wanted), wanted)
        if kind == "uninitialized":
            return self.emit_one("prim::Uninitialized", [], self.annotation(node.args[0]))
        if kind == "unchecked_cast":
            value = self.materialize(self.expression(node.args[1]))
            return self.emit_one("prim::UncheckedCast", [value], self.annotation(node.args[0]))
        if kind == "fork":
            return self.fork(node, hint)
        return None

    def fork(self, node, hint):
        """A call in a block of its own, whose result is waited for."""
        rest = ast.copy_location(ast.Call(node.args[0], node.args[1:], node.keywords), node)
        wanted = hint.items[0] if hint is not None and hint.kind == "future" else None
        around, self.block = self.block, ir.Block(self.block)
        try:
            result = self.materialize(self.expression(rest, wanted), wanted)
        finally:
            body, self.block = self.block, around
        body.results = [result]
        self.at = node
        (future,) = self.emit("prim::Fork", [], [T.future_of(result.type)])
        self.block.nodes[-1].blocks.append(body)
        return future

    def wait(self, future):
        """What wait() gives; of what is no future, itself."""
        if self.type_of(future) is None or self.type_of(future).kind != "future":
            return future
        return self.emit_one("prim::Wait", [self.materialize(future)], self.type_of(future).items[0])

    def call(self, function, arguments, keywords, node):
        """Calls anything."""
        if isinstance(function, Attribute):
            return self._call_attribute(function, arguments, keywords, node)
        if isinstance(function, ModuleValue):
            return self.call_module(function, arguments, keywords, node)
        if isinstance(function, Method):
            return self.call_method(function, arguments, keywords, node)
        if isinstance(function, Native):
            return function.function(*arguments)
        if isinstance(function, Closure):
            return self._call_closure(function, arguments, keywords, node)
        if isinstance(function, Const):
            return self._call_object(function.obj, arguments, keywords, node)
        found = self.type_of(function)
        if interface_of(found) is not None:
            return self.call_interface(function, "forward", arguments, keywords, node)
        if found is not None and found.kind == "class":
            return self.call(self.attribute(function, "__call__", node), arguments, keywords, node)
        return self.fail(f"cannot call {self.what_is(function)}", node)

    def _call_attribute(self, function, arguments, keywords, node):
        owner = function.owner
        if isinstance(owner, ModuleValue):
            return self.call_imported(owner, function.name, arguments, keywords, node)
        if isinstance(owner, StaticDict):
            return self._static_dict_method(owner, function.name, arguments, node)
        if self.type_of(owner) is not None and self.type_of(owner).kind == "future":
            return self._future_method(owner, function.name, node)
        if interface_of(owner.type) is not None:
            return self.call_interface(owner, function.name, arguments, keywords, node)
        if owner.type == T.TENSOR:
            return self.tensor_method(owner, function.name, arguments, keywords)
        return self.plain_method(owner, function.name, arguments, keywords, node)

    def _future_method(self, owner, name, node):
        if name in ("wait", "value"):
            return self.wait(owner)
        return self.fail(f"{name}() of a Future cannot be called: use wait()", node)

    def _static_dict_method(self, owner, name, arguments, node):
        if name == "get":
            return owner.items.get(self.static(arguments[0]), arguments[1] if len(arguments) > 1 else NONE)
        parts = {"items": lambda: [Tuple([Const(k), v]) for k, v in owner.items.items()],
                 "keys": lambda: list(map(Const, owner.items)), "values": lambda: list(owner.items.values())}  # fmt: skip
        return Tuple(parts[name]()) if name in parts else self.fail(f"{name}() of this dict cannot be called", node)

    def _call_object(self, obj, arguments, keywords, node):
        """Calls a Python object."""
        if isinstance(obj, _TableOperator):
            obj = obj.function
        values = [*arguments, *keywords.values()]
        if obj in _hashable(FUNCTIONS, obj) and not self._foldable(obj, values):
            return self._call_plain(obj, arguments, keywords, node)
        if obj in _hashable(MATH, obj) and not all(map(self.is_static, values)):
            return self.math_function(MATH[obj], arguments, keywords, node)
        if obj in _hashable(CMATH, obj):
            return self.cmath_function(CMATH[obj], arguments, node)
        handler = self.program.handler(obj)
        if handler is not None:
            return getattr(self, handler)(arguments, keywords, node)
        found = self.program.tables.function(obj)
        if found is not None:
            return self.call_operator(*found, False, arguments, keywords, getattr(obj, "__name__", "operator"))
        if isinstance(obj, python_types.MethodType):
            return self._call_bound(obj, arguments, keywords, node)
        if self._foldable(obj, values):
            return self._folded_call(obj, arguments, keywords)
        overloads = overloads_of(obj)
        if overloads is not None:
            return self._call_custom_op(obj, overloads, arguments, keywords, node)
        if isinstance(obj, type):
            return self.construct(obj, arguments, keywords, node)
        if inspect.isfunction(obj):
            return self.call_python(obj, arguments, keywords, node)
        found = self._constant_method(obj, arguments, keywords, node)
        if found is not None:
            return found
        compiled = self.program.compiled(obj)
        if compiled is not None:
            return self.call_compiled(compiled, arguments, keywords, node)
        if isinstance(obj, Module):
            self.fail("Cannot call a ScriptModule that is not a submodule of the caller: make the "
                      f"'{type(obj).__name__}' an attribute of the module whose method calls it", node)  # fmt: skip
        if inspect.isfunction(inspect.getattr_static(type(obj), "__call__", None)):
            return self._call_bound(obj.__call__, arguments, keywords, node)
        return self.fail(f"{self.what_is(Const(obj))} cannot be called in a script", node)

    def _folded_call(self, obj, arguments, keywords):
        """The result of a call on what is known; where a function of `math` refuses that, it does so when the program runs."""

        def call():
            return obj(*map(self.static, arguments), **{name: self.static(value) for name, value in keywords.items()})

        if obj in _hashable(MATH, obj):
            try:
                return self.wrap(call())
            except (ValueError, OverflowError):
                return self.math_function(
                    MATH[obj], [self.materialize(value) for value in arguments], keywords, self.at
                )
        return self.folded(call)

    def _call_plain(self, obj, arguments, keywords, node):
        """Calls one of Python's own functions."""
        try:
            arguments, keywords = function_arguments(obj.__name__, arguments, keywords)
        except TypeError as error:
            self.fail(str(error), node)
        return getattr(self, FUNCTIONS[obj])(arguments, keywords, node)

    def _call_custom_op(self, obj, overloads, arguments, keywords, node):
        """An operator that the program has defined stays Python's. The first signature that fits is taken."""
        for overload in overloads:
            try:
                given = overload._schema.bind(arguments, keywords)
            except TypeError as error:
                reason = error
                continue
            kinds = map(T.from_schema, argument_types(overload))
            values = [self.try_convert(self.wrap(value), kind) for value, kind in zip(given, kinds)]
            if None not in values:
                result = T.from_schema(result_type(overload))
                return self.emit_one("prim::HostCall", values, result, {"name": host_name(overload)})
            shown = ", ".join(self.type_shown(self.wrap(value)) for value in given)
            reason = f"it is {overload._schema}, and is given ({shown})"
        return self.fail(f"Arguments for call of {obj!r} are not valid: {reason}", node)

    def _foldable(self, obj, values):
        """Whether a call of Python's own functions on what is known can be done now."""
        if not all(map(self.is_static, values)) or obj in (
            print,
            super,
            range,
            zip,
            enumerate,
            reversed,
            map,
            list,
            dict,
        ):
            return False
        module = getattr(obj, "__module__", None) or getattr(type(getattr(obj, "__self__", None)), "__module__", "")
        plain = isinstance(obj, (python_types.BuiltinFunctionType, python_types.MethodDescriptorType, type))
        return plain and module in ("builtins", "math", "_operator", "itertools")

    def _constant_method(self, obj, arguments, keywords, node):
        """A method of a constant with arguments that are not: "{}".format(x), (1, 2).index(i)."""
        owner = getattr(obj, "__self__", None)
        if not isinstance(owner, (str, list, tuple, dict, int, float)) or isinstance(obj, python_types.MethodType):
            return None
        if isinstance(owner, dict) and obj.__name__ == "get" and self.is_static(arguments[0]):
            key = self.static(arguments[0])
            return self.wrap(owner[key]) if key in owner else (arguments[1] if len(arguments) > 1 else NONE)
        if isinstance(owner, (list, dict)) and changes_container(obj.__name__):
            self.fail(f"{obj.__name__}() would change a {type(owner).__name__} that is a constant of the script: "
                      "pass it as an argument, or keep it in an attribute of the module", node)  # fmt: skip
        if isinstance(owner, str) and obj.__name__ == "format" and keywords:
            return self.format_by_name(owner, arguments, keywords, node)
        return self.plain_method(self.materialize(Const(owner)), obj.__name__, arguments, keywords, node)

    def _call_bound(self, obj, arguments, keywords, node):
        """A Python method of an object that is known, and whose attributes stay what they are now."""
        owner, fn = obj.__self__, obj.__func__
        if isinstance(owner, type):
            return self.call_inline(fn, [Const(owner), *arguments], keywords, None, node)
        if inspect.isfunction(fn) and not isinstance(owner, Module) and not self.program.is_library(type(owner)):
            return self.call_inline(fn, [Const(owner), *arguments], keywords, type(owner), node)
        return self.fail(f"the method '{obj.__name__}' of a Python object cannot be called in a script", node)


def _hashable(table, obj):
    """The table, or nothing for objects that cannot be looked up."""
    try:
        hash(obj)
    except TypeError:
        return ()
    return table
