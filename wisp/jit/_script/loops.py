"""Loops: names that their bodies assign go from turn to turn, and what they go over is counted or unrolled."""

import ast

from wisp.jit._script import ir
from wisp.jit._script import types as T
from wisp.jit._script.control import FALLS, RAISES, Condition
from wisp.jit._script.values import FALSE, TRUE, UNSET, Const, Iterable, ModuleValue, Tuple, Undefined

_FOREVER = 2**63 - 1


def _stored_names(statements):
    """Names that statements assign, and which flags they may set."""
    names, leaves = set(), set()

    class Visitor(ast.NodeVisitor):
        depth = 0

        def visit_Name(self, node):
            if isinstance(node.ctx, ast.Store):
                names.add(node.id)

        def visit_FunctionDef(self, node):
            names.add(node.name)

        def visit_Lambda(self, node):
            pass

        def visit_ListComp(self, node):
            pass

        visit_DictComp = visit_SetComp = visit_GeneratorExp = visit_ListComp

        def visit_Return(self, node):
            leaves.add("return")
            self.generic_visit(node)

        def visit_Break(self, node):
            if self.depth == 0:
                leaves.add("break")

        def visit_loop(self, node):
            self.depth += 1
            self.generic_visit(node)
            self.depth -= 1

        visit_For = visit_While = visit_loop

    visitor = Visitor()
    for statement in statements:
        visitor.visit(statement)
    return names, leaves


