"""Attributes, items and calls: what is called decides how."""

import ast
import inspect
import types as python_types
import warnings

from wisp import _C
from wisp.jit._script import annotations, ir
from wisp.jit._script import types as T
from wisp.jit._script.control import FALLS, Condition
from wisp.jit._script.emitter import Frame
from wisp.jit._script.errors import CompileError
from wisp.jit._script.imported import _Given
from wisp.jit._script.plain import FUNCTIONS, MATH
from wisp.jit._script.source import closure_values, parse
from wisp.jit._script.values import (
    FALSE,
    NONE,
    TRUE,
    UNSET,
    Attribute,
    Closure,
    Const,
    Iterable,
    Method,
    ModuleValue,
    StaticDict,
    StaticObject,
    Super,
    Tuple,
)

_DEEPEST = 60  # functions compiled into their callers


class Calls:
    """Names of values, and calls of anything."""

    def wrap(self, obj):
        """A Python object as a value."""
        if isinstance(obj, (ir.Value, Const, Tuple, Method, Closure, ModuleValue, StaticDict, StaticObject, Iterable, Attribute)):
            return obj
        return Const(self.program.unwrap(obj))

    # --- attributes

    def attribute(self, owner, name, node=None):
        """owner.name"""
        if isinstance(owner, ModuleValue):
            return self.module_attribute(owner, name, node)
        if isinstance(owner, Super):
            return self.super_attribute(owner, name, node)
        if isinstance(owner, Tuple):
            return self._tuple_attribute(owner, name, node)
        if isinstance(owner, StaticDict):
            return Attribute(owner, name)
        if isinstance(owner, StaticObject):
            return self.static_attribute(owner, name, node)
        if isinstance(owner, Const) and not isinstance(owner.obj, _C.Tensor):
            return self._constant_attribute(owner.obj, name, node)
        if isinstance(owner, (Method, Closure, Iterable, Attribute)):
            return self.fail(f"{self.what_is(owner)} has no attribute '{name}'", node)
        return self._value_attribute(self.materialize(owner), name, node)

    def _constant_attribute(self, obj, name, node):
        try:
            found = getattr(obj, name)
        except AttributeError as error:
            return self.fail(str(error), node)
        return self.wrap(found)

    def _tuple_attribute(self, owner, name, node):
        if name in owner.fields:
            return owner.items[owner.fields.index(name)]
        if owner.name and owner.host is not None and inspect.isfunction(getattr(owner.host, name, None)):
            return Method(owner, getattr(owner.host, name))
        return Attribute(self.materialize(owner), name)

    def _value_attribute(self, owner, name, node):
        found = owner.type
        if found == T.TENSOR:
            return self.tensor_attribute(owner, name, node)
        if found.kind == "class":
            return self.object_attribute(owner, name, node)
        if found.kind == "tuple" and name in found.fields:
            at = found.fields.index(name)
            return self.emit_one("prim::TupleIndex", [owner], found.items[at], {"index": ir.Constant(str(at))})
        if found.kind == "tuple" and found.host is not None and inspect.isfunction(getattr(found.host, name, None)):
            return Method(Tuple(self.items_of(owner, None, node), found.name, found.fields, found.host), getattr(found.host, name))
        if found == T.DEVICE and name in ("type", "index"):
            return self.builtin(f"{name}.Device", owner)
        if found == T.DTYPE and name in ("is_floating_point", "is_complex"):
            return self.builtin(f"{name}.dtype", owner)
        if found in (T.COMPLEX, T.FLOAT, T.INT) and name in ("real", "imag"):
            return self.builtin(f"{name}.complex", self.as_number(owner, T.COMPLEX))
        if found.kind == "optional":
            inner = T.shown(found.items[0])
            self.fail(f"'{name}' of an Optional[{inner}] cannot be read: test `is not None` or assert it before", node)
        return Attribute(owner, name)

    def has_attribute(self, owner, name):
        if isinstance(owner, ModuleValue):
            return owner.spec.has(name)
        if isinstance(owner, Const):
            return hasattr(owner.obj, name)
        found = self.type_of(owner)
        if found is not None and found.kind == "class":
            return self.program.object_has(found, name)
        host = {T.TENSOR: _C.Tensor, T.INT: int, T.FLOAT: float, T.BOOL: bool, T.STR: str}.get(found)
        return host is not None and hasattr(host, name)

    def super_value(self, arguments, node):
        frame = self.frame
        while frame is not None and frame.owner is None:
            frame = frame.parent
        if frame is None:
            self.fail("super() can only be used in a method", node)
        owner = frame.scope.get("self") or frame.scope[next(iter(frame.scope))]
        return Super(arguments[1] if len(arguments) == 2 else owner, frame.owner)

    def super_attribute(self, owner, name, node):
        host = owner.owner.spec.python_class if isinstance(owner.owner, ModuleValue) else owner.owner.type.host
        order = host.__mro__
        for cls in order[order.index(owner.after) + 1 :]:
            if name in vars(cls):
                found = vars(cls)[name]
                return Method(owner.owner, found) if inspect.isfunction(found) else self.wrap(getattr(cls, name))
        return self.fail(f"'super' object has no attribute '{name}'", node)

    # --- items

    def on_Subscript(self, node, hint):
        owner = self.expression(node.value)
        if isinstance(owner, Const) and isinstance(owner.obj, type) or getattr(getattr(owner, "obj", None), "__module__", "") == "typing":
            return Const(owner.obj[self.lookup_annotation(node.slice)])
        index = self.index(node.slice)
        self.at = node
        return self.get_item(owner, index, node)

    def lookup_annotation(self, node):
        return eval(ast.unparse(node), {}, annotations._Names(self.lookup_python))

    def get_item(self, owner, index, node):
        """owner[index]"""
        if isinstance(owner, ModuleValue):
            return self.module_item(owner, index, node)
        if isinstance(owner, StaticDict):
            key = self.static(index) if not isinstance(index, (slice, list)) and self.is_static(index) else None
            return owner.items[key] if key in owner.items else self.fail(f"there is no {key!r} in the dict", node)
        if isinstance(owner, Tuple):
            return self._tuple_item(owner.items, index, node)
        plain = self._static_index(index)
        if self.is_static(owner) and plain is not UNSET:
            return self.folded(lambda: self.static(owner)[plain])
        owner = self.materialize(owner)
        if owner.type == T.TENSOR:
            return self.tensor_item(owner, index)
        if owner.type.kind == "tuple":
            return self._tuple_item(self.emit("prim::TupleUnpack", [owner], owner.type.items), index, node)
        if owner.type.kind == "class":
            return self.call(self.attribute(owner, "__getitem__", node), [index], {}, node)
        if owner.type.kind not in ("list", "dict", "str"):
            self.fail(f"{self.what_is(owner)} has no items", node)
        if isinstance(index, slice):
            return self.builtin("slice", owner, *(NONE if p is None else p for p in (index.start, index.stop, index.step)))
        wanted = owner.type.items[0] if owner.type.kind == "dict" else T.INT
        return self.builtin("__getitem__", owner, self.convert(self._index_value(index, node), wanted))

    def _index_value(self, index, node):
        if isinstance(index, list):
            return Tuple(index)
        return index

    def _static_index(self, index):
        """An index as a Python object, or UNSET if it is not known."""
        if isinstance(index, slice):
            parts = [NONE if p is None else p for p in (index.start, index.stop, index.step)]
            return slice(*(p.obj for p in parts)) if all(isinstance(p, Const) for p in parts) else UNSET
        if isinstance(index, list):
            parts = [self._static_index(part) for part in index]
            return UNSET if any(p is UNSET for p in parts) else tuple(parts)
        return self.static(index) if self.is_static(index) else UNSET

    def _tuple_item(self, items, index, node):
        known = self._static_index(index)
        if isinstance(known, slice):
            return Tuple(items[known])
        if isinstance(known, int):
            if not -len(items) <= known < len(items):
                self.fail(f"tuple index {known} is out of range for {len(items)} items", node)
            return items[known]
        types = {self.type_of(item) for item in items}
        if len(types) == 1 and None not in types:
            return self.get_item(self.list_value(items, None), index, node)
        return self.fail("the index of a tuple has to be a constant, as its items are of different types", node)

    def put_item(self, owner, index, value, node):
        """owner[index] = value"""
        if isinstance(owner, StaticDict) and self.is_static(index):
            owner.items[self.static(index)] = value
            return
        owner = self.materialize(owner)
        if owner.type == T.TENSOR:
            self.put_tensor_item(owner, index, value)
        elif owner.type.kind == "class":
            self.call(self.attribute(owner, "__setitem__", node), [index, value], {}, node)
        elif owner.type.kind == "list" and isinstance(index, slice):
            ends = [NONE if p is None else p for p in (index.start, index.stop)]
            if index.step is not None:
                self.unsupported("assignment to a slice with a step", "Assign the items in a loop.", node)
            self.builtin("_set_slice", owner, *ends, self.convert(value, owner.type))
        elif owner.type.kind in ("list", "dict"):
            key = T.INT if owner.type.kind == "list" else owner.type.items[0]
            item = self.convert(value, owner.type.items[-1])
            self.builtin("_set_item", owner, self.convert(index, key), item)
        else:
            self.fail(f"items of {self.what_is(owner)} cannot be assigned", node)

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
        return self.unsupported("** of this value", "Write the keyword arguments one by one.", node)

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
        if kind == "fork":
            rest = ast.copy_location(ast.Call(node.args[0], node.args[1:], node.keywords), node)
            return self.expression(rest, hint)
        return None

    def call(self, function, arguments, keywords, node):
        """Calls anything."""
        if isinstance(function, Attribute):
            return self._call_attribute(function, arguments, keywords, node)
        if isinstance(function, ModuleValue):
            return self.call_module(function, arguments, keywords, node)
        if isinstance(function, Method):
            return self.call_method(function, arguments, keywords, node)
        if isinstance(function, Closure):
            return self._call_closure(function, arguments, keywords, node)
        if isinstance(function, Const):
            return self._call_object(function.obj, arguments, keywords, node)
        found = self.type_of(function)
        if found is not None and found.kind == "class":
            return self.call(self.attribute(function, "__call__", node), arguments, keywords, node)
        return self.fail(f"{self.what_is(function)} cannot be called", node)

    def _call_attribute(self, function, arguments, keywords, node):
        owner = function.owner
        if isinstance(owner, ModuleValue):
            return self.call_imported(owner, function.name, arguments, keywords, node)
        if isinstance(owner, StaticDict):
            return self._static_dict_method(owner, function.name, arguments, node)
        if owner.type == T.TENSOR:
            return self.tensor_method(owner, function.name, arguments, keywords)
        return self.plain_method(owner, function.name, arguments, keywords, node)

    def _static_dict_method(self, owner, name, arguments, node):
        if name == "get":
            return owner.items.get(self.static(arguments[0]), arguments[1] if len(arguments) > 1 else NONE)
        parts = {"items": lambda: [Tuple([Const(k), v]) for k, v in owner.items.items()],
                 "keys": lambda: list(map(Const, owner.items)), "values": lambda: list(owner.items.values())}  # fmt: skip
        return Tuple(parts[name]()) if name in parts else self.fail(f"{name}() of this dict cannot be called", node)

    def _call_object(self, obj, arguments, keywords, node):
        """Calls a Python object."""
        values = [*arguments, *keywords.values()]
        if obj in _hashable(FUNCTIONS, obj) and not self._foldable(obj, values):
            return getattr(self, FUNCTIONS[obj])(arguments, keywords, node)
        if obj in _hashable(MATH, obj) and not all(map(self.is_static, values)):
            return self.math_function(MATH[obj], arguments, node)
        handler = self.program.handler(obj)
        if handler is not None:
            return getattr(self, handler)(arguments, keywords, node)
        found = self.program.tables.function(obj)
        if found is not None:
            return self.call_operator(*found, False, arguments, keywords, getattr(obj, "__name__", "operator"))
        if isinstance(obj, python_types.MethodType):
            return self._call_bound(obj, arguments, keywords, node)
        if self._foldable(obj, values):
            return self.folded(lambda: obj(*map(self.static, arguments), **{k: self.static(v) for k, v in keywords.items()}))
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
        return self.fail(f"{self.what_is(Const(obj))} cannot be called in a script", node)

    def _foldable(self, obj, values):
        """Whether a call of Python's own functions on what is known can be done now."""
        if not all(map(self.is_static, values)) or obj in (print, super, range, zip, enumerate, reversed, map, list, dict):
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
        return self.plain_method(self.materialize(Const(owner)), obj.__name__, arguments, keywords, node)

    def _call_bound(self, obj, arguments, keywords, node):
        """A Python method of an object that is known."""
        owner = obj.__self__
        if isinstance(owner, type):
            return self.call_python(obj.__func__, [Const(owner), *arguments], keywords, node)
        return self.fail(f"the method '{obj.__name__}' of a Python object cannot be called in a script", node)

    # --- Python functions

    def call_python(self, fn, arguments, keywords, node):
        """Calls a Python function: the library's own is compiled into the caller, others are functions of the program."""
        fn = inspect.unwrap(fn, stop=lambda f: self.program.marker(f) is not None)
        marker = self.program.marker(fn)
        if marker == "unused":
            self.raise_error("RuntimeError", Const(f"'{fn.__name__}' is marked as unused, and was called"))
            return self.unset_result(fn)
        if marker == "ignore":
            return self.call_host(fn, None, arguments, keywords, node)
        if self.program.is_library(fn):
            return self.call_library(fn, arguments, keywords)
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
            self.fail(f"{compiled.shown}() takes {len(positional)} arguments but {len(arguments)} were given", node)
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
                    self.fail(f"{compiled.shown}() is missing the argument '{param.name}'", node)
                if param.default is _Given:
                    self.fail(f"{compiled.shown}() needs the argument '{param.name}' here: its default is not known", node)
                value = Const(param.default)
            converted = self.try_convert(value, param.type)
            if converted is None:
                self.fail(f"the argument '{param.name}' of {compiled.shown}() shall be {T.shown(param.type)}, "
                          f"but is {self.what_is(value)}", node)  # fmt: skip
            values.append(converted)
        return values

    def call_compiled(self, compiled, arguments, keywords, node):
        values = self.bind(compiled, arguments, keywords, node)
        return self.emit_one("prim::CallFunction", values, compiled.result_type(self), {"name": compiled.name})

    def call_host(self, fn, owner, arguments, keywords, node):
        """A call of a Python function that stays one."""
        host = self.program.host_function(fn, owner)
        values = self.bind(host, arguments, keywords, node)
        outputs = self.emit("prim::HostCall", values, [host.result_type(self)], {"name": host.name})
        return outputs[0]

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
            self.fail(f"{getattr(tree, 'name', 'the lambda')}() takes {len(names)} arguments but {len(arguments)} were given", node)
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
        status = self.statements([*tree.body, ast.copy_location(ast.Return(None), tree.body[-1])])
        result = self.scope["$val"]
        if result is UNSET:  # it always raises
            return NONE if self.frame.result is None else self.materialize(UNSET, self.frame.result)
        assert status != FALLS
        return result

    # --- classes of values

    def isinstance_condition(self, node):
        """isinstance(x, T): known now, or asked of an Optional."""
        value = self.expression(node.args[0])
        kinds = self.expression(node.args[1]) if not self._is_annotation(node.args[1]) else Const(self.lookup_annotation(node.args[1]))
        wanted = self._classes(kinds, node)
        answers = self._instance_answer(value, wanted)
        if isinstance(answers, bool):
            return Condition(Const(answers))
        inner = answers
        name = node.args[0].id if isinstance(node.args[0], ast.Name) else None
        test = self.builtin("__isnot__", self.materialize(value), NONE) if inner else self.builtin("__is__", self.materialize(value), NONE)
        known = ({name: "some"}, {name: "none"}) if name else ({}, {})
        return Condition(test, *(known if inner else known[::-1]))

    @staticmethod
    def _is_annotation(node):
        return isinstance(node, ast.Subscript)

    def _classes(self, value, node):
        if isinstance(value, Tuple):
            return [c for item in value.items for c in self._classes(item, node)]
        if isinstance(value, Const):
            return [c for item in value.obj for c in self._classes(Const(item), node)] if isinstance(value.obj, tuple) else [value.obj]
        return self.fail("isinstance() needs classes as its second argument", node)

    def _instance_answer(self, value, wanted):
        """True or False, or "some" / "" if it depends on whether an Optional is None."""
        if isinstance(value, ModuleValue):
            return any(isinstance(c, type) and issubclass(value.spec.python_class, c) for c in wanted)
        if isinstance(value, Const):
            return self.program.python_isinstance(value.obj, tuple(wanted))
        if isinstance(value, Tuple) and not value.name:
            if any(c in (tuple, list) for c in wanted):
                return tuple in wanted
        found = self.type_of(value)
        if found is None:
            return False
        if found.kind == "optional":
            some, none = self._type_answer(found.items[0], wanted), self._type_answer(T.NONE, wanted)
            if some == none:
                return some
            return "some" if some else ""
        return self._type_answer(found, wanted)

    def _type_answer(self, found, wanted):
        plain = {"list": (list, tuple) if self.frame.library else (list,), "dict": (dict,), "tuple": (tuple,), "Tensor": (_C.Tensor,)}
        for cls in wanted:
            if cls in plain.get(found.kind, ()) or (found.name and found.host is cls):
                return True
            if found.kind == "class" and isinstance(cls, type) and isinstance(found.host, type) and issubclass(found.host, cls):
                return True
            if isinstance(cls, type) and issubclass(cls, _C.Tensor) and cls is not _C.Tensor:
                continue
            try:
                if T.is_subtype(found, annotations.from_object(cls, self.program)) and cls not in (object,):
                    return True
            except (TypeError, NameError):
                continue
        return False

    # --- functions with rules of their own

    def handle_tensor(self, arguments, keywords, node):
        return self.make_tensor(arguments, keywords)

    def handle_as_tensor(self, arguments, keywords, node):
        value = arguments[0] if arguments else keywords.get("data")
        if self.type_of(value) == T.TENSOR:
            rest = {k: v for k, v in keywords.items() if k in ("dtype", "device")}
            rest.update(zip(("dtype", "device"), arguments[1:]))
            return self.on_tensor_to(value, [], rest) if rest else value
        return self.make_tensor(arguments, keywords)

    def handle_grad_enabled(self, arguments, keywords, node):
        return self.builtin("is_grad_enabled")

    def handle_default_dtype(self, arguments, keywords, node):
        return self.builtin("get_default_dtype")

    def handle_true(self, arguments, keywords, node):
        return TRUE

    def handle_false(self, arguments, keywords, node):
        return FALSE

    def handle_nothing(self, arguments, keywords, node):
        return NONE

    def handle_itself(self, arguments, keywords, node):
        return [*arguments, *keywords.values()][-1]

    def handle_device(self, arguments, keywords, node):
        if all(map(self.is_static, arguments)):
            return self.folded(lambda: _C.device(*map(self.static, arguments)))
        return self.convert(arguments[0], T.DEVICE)

    def handle_einsum(self, arguments, keywords, node):
        found = self.program.tables.overloads("einsum", "function")
        return self.call_operator(found, False, False, arguments, keywords, "einsum")

    def grad_switch(self, item):
        """Whether gradients are recorded inside of `with no_grad():` and the like."""
        call = item.context_expr
        function = self.expression(call.func) if isinstance(call, ast.Call) else self.expression(call)
        obj = function.obj if isinstance(function, Const) else None
        if obj is _C.no_grad or obj is _C.inference_mode:
            return FALSE
        if obj is _C.enable_grad:
            return TRUE
        if obj is _C.set_grad_enabled:
            return self.truth(self.expression(call.args[0]))
        return self.unsupported("this with statement", "Only no_grad(), enable_grad() and set_grad_enabled() are known.", call)



SILENT = (warnings.warn,)


def _hashable(table, obj):
    """The table, or nothing for objects that cannot be looked up."""
    try:
        hash(obj)
    except TypeError:
        return ()
    return table


def parsed_function(fn):
    return parse(fn)


__all__ = ["SILENT", "Calls", "closure_values", "parsed_function"]
