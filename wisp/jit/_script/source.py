"""Reading the source of functions: syntax trees whose nodes know where they stand."""

import ast
import inspect
import linecache
import re
from dataclasses import dataclass, field
from functools import partial

from wisp.jit._script.errors import FrontendError

_LONE_TYPE = re.compile(r"(?m)^(\s*#\s*type):(?!\s*\()")


@dataclass(eq=False)
class Source:
    """The text of a function: what places of nodes point into, in bytes of UTF-8."""

    file: str
    first_line: int
    text: str
    starts: list = field(default_factory=list)  # of the lines

    def __post_init__(self):
        position = 0
        for line in self.text.split("\n"):
            self.starts.append(position)
            position += len(line.encode()) + 1

    def span(self, node):
        """(begin, end) of a syntax node."""
        if not hasattr(node, "lineno"):
            return 0, 0
        return self.starts[node.lineno - 1] + node.col_offset, self.starts[node.end_lineno - 1] + node.end_col_offset


def read_lines(obj, name):
    """(lines, number of the first line, file) of a function or class."""
    try:
        lines, number = inspect.getsourcelines(obj)
        return lines, number, inspect.getsourcefile(obj)
    except (OSError, TypeError, IndexError):
        linecache.checkcache()
    try:
        lines, number = inspect.getsourcelines(obj)
        return lines, number, inspect.getsourcefile(obj)
    except (OSError, TypeError, IndexError) as error:
        raise OSError(
            f"Can't get source for {name}. Scripts are compiled from source: it has to be in a file (or a notebook's cell)."
        ) from error


def _outdented(indent, line):
    """A line as if its function stood at the margin. Lines of texts and comments may stand further left."""
    return line[min(indent, len(line) - len(line.lstrip(" \t"))) :]


def _syntax(text):
    """The syntax tree of a text, with types in comments, but for those on lines where only a signature may stand."""
    try:
        return ast.parse(text, type_comments=True)
    except SyntaxError:
        return ast.parse(_LONE_TYPE.sub(r"\1 ", text), type_comments=True)


def _parsed(text, indent):
    """The statements of an indented text, at the places that they have in the outdented one. What stands inside of
    quotes over several lines keeps its spaces."""
    if indent == 0:
        return _syntax(text).body
    tree = _syntax("if True:\n" + text)
    for node in ast.walk(tree):
        if hasattr(node, "end_lineno"):  # a "type: ignore" is at a line only
            node.lineno, node.end_lineno = node.lineno - 1, node.end_lineno - 1
            node.col_offset, node.end_col_offset = (
                max(0, column - indent) for column in (node.col_offset, node.end_col_offset)
            )
    return tree.body[0].body


def parse(obj, name=None):
    """(Source, syntax tree of the function or class)."""
    name = name or getattr(obj, "__qualname__", repr(obj))
    lines, number, file = read_lines(obj, name)
    indent = len(lines[0]) - len(lines[0].lstrip())
    source = Source(file or "<unknown>", number, "".join(map(partial(_outdented, indent), lines)))
    try:
        body = _parsed("".join(lines), indent)
    except SyntaxError as error:
        raise FrontendError(f"{name} cannot be compiled: its source does not parse on its own ({error.msg})") from None
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            return source, node
        found = [n for n in ast.walk(node) if isinstance(n, ast.Lambda)]
        if len(found) == 1:
            return source, found[0]
    raise FrontendError(
        f"{name} cannot be compiled: expected one function, and found something else where it is defined"
    )


def closure_values(fn):
    """The values of a function's free variables by name."""
    cells = fn.__closure__ or ()
    values = {}
    for name, cell in zip(fn.__code__.co_freevars, cells):
        try:
            values[name] = cell.cell_contents
        except ValueError:
            continue
    return values
