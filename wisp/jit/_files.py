"""Files of compiled functions and modules.

A file is in the safetensors layout: eight bytes of length, a JSON header, the data of all tensors. Its tensors are

* the parameters, buffers and other tensors of the modules, by their dotted names (``fc1.weight``),
* ``__program__``: the program as text (bytes of UTF-8), in the form that ``wisp._C._jit.Program.parse`` reads,
* ``__constant__.0`` ...: what that text names as ``<tensor 0>`` ...,
* ``__extra__.name``: extra files.

The metadata has, under ``wisp.jit``, a JSON object:

* ``version``: 1,
* ``function``: the name of the saved function, or ``module``: the number of the saved object and ``name``: of its class,
* ``objects``: a list of ``{"class": name, "attributes": {name: value}}``,
* ``inputs``, which may be missing: ``{method: [values]}``, what methods (or the function) were traced with, or called with
  first. Readers that do not know it lose nothing, so the version stays 1.

A value is null, true, false, a number, a text, or one of ``{"float": "inf"}``, ``{"complex": [re, im]}``, ``{"tensor":
name, "requires_grad": bool, "parameter": bool}``, ``{"object": number}``, ``{"list": [values]}``, ``{"tuple":
[values]}``, ``{"dict": [[key, value], ...]}``, ``{"dtype": name}``, ``{"device": name}``. Among inputs a tensor is
``{"like": dtype, "shape": [sizes]}``, of integers (and bools) also ``"values": [numbers]`` if there are few, else
``"greatest": number``. Under ``wisp.checksums`` are those of the header and of the data.
"""

import io
import json
import math
import re
import warnings
import zlib
from enum import Enum

from wisp import _C
from wisp._C import Tensor, _jit
from wisp.jit._custom_ops import PREFIX, make_known
from wisp.jit._module import RecursiveScriptModule, ScriptFunction
from wisp.nn import Parameter
from wisp.serialization import _format
from wisp.serialization import _safetensors as layout
from wisp.serialization._files import FileError, Source, write

_VERSION = 1
_PROGRAM, _CONSTANT, _EXTRA = "__program__", "__constant__.", "__extra__."
_FEW = 64  # integers of an input that are kept as they are
_MOST_DIMS, _MOST_ELEMENTS = 64, 1 << 40  # of an input
_DOCUMENT, _CHECKSUMS = "wisp.jit", "wisp.checksums"


# --- writing


class _Writer:
    """Collects the objects and tensors of a module."""

    def __init__(self):
        self.blobs, self.objects, self.numbers, self.names = {}, [], {}, {}

    def object(self, bare, path):
        if bare not in self.numbers:
            self.numbers[bare] = len(self.objects)
            attributes = {}
            self.objects.append({"class": bare.class_name, "attributes": attributes})
            for name, _, _ in bare.attributes():
                below = f"{path}.{name}" if path else name
                part = bare.part(name)
                attributes[name] = self.value(bare.get(name), below) if part is None else self.object(part, below)
        return {"object": self.numbers[bare]}

    def tensor(self, tensor, path):
        if id(tensor) not in self.names:
            if tensor.is_meta:
                raise RuntimeError(f"'{path}' cannot be saved: it is on the device 'meta' and has no values")
            self.names[id(tensor)] = path
            self.blobs[path] = tensor
        known = {"tensor": self.names[id(tensor)], "requires_grad": tensor.requires_grad and tensor.is_leaf}
        return {**known, "parameter": isinstance(tensor, Parameter)}

    def value(self, value, path):
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"float": str(value)}
        if isinstance(value, complex):
            return {"complex": [str(value.real), str(value.imag)]}
        if isinstance(value, Tensor):
            return self.tensor(value, path)
        if isinstance(value, Enum):
            value = (value.name, value.value)
        if isinstance(value, (list, tuple)):
            items = [self.value(item, f"{path}.{i}") for i, item in enumerate(value)]
            return {"list" if isinstance(value, list) else "tuple": items}
        if isinstance(value, dict):
            return {"dict": [[self.value(k, path), self.value(v, f"{path}.{k}")] for k, v in value.items()]}
        if isinstance(value, _C.dtype):
            return {"dtype": str(value).rpartition(".")[2]}
        if isinstance(value, _C.device):
            return {"device": str(value)}
        if hasattr(value, "_c"):
            return self.object(value._c, path)
        raise RuntimeError(f"'{path}' cannot be saved: it is a {type(value).__name__}")


