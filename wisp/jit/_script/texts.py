"""Texts with values in them: f-strings, and formatting with %."""

import ast
import re
import string

from wisp.jit._script import types as T
from wisp.jit._script.values import Const, Tuple

_FIELD = re.compile(
    r"%(?:\((?P<name>[^)]*)\))?(?P<flags>[-+ #0]*)(?P<width>\d*)(?:\.(?P<precision>\d*))?[hlL]?(?P<kind>.)"
)


class Texts:
    """Puts values into texts."""

    def on_JoinedStr(self, node, hint):
        """An f-string: the text with braces, and the values for them."""
        pattern, values = "", []
        for part in node.values:
            if isinstance(part, ast.Constant):
                pattern += part.value.replace("{", "{{").replace("}", "}}")
                continue
            spec = self._spec(part.format_spec)
            conversion = "" if part.conversion < 0 else "!" + chr(part.conversion)
            pattern += "{" + conversion + (":" + spec if spec else "") + "}"
            values.append(self.expression(part.value))
        self.at = node
        if all(map(self.is_static, values)):
            return self.folded(pattern.format, *map(self.static, values))
        return self.builtin("format", Const(pattern), *map(self.formatted, values))

    def _spec(self, node):
        if node is None:
            return ""
        spec = self.expression(node)
        if not isinstance(spec, Const):
            self.unsupported("a width or precision that is not constant", "Use rjust(), ljust() or round().", node)
        return spec.obj

    def formatted(self, value):
        """A value for a text; what has no place in the graph is text already."""
        if isinstance(value, Const) and self.type_of(value) is None:
            return Const(str(value.obj))
        kind = self.type_of(value)
        return self.to_string(value) if kind is not None and kind.kind == "class" else value

    def format_by_name(self, pattern, values, keywords, node):
        """pattern.format(name=...), by the numbers of its values."""
        numbers = {name: str(len(values) + i) for i, name in enumerate(keywords)}
        text = "".join(self._numbered(*part, numbers, node) for part in string.Formatter().parse(pattern))
        return self.builtin("format", Const(text), *map(self.formatted, [*values, *keywords.values()]))

    def _numbered(self, text, field, spec, conversion, numbers, node):
        if field is None:
            return _escaped(text)
        if field and not field.isdigit() and field not in numbers:
            self.fail(f"format(): there is no value for the field '{field}'", node)
        conversion, spec = "!" + conversion if conversion else "", ":" + spec if spec else ""
        return _escaped(text) + "{" + numbers.get(field, field) + conversion + spec + "}"

    def percent(self, pattern, values, node):
        """pattern % values, as the format() that says the same."""
        items = values.items if isinstance(values, Tuple) else None
        if items is None and isinstance(values, Const) and isinstance(values.obj, tuple):
            items = [self.wrap(item) for item in values.obj]
        if items is None:
            found = self.type_of(values)
            items = self.items_of(values, None, node) if found is not None and found.kind == "tuple" else [values]
        if not isinstance(pattern, Const):
            return self.builtin("percent", pattern, *map(self.formatted, items))
        text, given, at = "", [], 0
        for field in _FIELD.finditer(pattern.obj):
            text += _escaped(pattern.obj[at : field.start()])
            at = field.end()
            if field["kind"] == "%":
                text += "%"
                continue
            if len(given) == len(items):
                self.fail("not enough arguments for format string", node)
            made, value = self._percent_field(field, items[len(given)], node)
            text += made
            given.append(value)
        if len(given) != len(items):
            self.fail("not all arguments converted during string formatting", node)
        if "%" in pattern.obj[at:]:
            self.fail("incomplete format", node)
        return self.builtin("format", Const(text + _escaped(pattern.obj[at:])), *map(self.formatted, given))

    def _percent_field(self, field, value, node):
        """A field in braces, and the value for it."""
        kind, flags = field["kind"], field["flags"]
        if field["name"] is not None or kind not in "sradiufFeEgGxXoc":
            self.unsupported(f"the field {field[0]!r} of a format", "Use an f-string or str.format().", node)
        precision = "" if field["precision"] is None else "." + (field["precision"] or "0")
        width = ("<" if "-" in flags else ">" if kind in "srac" else "") + field["width"] if field["width"] else ""
        if kind in "sra":
            return "{!" + kind + (":" + width + precision if width or precision else "") + "}", value
        signs = "".join(c for c in "+ #" if c in flags)
        zero = "0" if "0" in flags and "-" not in flags else ""
        align, digits = (width[:1], width[1:]) if width[:1] in ("<", ">") else ("", width)
        found = self.type_of(value)
        if kind == "c" and found == T.STR:
            return "{:" + (align or ">") + digits + "}" if digits else "{}", value
        if kind in "diuxXoc":
            if found != T.TENSOR and found not in T.NUMBERS:
                self.fail(f"%{kind} needs a number, and is given {self.what_is(value)}", node)
            value = self.builtin("Int", value) if found == T.TENSOR else self.as_number(value, T.INT)
            kind = "d" if kind in "iu" else kind
        elif self.type_of(value) == T.TENSOR:
            value = self.builtin("Float", value)
        elif self.type_of(value) in T.NUMBERS:
            value = self.as_number(value, T.FLOAT)
        else:
            self.fail(f"%{kind} needs a number, and is given {self.what_is(value)}", node)
        return "{:" + align + signs + zero + digits + precision + kind + "}", value


def _escaped(text):
    return text.replace("{", "{{").replace("}", "}}")
