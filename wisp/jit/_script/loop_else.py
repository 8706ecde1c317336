"""Loops with an else, as loops without one."""

import ast
import copy


class _NotedBreaks(ast.NodeTransformer):
    """Breaks of one loop also set a name."""

    def __init__(self, name):
        self.name, self.found = name, False

    def visit_Break(self, node):
        self.found = True
        return [_assigned(self.name, True, node), node]

    def _leave_alone(self, node):
        return node

    visit_FunctionDef = visit_Lambda = _leave_alone

    def visit_loop(self, node):
        node.orelse = [part for statement in node.orelse for part in _as_list(self.visit(statement))]
        return node

    visit_For = visit_While = visit_loop


def _as_list(made):
    return made if isinstance(made, list) else [made]


def _assigned(name, value, at):
    made = ast.Assign([ast.Name(name, ast.Store())], ast.Constant(value))
    return ast.fix_missing_locations(ast.copy_location(made, at))


def without_else(loop):
    """The statements of a loop with an else: what it holds runs unless a break has been noted."""
    name = f"_left_{loop.lineno}"
    noted = _NotedBreaks(name)
    body = [part for statement in copy.deepcopy(loop.body) for part in _as_list(noted.visit(statement))]
    bare = ast.copy_location(type(loop)(**{**dict(ast.iter_fields(loop)), "body": body, "orelse": []}), loop)
    if not noted.found:
        return [bare, *loop.orelse]
    test = ast.UnaryOp(ast.Not(), ast.Name(name, ast.Load()))
    rest = ast.fix_missing_locations(ast.copy_location(ast.If(test, loop.orelse, []), loop.orelse[0]))
    return [_assigned(name, False, loop), bare, rest]