class _Described(_Writer):
    """Tells of tensors only what they are like."""

    def tensor(self, tensor, path):
        told = {"like": str(tensor.dtype).rpartition(".")[2], "shape": list(tensor.shape)}
        if tensor.is_floating_point() or tensor.is_complex():
            return told
        if tensor.numel() <= _FEW:
            return told | {"values": tensor.long().flatten().tolist()}
        return told | {"greatest": int(tensor[(0,) * tensor.dim()])}


def _inputs(m):
    """What is known of the arguments of a function, or of a module's methods."""
    if isinstance(m, ScriptFunction):
        functions = {m._c.name: m._c}
    else:
        functions = {name: m._c.method(name) for name in m._c.methods()}
    known = {name: [_Described().value(each, name) for each in f.example] for name, f in functions.items()}
    return {name: values for name, values in known.items() if values}


def _chunks(m, extra):
    """The bytes of a file."""
    if not isinstance(m, (ScriptFunction, RecursiveScriptModule)) and not hasattr(m, "_c"):
        raise TypeError(
            f"expected a compiled function or module, got {type(m).__name__}: see wisp.jit.script and trace"
        )
    bare = m._c if isinstance(m, ScriptFunction) else m._c.united()
    writer, program = _Writer(), bare.program
    document = {"version": _VERSION, "objects": writer.objects}
    if isinstance(m, ScriptFunction):
        document["function"] = m._c.name
    else:
        document |= {"module": writer.object(bare, "")["object"], "name": m.original_name}
    if inputs := _inputs(m):
        document["inputs"] = inputs
    text, constants = _program_text(program)
    if any(not name.startswith(PREFIX) for name in re.findall(r'prim::HostCall\[name="([^"]*)"', text)):
        raise RuntimeError(
            "Could not save this program: it calls a Python function (@ignore), which a file cannot hold. Mark it with "
            "@wisp.jit.unused, or write it so that it can be compiled"
        )
    blobs = {**writer.blobs, _PROGRAM: text.encode()}
    blobs |= {f"{_CONSTANT}{i}": tensor for i, tensor in enumerate(constants)}
    blobs |= {f"{_EXTRA}{name}": _bytes(name, data) for name, data in (extra or {}).items()}
    return _file(blobs, json.dumps(document, separators=(",", ":")))


def _program_text(program):
    """The text of a program, and its constants. Of an autograd.Function that was traced, only forward() can be kept."""
    text, constants = program.to_text()
    if "aten::_gradient_by_host(" not in text:
        return text, constants
    warnings.warn(
        "The trace calls an autograd.Function, whose backward() is Python and cannot be saved: gradients of what is loaded "
        "will be those of the operations that forward() called",
        stacklevel=4,
    )
    kept = _jit.Program()
    kept.set_tensors(constants)
    kept.parse(text)
    for name in kept.functions():
        for tidy in ("host_gradients", "constant_folding", "dead_code"):
            kept.function(name).graph.run_pass(tidy)
    return kept.to_text()


def _bytes(name, data):
    if not isinstance(data, (str, bytes, bytearray)):
        raise TypeError(f"the extra file '{name}' must be a str or bytes, got {type(data).__name__}")
    return data.encode() if isinstance(data, str) else bytes(data)


