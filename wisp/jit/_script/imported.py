"""Functions and modules that were compiled before and have no source here: traced, or loaded from a file.

Their program's text becomes a part of the new program, with other names where these are taken.
"""

import inspect
import json
import re

from wisp.jit._module import RecursiveScriptModule
from wisp.jit._names import without_shapes
from wisp.jit._script import types as T
from wisp.jit._script.annotations import Parameter
from wisp.jit._script.source import Source

_STRING = re.compile(r'("(?:[^"\\]|\\.)*")')
_NAMED = re.compile(r"prim::(?:CallFunction|CreateObject)\[name=$")
_CLASS = re.compile(r"__wisp__\.[\w.]+")


def plain_type(text, classes):
    """The type of a text, without what it says of shapes."""
    text = without_shapes(text)
    if _CLASS.fullmatch(text):
        return classes[text].type
    return T.from_schema(text)


class ImportedFunction:
    """A function of another program, as functions of this one call it."""

    def __init__(self, name, function, classes):
        self.name, self.shown = name, function.name
        self.params = [Parameter(n, plain_type(t, classes), default if has_default else inspect.Parameter.empty)
                       for n, t, has_default, default in function.params]  # fmt: skip
        outputs = [plain_type(value.type, classes) for value in function.graph.outputs()]
        self.result = outputs[0] if len(outputs) == 1 else T.tuple_of(outputs)
        self.function = function

    def result_type(self, emitter):
        return self.result


class ImportedSpec:
    """The class of a module of another program."""

    is_imported = True
    python_class = RecursiveScriptModule

    def __init__(self, name, bare, others):
        self.name, self.bare, self.others = name, bare, others
        self.type = T.class_of(name, self)
        parts = {n: bare.part(n) for n, _, _ in bare.attributes()}
        self.children = {n: None for n, part in parts.items() if part is not None and part.is_module}

    def part(self, name):
        """The class of an object among the attributes, or None."""
        found = self.bare.part(name)
        return None if found is None else ImportedSpec(self.others.names[found.class_name], found, self.others)

    def instantiate(self, native, made, module):
        return _copied(native, module._c, self.others.names, made)


def _copied(native, bare, names, made):
    """An object like another, of a class of this program; tensors are shared."""
    if bare in made:
        return made[bare]
    obj = made[bare] = native.create(names[bare.class_name])
    for name, _, _ in bare.attributes():
        part = bare.part(name)
        obj.set(name, bare.get(name) if part is None else _copied(native, part, names, made))
    return obj


class Imported:
    """The text of another program inside of this one."""

    def __init__(self, program, native):
        text, tensors = native.to_text()
        self.names, self.classes, self._sources = {}, {}, {}
        self._tensors = [program.tensors.add(tensor) for tensor in tensors]
        lines = text.split("\n")
        for line in lines:
            found = re.match(r"(class|function) (\S+) ", line)
            if found:
                self.names[found[2]] = program.fresh_name(found[2])
            elif line.startswith("source "):
                self._add_source(program, line)
        self.text = "\n".join(self._renamed(line) for line in lines[1:] if not line.startswith("source "))

    def _add_source(self, program, line):
        decoder, rest = json.JSONDecoder(), line.split(" ", 2)
        file, end = decoder.raw_decode(rest[2])
        first, _, quoted = rest[2][end:].strip().partition(" ")
        self._sources[rest[1]] = program.source_number(Source(file, int(first), json.loads(quoted)))

    def _renamed(self, line):
        found = re.match(r"(function |  method \S+ )(\S+)(.*)", line)
        if found:
            return found[1] + self.names[found[2]] + found[3]
        parts = _STRING.split(line)
        for i, part in enumerate(parts):
            if i % 2:  # a string
                if _NAMED.search(parts[i - 1]):
                    parts[i] = json.dumps(self.names[json.loads(part)])
                continue
            part = _CLASS.sub(lambda m: self.names.get(m[0], m[0]), part)
            part = re.sub(r"# @(\d+) ", lambda m: f"# @{self._sources[m[1]]} ", part)
            parts[i] = re.sub(r"<tensor (\d+)>", lambda m: f"<tensor {self._tensors[int(m[1])]}>", part)
        return "".join(parts)


class Imports:
    """The other programs that a program uses."""

    def __init__(self, program):
        self.program, self._known, self._functions, self._specs = program, [], {}, {}

    def _of(self, native):
        for known, imported in self._known:
            if known == native or known is native:
                return imported
        imported = Imported(self.program, native)
        self._known.append((native, imported))
        return imported

    def function(self, script_function):
        """The imported form of a compiled function."""
        if script_function not in self._functions:
            bare = script_function._c
            imported = self._of(bare.program)
            self._functions[script_function] = ImportedFunction(imported.names[bare.name], bare, {})
        return self._functions[script_function]

    def spec(self, module):
        """The imported class of a compiled module."""
        if module not in self._specs:
            bare = module._c
            imported = self._of(bare.program)
            self._specs[module] = ImportedSpec(imported.names[bare.class_name], bare, imported)
        return self._specs[module]

    def texts(self):
        return [imported.text for _, imported in self._known]