class Loops:
    """for and while."""

    def for_statement(self, node):
        iterable = self.iterable(self.expression(node.iter), node.iter)
        if iterable.unrolled:
            return self.unrolled(node, iterable, 0, self._enter_loop())
        loop = self._enter_loop()

        def body(index):
            self.assign(node.target, iterable.item(index))
            self.clear_flags()
            self.statements(node.body)
            return self._unless_stopped(loop, None)

        self.loop(node.body, [node.target], self.materialize(iterable.count), TRUE, body, node)
        return self._leave_loop(loop)

    def while_statement(self, node):
        loop, known = self._enter_loop(), {}

        def test():
            condition = self.condition(node.test)
            known.update(condition.if_true)
            return condition.value

        def body(index):
            self.refine(known)
            self.clear_flags()
            self.statements(node.body)
            return self._unless_stopped(loop, test)

        self.loop(node.body, [], Const(_FOREVER), test, body, node)
        return self._leave_loop(loop)

    def _enter_loop(self):
        self.frame.loop_count += 1
        loop = self.frame.loop_count
        self.frame.loops.append(loop)
        self.scope[f"$stop{loop}"] = FALSE
        self.scope[f"$skip{loop}"] = FALSE
        return loop

    def _leave_loop(self, loop):
        self.frame.loops.pop()
        del self.scope[f"$stop{loop}"], self.scope[f"$skip{loop}"]
        return FALLS

    def _unless_stopped(self, loop, proceed):
        """Whether the loop goes on."""
        stop = self.scope[f"$stop{loop}"]
        if isinstance(stop, Const):
            return FALSE if stop.obj else proceed() if proceed else TRUE
        if proceed is None:
            return self.builtin("__not__", stop)
        return self.choose(Condition(stop), lambda: FALSE, proceed)

    def unrolled(self, node, iterable, index, loop):
        """The body once for every item, as items may be of different types."""
        if index == iterable.count:
            return self._leave_loop(loop)
        self.at = node
        self.assign(node.target, iterable.item(index))
        self.scope[f"$skip{loop}"] = FALSE
        status = self.statements(node.body)
        stop = self.scope[f"$stop{loop}"]
        if status == RAISES:
            self._leave_loop(loop)
            return RAISES
        if stop is TRUE:
            return self._leave_loop(loop)
        if stop is FALSE:
            return self.unrolled(node, iterable, index + 1, loop)
        left, at = self.branch({}, lambda: FALLS), self.at

        def proceed():
            self.clear_flags()
            self.frame.loops.append(loop)
            self.unrolled(node, iterable, index + 1, loop)
            return FALLS

        self._leave_loop(loop)
        self.scope[f"$stop{loop}"] = self.scope[f"$skip{loop}"] = FALSE
        other = self.branch({}, proceed)
        for flag in (f"$stop{loop}", f"$skip{loop}"):
            left.scope.pop(flag, None)
            self.scope.pop(flag, None)
        self.at = at
        self.join(stop, left, other)
        return FALLS

    def loop(self, statements, targets, trips, condition, body, node=None):
        """Emits a Loop. Names that its body assigns are carried from turn to turn, of types that are found by trying."""
        carried, at = self._carried(statements, targets), node or self.at
        widened = {}
        for _attempt in range(8):
            self.at = at
            outer_scope, mark = dict(self.scope), len(self.block.nodes)
            made = ir.Node("prim::Loop", [], {}, self.place())
            entries = self._entries(carried, widened)
            first = condition() if callable(condition) else condition
            block = self._loop_block(made, entries)
            outer_block, self.block = self.block, block
            going_on = body(block.params[0])
            results = {name: self.scope.get(name, UNSET) for name in carried}
            wider = self._wider(entries, results, outer_scope)
            if wider is None:
                self._finish_loop(made, [trips, first], entries, going_on, results, outer_block, outer_scope)
                return
            widened.update(wider)
            self.block, self.frame.scope = outer_block, outer_scope
            del self.block.nodes[mark:]  # what this attempt has put in front of the loop
        self.fail("the types of the variables of this loop do not settle: annotate them before it")

    def _carried(self, statements, targets):
        names, leaves = _stored_names([*statements, *(ast.Expr(t) for t in targets)])
        carried = [n for n in self.scope if n in names]
        if leaves:
            carried += [f"$stop{self.frame.loops[-1]}"]
        if "return" in leaves:
            carried += ["$ret", "$val", *(f"${f}{k}" for k in self.frame.loops[:-1] for f in ("skip", "stop"))]
        return carried

    def _entries(self, carried, widened):
        """Values at the start of the loop, with the types of the names; those that are no values are left out."""
        entries = {}
        for name in carried:
            value = self.scope.get(name, UNSET if name == "$val" else FALSE)
            if name in widened:
                entries[name] = self.convert(value, widened[name]), widened[name]
            elif value is not UNSET and not isinstance(value, Undefined) and self.type_of(value) is not None:
                value = self.materialize(value)
                entries[name] = value, value.type
        return entries

    def _loop_block(self, node, entries):
        block = ir.Block(self.block)
        node.blocks.append(block)
        block.params.append(ir.Value(T.INT, block))
        for name, (_, kind) in entries.items():
            param = ir.Value(kind, block, "" if name[0] == "$" else name)
            block.params.append(param)
            self.scope[name] = param
        return block

    def _wider(self, entries, results, before):
        """The types that names need which do not keep the one they have at the start, or None if all do."""
        wider = {}
        for name, result in results.items():
            if isinstance(result, Undefined) or result is UNSET:
                continue
            found = self.type_of(result)
            if name not in entries:
                if name == "$val" and found is not None:
                    wider[name] = found
                elif result is not before.get(name):
                    self.fail(
                        f"'{name}' becomes {self.what_is(result)} in the loop: only values of the language can change"
                    )
                continue
            kept = entries[name][1]
            if found is None:
                self.fail(f"'{name}' becomes {self.what_is(result)} in the loop, and was {T.shown(kept)} before")
            if T.is_subtype(found, kept) or self._converts(found, kept):
                continue
            wider[name] = T.unify(kept, found)
            if wider[name] is None:
                self.fail(
                    f"variable '{name}' previously had type {T.shown(kept)} but is now being assigned to a value of type "
                    f"{T.shown(found)} in the loop"
                )
        return wider or None

    @staticmethod
    def _converts(found, kept):
        return found == T.INT and kept == T.FLOAT

    def _finish_loop(self, node, head, entries, going_on, results, outer_block, outer_scope):
        block = node.blocks[0]
        block.results.append(self.materialize(going_on))
        block.results += [self.convert(results[name], kind) for name, (_, kind) in entries.items()]
        self.block, self.frame.scope = outer_block, outer_scope
        node.inputs = [*map(self.materialize, head), *(value for value, _ in entries.values())]
        for name, (_, kind) in entries.items():
            out = ir.Value(kind, self.block, "" if name[0] == "$" else name)
            node.outputs.append(out)
            self.scope[name] = out
        self.block.nodes.append(node)

    # --- what loops go over

    def iterable(self, value, node=None):
        """Anything that a for loop can go over, as an Iterable."""
        if isinstance(value, Iterable):
            return value
        if isinstance(value, ModuleValue):
            children = self.children_of(value)
            if children is not None:
                return Iterable(len(children), lambda i: children[i], True)
        if isinstance(value, Tuple):
            return Iterable(len(value.items), lambda i: value.items[i], True)
        if isinstance(value, Const) and not isinstance(value.obj, self.program.tensor_class):
            return self._constant_iterable(value.obj, node)
        value = self.materialize(value)
        if value.type.kind == "tuple":
            items = self.emit("prim::TupleUnpack", [value], value.type.items)
            return Iterable(len(items), lambda i: items[i], True)
        if value.type.kind == "dict":
            value = self.builtin("keys", value)
        if value.type == T.TENSOR:
            return Iterable(self.builtin("len", value), lambda i: self.operator("select", value, Const(0), i))
        if value.type.kind != "list" and value.type != T.STR:
            self.fail(f"'{T.shown(value.type)}' object is not iterable", node)
        return Iterable(self.builtin("len", value), lambda i: self.builtin("__getitem__", value, i))

    def _constant_iterable(self, obj, node):
        if isinstance(obj, (str, tuple, list, dict, range, set, frozenset)) or hasattr(obj, "__iter__"):
            items = [self.wrap(item) for item in obj]
            if isinstance(obj, list) and not self.frame.library and items and self.type_of(Const(obj)) is not None:
                return self.iterable(self.materialize(Const(obj)), node)
            return Iterable(len(items), lambda i: items[i], True)
        return self.fail(f"'{type(obj).__name__}' object is not iterable", node)