def _file(blobs, document):
    header = layout.layout({name: _format._dtype_and_shape(blob) for name, blob in blobs.items()})
    data = [blobs[name] if isinstance(blobs[name], bytes) else layout.raw(blobs[name]) for name in header]
    checks = {"header": _format._header_check(header, document), "data": _format._checksum(data)}
    return [layout.head(header, {_DOCUMENT: document, _CHECKSUMS: json.dumps(checks)}), *data]


def save(m, f, _extra_files=None):
    """Saves a compiled function or module.

    Args:
        m: what script() or trace() gave.
        f: a path, which is written atomically, or an object with ``write()``.
        _extra_files: {name: text or bytes} to be kept with it.

    >>> import io
    >>> file = io.BytesIO()
    >>> wisp.jit.save(wisp.jit.trace(lambda x: x + 1, wisp.zeros(1)), file, {"note": "adds one"})
    >>> notes = {"note": ""}
    >>> wisp.jit.load(io.BytesIO(file.getvalue()), _extra_files=notes)(wisp.zeros(1)), notes["note"]
    (tensor([1.]), b'adds one')
    """
    write(f, _chunks(m, _extra_files))


def to_bytes(m, _extra_files=None):
    """What save() writes."""
    file = io.BytesIO()
    save(m, file, _extra_files)
    return file.getvalue()


# --- reading


def _damaged(why):
    return FileError(f"the file is damaged: {why}")


class _Reader:
    """Makes the objects of a file."""

    def __init__(self, reader, document, program, relocate):
        self.reader, self.relocate, self.program = reader, relocate, program
        self.tensors, self.described = {}, document["objects"]
        self.objects = [program.create(_text(each["class"])) for each in self.described]
        for made, each in zip(self.objects, self.described, strict=True):
            self._fill(made, each["attributes"])

    def _fill(self, made, attributes):
        wanted = {name for name, _, _ in made.attributes()}
        if not isinstance(attributes, dict) or attributes.keys() != wanted:
            raise _damaged(f"an object of class {made.class_name} does not have the attributes of its class")
        for name, value in attributes.items():
            made.set(name, self.value(value))

    def tensor(self, name, requires_grad, parameter):
        if name not in self.tensors:
            data = self.relocate(self.reader.tensor(name))
            if parameter:
                made = Parameter(data, requires_grad=bool(requires_grad))
            else:
                made = data.requires_grad_() if requires_grad else data
            self.tensors[name] = made
        return self.tensors[name]

    def value(self, node):
        if node is None or isinstance(node, (bool, int, float, str)):
            return node
        if not isinstance(node, dict) or not node:
            raise _damaged("it holds a value of no known kind")
        kind, content = next(iter(node.items()))
        if kind == "tensor":
            return self.tensor(_text(content), node.get("requires_grad"), node.get("parameter"))
        if kind == "like":
            return _like(_text(content), node)
        if kind == "object":
            return self.objects[content]
        if kind in ("list", "tuple"):
            items = [self.value(item) for item in content]
            return items if kind == "list" else tuple(items)
        if kind == "dict":
            return {self.value(key): self.value(value) for key, value in content}
        return _plain(kind, content)


def _plain(kind, content):
    if kind == "float":
        return float(content)
    if kind == "complex":
        return complex(*map(float, content))
    if kind == "dtype":
        found = getattr(_C, _text(content), None)
        if isinstance(found, _C.dtype):
            return found
    if kind == "device":
        return _C.device(_text(content))
    raise _damaged("it holds a value of no known kind")


def _text(value):
    if not isinstance(value, str):
        raise _damaged("it holds a value of no known kind")
    return value


def _document(reader):
    """The description in the header, its checksums compared."""
    text = reader.metadata.get(_DOCUMENT)
    if text is None:
        raise FileError("the file holds no compiled program: wisp.load() reads files of tensors")
    checks = layout.parse_json(reader.metadata.get(_CHECKSUMS, "null"))
    wanted = {"header": _format._header_check(reader.header, text), "data": zlib.crc32(reader.data())}
    if checks != wanted:
        raise _damaged("it is not what was written")
    document = layout.parse_json(text)
    if not isinstance(document, dict) or type(document.get("version")) is not int:
        raise _damaged("it does not say its version")
    if not 1 <= document["version"] <= _VERSION:
        raise FileError(f"the file has version {document['version']}; this wisp reads versions up to {_VERSION}")
    return document


