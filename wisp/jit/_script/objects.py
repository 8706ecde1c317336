"""Python objects that a module keeps: constants, unless their methods change them."""

import ast
import inspect

from wisp.jit._script.errors import CompileError

_CHANGES = {
    "append",
    "extend",
    "insert",
    "pop",
    "popitem",
    "remove",
    "clear",
    "update",
    "setdefault",
    "sort",
    "reverse",
}


def changes_container(name):
    """Whether a method of lists and dicts with this name writes."""
    return name in _CHANGES


def type_of_changing(obj, program):
    """The type in a program of an object that its own methods change, or None if it is as well a constant."""
    cls = type(obj)
    of_python = isinstance(vars(cls).get("__module__"), str)
    if (
        not of_python
        or program.is_library(cls)
        or not _changes_itself(cls, program)
        or not _can_be_compiled(obj, type(program))
    ):
        return None
    return program.class_type(cls)


def assigned_in_methods(cls, name, program):
    """Whether a method of a class, other than __init__, assigns to an attribute."""

    def assigns(node, own):
        return (
            isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Store)
            and (node.attr, _root(node)) == (name, own)
        )

    return any(assigns(node, own) for node, own in _parts_of_methods(cls, program))


def _changes_itself(cls, program):
    return any(_writes_to(node, own) for node, own in _parts_of_methods(cls, program))


def _parts_of_methods(cls, program):
    """The syntax nodes of methods other than __init__, each with the name of the object in it."""
    for fn in (fn for base in cls.__mro__ for fn in vars(base).values() if inspect.isfunction(fn)):
        if fn.__name__ == "__init__" or program.is_library(fn):
            continue
        try:
            tree = program.parsed(fn)[1]
        except (OSError, CompileError, TypeError):
            continue  # without source
        names = [a.arg for a in (*tree.args.posonlyargs, *tree.args.args)]
        yield from ((node, names[0]) for node in (ast.walk(tree) if names else ()))


def _writes_to(node, own):
    """Whether a node assigns to attributes of an object, or changes the lists and dicts that it holds."""
    if isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, (ast.Store, ast.Del)):
        return _root(node) == own
    called = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    return called and changes_container(node.func.attr) and _root(node.func) == own


def _root(node):
    """The name that a.b[0].c begins with."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return getattr(node, "id", None)


def _can_be_compiled(obj, make_program):
    """Whether the class and what the object holds now are of the language: tried in a program of its own."""
    trial, cls = make_program(), type(obj)
    try:
        spec = trial.class_spec(cls)
        if spec is None:
            return False
        for fn in vars(cls).values():
            if inspect.isfunction(fn) and fn.__name__ != "__init__" and not spec.is_generated(fn.__name__):
                trial.method_of(spec, fn)
        made = trial.native().create(spec.name)
        for name in spec.attributes:
            made.set(name, getattr(obj, name))
    except (CompileError, TypeError, AttributeError, RuntimeError):
        return False
    return True
