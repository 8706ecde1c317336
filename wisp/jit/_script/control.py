"""Branches and loops.

Return, break and continue become flags, kept among the names of a frame as "$ret", "$skip1" and "$stop1" (of the first
loop). They are constants while it is known whether they are set, so that code without them has none. The value that is
returned is "$val". What follows a statement that may have left is put under a condition.
"""

import ast
from dataclasses import dataclass, field

from wisp.jit._script import ir
from wisp.jit._script import types as T
from wisp.jit._script.loop_else import without_else
from wisp.jit._script.values import FALSE, NONE, TRUE, UNSET, Const, ModuleValue, Tuple, Undefined

# How statements end: after the last one, by break or continue, by return, or by an error.
FALLS, LEAVES, RETURNS, RAISES = "falls through", "leaves", "returns", "raises"
_FOREVER = 2**63 - 1


@dataclass
class Condition:
    """A bool, and what is known of names where it holds and where it does not: name -> "none", "some" or a type."""

    value: object
    if_true: dict = field(default_factory=dict)
    if_false: dict = field(default_factory=dict)


@dataclass
class Branch:
    """A compiled branch: its block, the names at its end, and how it ends."""

    block: object
    scope: dict
    status: str
    refined: dict


class Control:
    """If, loops, and leaving them."""

    # --- leaving

    def exit_flag(self):
        """The name of the flag that says the rest of this list of statements is skipped."""
        return f"$skip{self.frame.loops[-1]}" if self.frame.loops else "$ret"

    def leave(self, kind):
        """Sets the flags of a return, break or continue."""
        loops = self.frame.loops
        if kind == "return":
            self.scope["$ret"] = TRUE
            for loop in loops:
                self.scope[f"$skip{loop}"] = self.scope[f"$stop{loop}"] = TRUE
            return RETURNS
        self.scope[f"$skip{loops[-1]}"] = TRUE
        if kind == "break":
            self.scope[f"$stop{loops[-1]}"] = TRUE
        return LEAVES

    def statements(self, body):
        """Compiles a list of statements; returns how it ends."""
        for i, statement in enumerate(body):
            rest = body[i + 1 :]
            self.at = statement
            if getattr(statement, "orelse", None) and isinstance(statement, (ast.For, ast.While)):
                return self.statements([*without_else(statement), *rest])
            status = self.if_statement(statement, rest) if isinstance(statement, ast.If) else self.statement(statement)
            if isinstance(statement, ast.If) and status is not None:
                return status
            if status != FALLS and status is not None:
                return status
            flag = self.scope.get(self.exit_flag(), FALSE)
            if flag is not FALSE:
                return self.rest_unless(flag, rest)
        return FALLS

    def rest_unless(self, flag, rest):
        """Statements that run unless a flag is set."""
        at = self.at
        leaves = LEAVES if self.frame.loops else RETURNS
        if flag is TRUE:
            return leaves
        if not rest:
            return FALLS

        def left():
            self.scope[self.exit_flag()] = TRUE
            return leaves

        def stayed():
            self.clear_flags()
            return self.statements(rest)

        branches = self.branch({}, left), self.branch({}, stayed)
        self.at = at
        return self.join(flag, *branches)

    def clear_flags(self):
        """Where nothing has been left, no flag is set."""
        for name in [n for n in self.scope if n.startswith(("$skip", "$stop", "$ret"))]:
            self.scope[name] = FALSE

    # --- branches

    def branch(self, refinements, body):
        """Compiles a branch into a block of its own."""
        outer_block, outer_scope = self.block, dict(self.scope)
        self.block = ir.Block(outer_block)
        refined = self.refine(refinements)
        status = body() or FALLS
        made = Branch(self.block, self.frame.scope, status, refined)
        self.block, self.frame.scope = outer_block, outer_scope
        return made

    def refine(self, refinements):
        """Applies what is known of names; returns the values they have because of that, with those before."""
        refined = {}
        for name, known in refinements.items():
            value = self.scope.get(name)
            if not isinstance(value, ir.Value):
                continue
            if known == "none" and value.type.kind == "optional":
                now = NONE
            elif known == "some" and value.type.kind == "optional":
                now = self.emit_one("prim::UncheckedCast", [value], value.type.items[0])
            elif known in ("some", "none") and T.NONE in T.members(value.type):
                rest = [t for t in T.members(value.type) if (t == T.NONE) == (known == "none")]
                now = self.emit_one("prim::UncheckedCast", [value], T.one_of(rest))
            elif (
                isinstance(known, T.Type)
                and (value.type != known or value.type.host != known.host)
                and value.type.kind in ("Any", "Scalar", "optional")
            ):
                now = self.emit_one("prim::UncheckedCast", [value], known)
            else:
                continue
            refined[name] = (now, value)
            self.scope[name] = now
        return refined

    def if_statement(self, node, rest):
        """An if, with what follows it if a branch leaves; returns None if what follows is still to be compiled."""
        condition = self.condition(node.test)
        value = condition.value
        if isinstance(value, Const):
            self.refine(condition.if_true if value.obj else condition.if_false)
            status = self.statements(node.body if value.obj else node.orelse)
            return status if status != FALLS else None
        then = self.branch(condition.if_true, lambda: self.statements(node.body))
        if (
            then.status != FALLS and node.orelse and rest
        ):  # what follows belongs to the other branch, and knows what it knows
            other = self.branch(condition.if_false, lambda: self.statements([*node.orelse, *rest]))
            self.at = node
            return self.join(value, then, other)
        other = self.branch(condition.if_false, lambda: self.statements(node.orelse))
        self.at = node
        left, live = (then, other) if other.status == FALLS else (other, then)
        if rest and live.status == FALLS and left.status in (LEAVES, RETURNS):
            self.continue_branch(live, rest)
            self.at = node
            return self.join(value, then, other)
        status = self.join(value, then, other)
        if status != FALLS:
            return status
        if then.status == RAISES:
            self.refine(condition.if_false)
        if other.status == RAISES:
            self.refine(condition.if_true)
        return None

    def continue_branch(self, branch, rest):
        """Compiles more statements at the end of a branch."""
        outer_block, outer_scope = self.block, self.frame.scope
        self.block, self.frame.scope = branch.block, branch.scope
        flag = self.scope.get(self.exit_flag(), FALSE)
        branch.status = self.statements(rest) if flag is FALSE else self.rest_unless(flag, rest)
        branch.scope = self.frame.scope
        self.block, self.frame.scope = outer_block, outer_scope

    def join(self, condition, then, other):
        """Emits the If of two branches and merges what they have assigned; returns how it ends."""
        node = ir.Node("prim::If", [condition], {}, self.place())
        node.blocks = [then.block, other.block]
        before = dict(self.scope)
        for branch, opposite in ((then, other), (other, then)):
            for name, (now, was) in branch.refined.items():
                untouched = opposite.scope.get(name) in (was, opposite.refined.get(name, (None,))[0])
                if branch.scope.get(name) is now and untouched:
                    branch.scope[name] = was
        for name in dict.fromkeys([*then.scope, *other.scope]):
            a, b = (branch.scope.get(name, UNSET if name[0] in "$@" else _missing(name)) for branch in (then, other))
            if a is b:
                self.scope[name] = a
            else:
                self.scope[name] = self.merge_name(name, node, then, a, other, b, before.get(name))
        self._append_if(node)
        return min(then.status, other.status, key=[FALLS, LEAVES, RETURNS, RAISES].index)

    def merge_name(self, name, node, then, a, other, b, before):
        """What a name stands for after two branches."""
        flag = name[0] in "$@"  # what is still read after a return
        for branch, own, theirs in ((then, a, b), (other, b, a)):
            if branch.status == RAISES or (branch.status == RETURNS and not flag):
                if self._outside(theirs, node):
                    return theirs
                own = UNSET
            elif branch.status == LEAVES and isinstance(own, Undefined):
                own = UNSET
            if branch is then:
                a = own
            else:
                b = own
        merged = self.merge(node, a, b)
        wanted = self.frame.result if name == "$val" else self.frame.declared.get(name)
        if merged is None and wanted == T.ANY:
            merged = self.merge(node, a, b, wanted)
        if merged is None:
            if isinstance(a, Undefined) or isinstance(b, Undefined):
                return a if isinstance(a, Undefined) else b
            types = " and ".join(self.what_is(v) for v in (a, b))
            if name == "$val":
                self.fail(f"the function returns {types} in different branches: they need one type")
            kinds = [self.type_shown(v) for v in (a, b)]
            return Undefined(f"{name} is set to type {kinds[0]} in the true branch and type {kinds[1]} in the false branch: "
                             "it needs one type to be used after them")  # fmt: skip
        if isinstance(merged, ir.Value) and not flag and not merged.hint:
            merged.hint = name
        return merged

    def _outside(self, value, node):
        """Whether a value is known outside of the branches of a node."""
        if isinstance(value, ir.Value):
            return self.block.is_inside(value.block)
        if isinstance(value, ModuleValue):
            return self._outside(value.value, node)
        if isinstance(value, Tuple):
            return all(self._outside(item, node) for item in value.items)
        return not isinstance(value, Undefined) and value is not UNSET

    def merge(self, node, a, b, common=None):
        """The value that is `a` after the first block of a node and `b` after the second, or None. `common` is its type
        where that is given."""
        if a is b or (
            isinstance(a, Const) and isinstance(b, Const) and type(a.obj) is type(b.obj) and self._same(a, b)
        ):
            return a
        if isinstance(a, Undefined) or isinstance(b, Undefined):
            return None
        if isinstance(a, Tuple) and isinstance(b, Tuple) and len(a.items) == len(b.items) and a.name == b.name:
            items = [self.merge(node, x, y) for x, y in zip(a.items, b.items)]
            return None if None in items else Tuple(items, a.name, a.fields, a.host)
        for known, other in ((a, b), (b, a)):
            if other is UNSET and self._outside(known, node):
                return known
            if other is UNSET and isinstance(known, Tuple):
                items = [self.merge(node, *((x, UNSET) if known is a else (UNSET, x))) for x in known.items]
                return None if None in items else Tuple(items, known.name, known.fields, known.host)
        types = [self.type_of(v) for v in (a, b) if v is not UNSET]
        if None in types:
            return None
        if common is None:
            common = types[0] if len(types) == 1 else T.unify(*types) or self._common_list(types)
        if common is None:
            return None
        for block, value in zip(node.blocks, (a, b)):
            outer, self.block = self.block, block
            block.results.append(self.convert(value, common))
            self.block = outer
        node.outputs.append(ir.Value(common, self.block))
        return node.outputs[-1]

    def _append_if(self, node):
        """Appends an If, unless it does nothing."""
        if node.outputs or any(block.nodes for block in node.blocks):
            self.block.nodes.append(node)

    @staticmethod
    def _is_condition(values, then, other):
        """Whether the values of both cases are True and False, and nothing else happens in them."""
        if not all(isinstance(v, Const) and isinstance(v.obj, bool) for v in values) or values[0].obj == values[1].obj:
            return False
        return all(node.kind == "prim::GetAttr" for node in (*then.block.nodes, *other.block.nodes))

    @staticmethod
    def _common_list(types):
        """Of a list and a tuple of such items, the list."""
        kinds = {t.kind: t for t in types}
        if set(kinds) != {"list", "tuple"}:
            return None
        return kinds["list"] if all(item == kinds["list"].items[0] for item in kinds["tuple"].items) else None

    @staticmethod
    def _same(a, b):
        try:
            return a.obj is b.obj or bool(a.obj == b.obj)
        except (TypeError, ValueError, RuntimeError):
            return False

    def choose(self, condition, if_true, if_false, or_truth=False, hint=None):
        """The value of a conditional expression: two functions that emit its parts. With `or_truth`, of values that have
        no common type, which of them are true. `hint` is the type that is wanted, if that is known."""
        if isinstance(condition.value, Const):
            self.refine(condition.if_true if condition.value.obj else condition.if_false)
            return if_true() if condition.value.obj else if_false()
        values = []
        then = self.branch(condition.if_true, lambda: values.append(if_true()))
        other = self.branch(condition.if_false, lambda: values.append(if_false()))
        if self._is_condition(values, then, other):
            return condition.value if values[0].obj else self.builtin("__not__", condition.value)
        node = ir.Node("prim::If", [condition.value], {}, self.place())
        node.blocks = [then.block, other.block]
        merged = self.merge(node, *values)
        if merged is None and hint == T.ANY:
            merged = self.merge(node, *values, hint)
        if merged is None and or_truth:
            merged = self.merge(node, *(self._truth_in(block, v) for block, v in zip(node.blocks, values)))
        if merged is None:
            self.fail(f"the values of both cases need one type, and are {' and '.join(map(self.what_is, values))}")
        self._append_if(node)
        return merged

    def _truth_in(self, block, value):
        outer, self.block = self.block, block
        truth = self.truth(value)
        self.block = outer
        return truth


def _missing(name):
    return Undefined(f"'{name}' is not defined on every way to here: give it a value before the if, for or while")
