"""Statements."""

import ast
import builtins
import inspect

from wisp.jit._script import ir
from wisp.jit._script import types as T
from wisp.jit._script.annotations import type_of_annotation
from wisp.jit._script.control import FALLS, RAISES, Control
from wisp.jit._script.expressions import DUNDER
from wisp.jit._script.values import NONE, Closure, Const, ModuleValue, StaticObject, Tuple

_IN_PLACE = {
    ast.Add: "add_", ast.Sub: "sub_", ast.Mult: "mul_", ast.Div: "div_", ast.FloorDiv: "floor_divide_",
    ast.Mod: "remainder_", ast.Pow: "pow_", ast.BitAnd: "bitwise_and_", ast.BitOr: "bitwise_or_",
    ast.BitXor: "bitwise_xor_", ast.LShift: "bitwise_left_shift_", ast.RShift: "bitwise_right_shift_",
}  # fmt: skip

_UNSUPPORTED = {
    ast.Try: ("try ... except", "Test the condition with if, and raise errors where they happen."),
    ast.Global: ("global", "Pass the value as an argument, or keep it in an attribute of a module."),
    ast.Nonlocal: ("nonlocal", "Return the new value instead."),
    ast.ClassDef: ("a class inside of a function", "Define it outside and decorate it with @jit.script."),
    ast.AsyncFunctionDef: ("async def", "Use a plain function; jit.fork runs functions side by side."),
    ast.AsyncFor: ("async for", "Use a plain for loop."),
    ast.AsyncWith: ("async with", "Use plain statements."),
    ast.Match: ("match", "Use if and elif."),
}