def _program(reader, relocate):
    program = _jit.Program()
    names = [name for name in reader.entries if name.startswith(_CONSTANT)]
    program.set_tensors([relocate(reader.tensor(f"{_CONSTANT}{i}")) for i in range(len(names))])
    text = _blob(reader, _PROGRAM).decode()
    program.parse(text)
    make_known(text)
    return program


def _blob(reader, name):
    entry = reader.entries[name]
    return bytes(reader.data()[entry.begin : entry.end])


def _relocation(map_location):
    """A function that puts tensors where they are wanted."""
    from wisp.serialization import _relocation

    place = _relocation(map_location)

    def relocate(tensor):
        made = tensor.clone()
        place(made.untyped_storage(), "cpu")  # refuses what does not exist
        return made

    return relocate


def load(f, map_location=None, _extra_files=None, _restore_shapes=False):
    """Loads what save() wrote. No code of the file is run by Python.

    Args:
        f: a path, or an object with ``read()``.
        map_location: where the tensors shall be: the CPU.
        _extra_files: {name: anything}: the values are replaced by the bytes of the extra files of these names.
        _restore_shapes: accepted and ignored.
    """
    if _extra_files is not None and not isinstance(_extra_files, dict):
        raise TypeError(f"_extra_files must be a dict by the names of files, got {type(_extra_files).__name__}")
    source = Source(f, mmap=False)
    if not layout.looks_like_it(source.buffer):
        raise FileError("the file is no compiled program of wisp, or its beginning is damaged")
    reader = layout.Reader(source)
    source.used(reader.end)
    document = _document(reader)
    try:
        made = _made(reader, document, _relocation(map_location))
        for name in list(_extra_files or ()):
            if f"{_EXTRA}{name}" in reader.entries:
                _extra_files[name] = _blob(reader, f"{_EXTRA}{name}")
    except (
        KeyError,
        IndexError,
        TypeError,
        AttributeError,
        OverflowError,
        UnicodeDecodeError,
        RecursionError,
    ) as error:
        raise _damaged(f"{type(error).__name__}: {error}") from error
    return made


def _made(reader, document, relocate):
    program = _program(reader, relocate)
    if "function" in document:
        function = program.function(_text(document["function"]))
        read = _Reader(reader, {"objects": []}, program, relocate)
        for _, values in _known_inputs(document):
            function.example = [read.value(value) for value in values]
        return ScriptFunction(function)
    read = _Reader(reader, document, program, relocate)
    bare = read.objects[document["module"]]
    for name, values in _known_inputs(document):
        bare.method(_text(name)).example = [read.value(value) for value in values]
    return RecursiveScriptModule(bare, _text(document["name"]))


def _known_inputs(document):
    inputs = document.get("inputs", {})
    if not isinstance(inputs, dict) or not all(isinstance(values, list) for values in inputs.values()):
        raise _damaged("it does not say what its inputs are")
    return inputs.items()


def _like(name, node):
    """A tensor like an input, which takes hardly any memory."""
    dtype, shape = _plain("dtype", name), node["shape"]
    if not isinstance(shape, list) or not all(type(size) is int and size >= 0 for size in shape):
        raise _damaged("an input has no shape")
    if len(shape) > _MOST_DIMS or math.prod(size for size in shape if size) > _MOST_ELEMENTS:
        raise _damaged("an input is too large")
    if "values" in node:
        return _C.tensor(node["values"], dtype=dtype).reshape(shape)
    return _C.tensor(int(node.get("greatest", 0)), dtype=dtype).expand(shape)