class Statements(Control):
    """Compiles statements one by one."""

    def statement(self, node):
        """Compiles a statement that is no if; returns how it ends."""
        handler = getattr(self, "do_" + type(node).__name__, None)
        if handler is None:
            what, instead = _UNSUPPORTED.get(
                type(node), (f"the statement {type(node).__name__}", "Write it in another way.")
            )
            self.unsupported(what, instead, node)
        return handler(node) or FALLS

    def do_Pass(self, node):
        pass

    def do_Expr(self, node):
        if not isinstance(node.value, ast.Constant):
            node.value.is_dropped = True  # whatever it is
            self.expression(node.value)

    def do_For(self, node):
        return self.for_statement(node)

    def do_While(self, node):
        return self.while_statement(node)

    def do_Break(self, node):
        return self.leave("break")

    def do_Continue(self, node):
        return self.leave("continue")

    def do_Return(self, node):
        value = Const(None) if node.value is None else self.expression(node.value, self.frame.result)
        self.at = node
        self.scope["$val"] = self.returned(value)
        return self.leave("return")

    def returned(self, value):
        """A value as the function returns it."""
        if self.frame.result is None:
            if self.frame.parent is None and self.type_of(value) is None:
                return self.materialize(value)  # or an error that shows this place
            return value
        if isinstance(value, (Const, Tuple)) and self.frame.parent is not None and self.frame.library:
            return value
        found = self.try_convert(value, self.frame.result)
        if found is None:
            if getattr(self.at, "implied", False):
                self.fail(
                    f"the function does not return along all paths, and shall return {T.shown(self.frame.result)}"
                )
            self.fail(f"the function is declared to return {T.shown(self.frame.result)}, "
                      f"but what it returns is actually of type {self.type_shown(value)}")  # fmt: skip
        return found

    # --- assignments

    def do_Assign(self, node):
        hint = None
        if node.type_comment:
            hint = self.annotation(node.type_comment)
        elif len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            hint = self.frame.declared.get(node.targets[0].id) or self._type_if_empty(node)
        elif len(node.targets) == 1:
            hint = self.attribute_type(node.targets[0])
        self._declare_by_call(node)
        value = self.expression(node.value, hint)
        if node.type_comment:
            self.at = node
            value = self.declared_value(value, hint)
        for target in node.targets:
            self.assign(target, value)

    def _type_if_empty(self, node):
        """For an empty list or dict, the type that a parameter of the name was annotated with."""
        value = node.value
        if getattr(value, "elts", None) == [] or getattr(value, "keys", None) == []:
            return self.frame.annotated.get(node.targets[0].id)
        return None

    def _declare_by_call(self, node):
        """self.name = annotate(Optional[T], None)"""
        target, call = node.targets[0], node.value
        if isinstance(target, ast.Attribute) and isinstance(call, ast.Call) and len(call.args) == 2:
            function = self.expression(call.func)
            if isinstance(function, Const) and self.program.special(function.obj) == "annotate":
                self.declare_attribute(target, self.annotation(call.args[0]))

    def do_AnnAssign(self, node):
        declared = self.annotation(node.annotation)
        if isinstance(node.target, ast.Name):
            self.frame.declared[node.target.id] = declared
        if node.value is None:
            return
        value = self.expression(node.value, declared)
        self.at = node
        if isinstance(node.target, ast.Attribute):
            self.declare_attribute(node.target, declared)
        self.assign(node.target, self.declared_value(value, declared))

    def declared_value(self, value, declared):
        """A value as the annotation of its name says."""
        known = isinstance(value, Const) and (value.obj is None or isinstance(value.obj, (str, bool)))
        if known and T.is_subtype(self.type_of(value), declared):
            return value
        found = self.try_convert(value, declared)
        if found is None:
            self.fail(
                f"the variable is annotated with type {T.shown(declared)} but is being assigned to {self.what_is(value)}"
            )
        return found

    def annotation(self, node):
        """The type that an annotation in the program names."""
        try:
            return type_of_annotation(node, self.lookup_python, self.program)
        except (NameError, TypeError, ValueError, SyntaxError, AttributeError) as error:
            return self.fail(
                f"the annotation cannot be understood: {error}", node if isinstance(node, ast.AST) else None
            )

    def assign(self, target, value):
        """Gives a target a value."""
        if isinstance(target, ast.Name):
            self.assign_name(target.id, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self.unpack(target, value)
        elif isinstance(target, ast.Attribute):
            self.set_attribute(self.expression(target.value), target.attr, value, target)
        elif isinstance(target, ast.Subscript):
            self.set_item(target, value)
        else:
            self.unsupported("this kind of assignment", "Assign to names, attributes or items.", target)

    def assign_name(self, name, value):
        declared = self.frame.declared.get(name)
        if declared is not None and not (isinstance(value, Const) and value.obj is None):
            found = self.type_of(value)
            if found is not None and not T.is_subtype(found, declared):
                value = self.convert(value, declared)
        if isinstance(value, ir.Value):
            value.is_new = False
        if isinstance(value, ir.Value) and not value.hint and self.frame.parent is None:
            value.hint = name
        self.scope[name] = value

    def unpack(self, target, value):
        """a, *b, c = value"""
        starred = [i for i, item in enumerate(target.elts) if isinstance(item, ast.Starred)]
        if starred and (found := self.type_of(value)) is not None and (found.kind == "list" or found == T.TENSOR):
            self._unpack_list(target, starred[0], value)
            return
        items = self.items_of(value, None if starred else len(target.elts), target)
        count = len(target.elts)
        if (len(items) < count - 1) if starred else (len(items) != count):
            found = f"found {'only ' if len(items) < count else ''}{len(items)}"
            self.fail(f"need {count} values to unpack {self.what_is(value)}, but {found}", target)
        if starred:
            at, after = starred[0], count - starred[0] - 1
            rest = items[at : len(items) - after]
            for part, item in zip(target.elts[:at], items[:at]):
                self.assign(part, item)
            self.assign(target.elts[at].value, self.starred_rest(rest))
            for part, item in zip(target.elts[at + 1 :], items[len(items) - after :]):
                self.assign(part, item)
            return
        for part, item in zip(target.elts, items):
            self.assign(part, item)

    def _unpack_list(self, target, at, value):
        """a, *b, c = value, of as many items as it has when the program runs"""
        if self.type_of(value) == T.TENSOR:
            value = self.operator("unbind", value, Const(0))
        value, after = self.materialize(value), len(target.elts) - at - 1
        count = self.builtin("len", value)
        message = self.builtin(
            "format", Const(f"not enough values to unpack (expected at least {at + after}, got {{}})"), count
        )
        self.fail_unless(self.builtin("ge.int", count, Const(at + after)), "ValueError", message)
        end = NONE if after == 0 else Const(-after)
        rest = self.builtin("slice", value, Const(at), end, NONE)
        places = [*range(at), *range(-after, 0)]
        items = [self.builtin("__getitem__", value, Const(place)) for place in places]
        for part, item in zip(target.elts, [*items[:at], rest, *items[at:]]):
            self.assign(part.value if isinstance(part, ast.Starred) else part, item)

    def starred_rest(self, rest):
        """A starred name holds a list; a tuple where the types of the items differ, or in the library's own code."""
        types = [self.type_of(item) for item in rest]
        if self.frame.library or any(found != types[0] for found in types):
            return Tuple(rest)
        return self.list_value(rest, None)

    def items_of(self, value, count, node):
        """The items of a tuple, or of a list that has to have `count` of them."""
        if isinstance(value, Tuple):
            return value.items
        if isinstance(value, Const):
            try:
                return [self.wrap(item) for item in value.obj]
            except TypeError:
                self.fail(f"{self.what_is(value)} cannot be used as a tuple", node)
        value = self.materialize(value)
        if value.type.kind == "tuple":
            return self.emit("prim::TupleUnpack", [value], value.type.items)
        if value.type == T.TENSOR and count is not None:
            value = self.operator("unbind", value, Const(0))
        if value.type.kind == "list" and count is not None:
            return self.emit("prim::ListUnpack", [value], [value.type.items[0]] * count)
        return self.fail(f"{self.what_is(value)} cannot be used as a tuple: its number of items is not known", node)

    def do_AugAssign(self, node):
        operand = self.expression(node.value)
        if isinstance(node.target, ast.Subscript):
            return self.augment_item(node, operand)
        load = ast.copy_location(_loaded(node.target), node.target)
        now = self.expression(load)
        self.at = node
        result = self.augmented(node.op, now, operand, node)
        if result is not now or isinstance(node.target, ast.Name):
            self.assign(node.target, result)
        return FALLS

    def augmented(self, op, value, operand, node):
        """The result of `value op= operand`: tensors and lists are changed in place."""
        found = self.type_of(value)
        if found == T.TENSOR and type(op) in _IN_PLACE:
            return self.tensor_method(self.materialize(value), _IN_PLACE[type(op)], [operand], {})
        if found is not None and found.kind == "list" and isinstance(op, ast.Add) and isinstance(value, ir.Value):
            self.builtin("extend", value, self.convert(operand, found))
            return value
        if found is not None and found.kind == "list" and isinstance(op, ast.Mult) and isinstance(value, ir.Value):
            self.builtin("_set_slice", value, NONE, NONE, self.binary(op, value, operand, node))
            return value
        if found is not None and found.kind == "class" and type(op) in DUNDER:
            method = self.find_method(value, f"__i{DUNDER[type(op)]}__")
            if method is not None:
                return self.call(method, [operand], {}, node)
        return self.binary(op, value, operand, node)

    def augment_item(self, node, operand):
        owner = self.expression(node.target.value)
        found = self.type_of(owner)
        index = self.index(node.target.slice)
        if found == T.TENSOR:
            self.augment_tensor_item(self.materialize(owner), index, node, operand)
            return FALLS
        now = self.get_item(owner, index, node.target)
        self.at = node
        self.put_item(owner, index, self.augmented(node.op, now, operand, node), node.target)
        return FALLS

    def do_Delete(self, node):
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.scope.pop(target.id, None)
            elif isinstance(target, ast.Subscript):
                self._delete_item(self.materialize(self.expression(target.value)), self.index(target.slice), target)
            else:
                self.unsupported("del of an attribute", "Set it to another value.", target)

    def _delete_item(self, owner, index, node):
        if owner.type.kind == "class":
            self.call(self.attribute(owner, "__delitem__", node), [index], {}, node)
        else:
            self.builtin("__delitem__", owner, index)

    def set_item(self, target, value):
        owner = self.expression(target.value)
        self.put_item(owner, self.index(target.slice), value, target)

    # --- attributes

    def set_attribute(self, owner, name, value, node):
        if isinstance(owner, ModuleValue):
            return self.set_module_attribute(owner, name, value, node)
        if isinstance(owner, StaticObject):
            self.scope[f"@{owner.number}.{name}"] = value
            return None
        owner = self.materialize(owner)
        if owner.type.kind != "class":
            self.fail(f"attributes of {self.what_is(owner)} cannot be set", node)
        setter = getattr(inspect.getattr_static(owner.type.host.python_class, name, None), "fset", None)
        if setter is not None:
            self.call_object_method(owner, setter, [value], {}, node)
            return None
        declared = self.class_attribute(owner.type, name, value, node)
        self.emit("prim::SetAttr", [owner, self.attribute_value(name, value, declared)], [], {"name": name})
        return None

    def attribute_value(self, name, value, wanted):
        """A value as an attribute of this type keeps it."""
        found = self.try_convert(value, wanted)
        if found is None:
            self.fail(
                f"Wrong type for attribute assignment: '{name}' is of type {T.shown(wanted)}, but got {self.what_is(value)}"
            )
        return found

    # --- errors

    def do_Assert(self, node):
        condition = self.condition(node.test)
        if isinstance(condition.value, Const):
            if condition.value.obj:
                self.refine(condition.if_true)
                return FALLS
            self.raise_error("AssertionError", self.message_of(node.msg))
            return RAISES

        def otherwise():
            self.raise_error("AssertionError", self.message_of(node.msg))
            return RAISES

        then = self.branch(condition.if_true, lambda: FALLS)
        other = self.branch(condition.if_false, otherwise)
        self.join(condition.value, then, other)
        self.refine(condition.if_true)
        return FALLS

    def message_of(self, node):
        if node is None:
            return Const("")
        return self.to_string(self.expression(node))

    def do_Raise(self, node):
        if node.exc is None:
            self.unsupported("raise without an error", "Name the error: raise RuntimeError('...').", node)
        call = node.exc if isinstance(node.exc, ast.Call) else None
        kind = self.expression(call.func if call else node.exc)
        if not (isinstance(kind, Const) and isinstance(kind.obj, type) and issubclass(kind.obj, BaseException)):
            self.unsupported("raising this", "Raise a class of errors, such as RuntimeError('...').", node)
        arguments = [self.to_string(self.expression(a)) for a in call.args] if call else []
        message = arguments[0] if len(arguments) == 1 else Const("")
        if len(arguments) > 1:
            message = self.builtin("format", Const("(" + ", ".join(["{!r}"] * len(arguments)) + ")"), *arguments)
        self.at = node
        self.raise_error(_error_name(kind.obj), message)
        return RAISES

    def fail_unless(self, condition, name, message):
        """An error when the program runs, where a condition does not hold."""

        def fails():
            self.raise_error(name, message)
            return RAISES

        self.join(condition, self.branch({}, lambda: FALLS), self.branch({}, fails))

    def raise_error(self, name, message):
        self.emit("prim::RaiseException", [self.materialize(message), self.materialize(Const(name))], [])

    # --- the rest

    def do_FunctionDef(self, node):
        self.scope[node.name] = Closure(node, self.frame)

    def do_Import(self, node):
        for alias in node.names:
            module = __import__(alias.name)
            self.scope[alias.asname or alias.name.partition(".")[0]] = Const(module)

    def do_ImportFrom(self, node):
        names = [alias.name for alias in node.names]
        try:
            module = __import__(node.module or "", self.frame.lookup("__globals__"), None, names, node.level)
            for alias in node.names:
                self.scope[alias.asname or alias.name] = self.wrap(getattr(module, alias.name))
        except (ImportError, AttributeError) as error:
            self.fail(str(error), node)


def _loaded(target):
    """A target of an assignment as an expression."""
    copy = type(target)(**{name: getattr(target, name) for name in target._fields if hasattr(target, name)})
    copy.ctx = ast.Load()
    return copy


def _error_name(kind):
    """Python's own errors by their name, others with their module."""
    if getattr(builtins, kind.__name__, None) is kind:
        return kind.__name__
    return f"{kind.__module__}.{kind.__qualname__}"
