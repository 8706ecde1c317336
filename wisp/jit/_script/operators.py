"""Calls of operators of the table: which overload fits, and arguments as its schema wants them."""

from ast import literal_eval

from wisp import _C
from wisp.jit._script import ir
from wisp.jit._script import types as T
from wisp.jit._script.tables import FACTORY
from wisp.jit._script.values import NONE, Const, Iterable, Tuple

_SIMPLE = {"str": T.STR, "Dtype": T.DTYPE, "Layout": T.LAYOUT, "MemoryFormat": T.MEMORY_FORMAT, "Generator": T.GENERATOR,
           "bool": T.BOOL}  # fmt: skip
_ITEMS = {
    "int[]": T.INT,
    "float[]": T.FLOAT,
    "Tensor[]": T.TENSOR,
    "Tensor...": T.TENSOR,
    "Tensor?[]": T.optional_of(T.TENSOR),
}
_SELF = ("input", "x", "a", "x1")
_OTHER_NAMES = {"axis": "dim", "keepdims": "keepdim", "x2": "other"}
_IGNORED = {"layout", "pin_memory", "names"}  # accepted and without effect, as in Python
_WORDS = {"contiguous_format": _C.contiguous_format, "preserve_format": _C.preserve_format}


class Operators:
    """Emits nodes of the table's operators."""

    def operator(self, name, *arguments):
        """Calls an operator by its full name, with arguments in the order of the schema."""
        return self.call_operator([self.program.tables.named(name)], False, False, arguments, {}, name)

    def call_operator(self, overloads, in_place, method, arguments, keywords, shown):
        """Calls the first overload that fits the arguments; a tensor stands for a number only if nothing else fits."""
        special = {k: v for k, v in keywords.items() if k in ("out", "requires_grad", *_IGNORED)}
        if not any(p.name in special for op in overloads for p in op.params):
            keywords = {k: v for k, v in keywords.items() if k not in special}
        out = special.pop("out", NONE)
        if not self._is_none(out):
            result = self.call_operator(overloads, in_place, method, arguments, {**keywords, **special}, shown)
            return self._write_out(result, out, shown)
        for implicit in (False, True):
            for op in overloads:
                bound = self._bind(op, method, arguments, keywords, implicit)
                if bound is not None:
                    return self._emit_operator(op, in_place, bound, special)
        if not keywords and self._builtin_fits(shown, arguments):
            return self.builtin(shown, *arguments)
        given = [T.shown(self.type_of(a)) if self.type_of(a) else self.what_is(a) for a in arguments]
        given += [
            f"{k}: {T.shown(self.type_of(v)) if self.type_of(v) else self.what_is(v)}" for k, v in keywords.items()
        ]
        expected = "".join(f"\n  {op.schema}" for op in overloads)
        return self.fail(
            f"Arguments for call are not valid: {shown}() cannot be called with ({', '.join(given)}). Expected one of:{expected}"
        )

    def _builtin_fits(self, name, arguments):
        """Whether a function of plain values has the name of an operator, and takes these."""
        types = list(map(self.type_of, arguments))
        return None not in types and self._schema_for(name, types)[0] is not None

    def known_function(self, name, arguments):
        """A call of what graphs know by a name."""
        found = self.program.tables.overloads(name, "internal")
        if not found or self._builtin_fits(name, arguments):
            return self.builtin(name, *arguments)
        return self.call_operator(found, False, False, arguments, {}, name)

    def _write_out(self, result, out, shown):
        """Copies results into the tensors of out=, as they are."""
        if isinstance(result, Tuple):
            targets = self.items_of(out, len(result.items), None)
            parts = [self._write_out(*pair, shown) for pair in zip(result.items, targets)]
            return Tuple(parts, result.name, result.fields)
        if self.type_of(result) != T.TENSOR or self.type_of(out) != T.TENSOR:
            self.unsupported(f"out= of {shown}()", "Use the result.")
        self.builtin("_check_out", result, out)
        return self.call_operator(*self.program.tables.method("copy_"), True, [out, result], {}, "copy_")

    @staticmethod
    def _is_none(value):
        return isinstance(value, Const) and value.obj is None

    # --- which argument is which parameter

    def _bind(self, op, method, arguments, keywords, implicit):
        """Arguments by parameter, or None if they do not fit. Nothing is emitted."""
        positional = self._positional(op, method)
        varargs = self._varargs_place(positional)
        bound = {}
        for i, argument in enumerate(arguments):
            if i == varargs and self._starts_rest(argument, positional[i]):
                rest = Tuple(arguments[i:])
                if not self._fits(rest, positional[i], implicit):
                    return None
                bound[positional[i].name] = rest
                break
            if i >= len(positional) or not self._fits(argument, positional[i], implicit):
                return None
            bound[positional[i].name] = argument
        for name, argument in keywords.items():
            param = self._named_param(op, name)
            if param is None or param.name in bound or not self._fits(argument, param, implicit):
                return None
            bound[param.name] = argument
        missing = [p for p in op.params if p.name not in bound and p.default is None]
        return None if missing else bound

    @staticmethod
    def _positional(op, method):
        params = [p for p in op.params if not p.keyword_only]
        if not method:
            return params
        own = next((p for p in op.params if p.name == "self"), op.params[0])
        return [own, *(p for p in params if p is not own)]

    @staticmethod
    def _varargs_place(positional):
        """Where sizes, or tensors, may be given one by one."""
        for at, param in enumerate(positional):
            if param.variadic:
                return at
            if param.type in ("Tensor", "Tensor|Scalar", "str"):
                continue
            return at if param.type == "int[]" and param.size == 0 else None
        return None

    def _starts_rest(self, argument, param):
        found = self.type_of(argument)
        return found == (T.TENSOR if param.variadic else T.INT)

    @staticmethod
    def _named_param(op, name):
        for param in op.params:
            if param.name == name or (param.name == "self" and name in _SELF) or _OTHER_NAMES.get(name) == param.name:
                return param
        return None

    # --- whether a value fits

    def _fits(self, value, param, implicit):
        if param.type in ("True", "False"):
            return isinstance(value, Const) and value.obj is (param.type == "True")
        found = self.type_of(value)
        if isinstance(value, Iterable):
            return param.type in ("int[]", "Tensor[]", "Tensor...")
        if found is None:
            return (
                param.type.endswith("[]") and isinstance(value, Tuple) and self._fits_list(value, None, param, implicit)
            )
        if found == T.NONE:
            return param.optional
        if found.kind == "optional":
            return param.optional and self._fits_type(found.items[0], param, implicit)
        if param.type in _ITEMS:
            return self._fits_list(value, found, param, implicit)
        return self._fits_type(found, param, implicit)

    def _fits_type(self, found, param, implicit):
        tensor, number = found == T.TENSOR, found in T.NUMBERS
        if param.type == "Tensor":
            return tensor
        if param.type == "Tensor|Scalar":
            return tensor or number
        if param.type in ("Scalar", "float"):
            return number and not (param.type == "float" and found == T.COMPLEX) or (tensor and implicit)
        if param.type == "int":
            return found == T.INT or (implicit and (tensor or found == T.NUMBER))
        if param.type == "Device":
            return found in (T.DEVICE, T.STR)
        if param.type in _ITEMS:
            return found.kind == "list" and self._fits_item(found.items[0], param, implicit)
        return found == _SIMPLE.get(param.type)

    @staticmethod
    def _fits_item(found, param, implicit):
        wanted = _ITEMS[param.type]
        if wanted == T.FLOAT:
            return found in T.NUMBERS
        if wanted == T.INT:
            return found == T.INT or (implicit and found in (T.TENSOR, T.NUMBER))
        return T.is_subtype(found, wanted)

    def _fits_list(self, value, found, param, implicit):
        if isinstance(value, Tuple):
            types = [self.type_of(item) for item in value.items]
        elif found.kind == "tuple":
            types = found.items
        elif found.kind == "list":
            empty = isinstance(value, Const) and not value.obj
            return empty or self._fits_item(found.items[0], param, implicit)
        else:
            return param.type == "int[]" and param.size > 0 and self._fits_item(found, param, implicit)
        return all(t is not None and self._fits_item(t, param, implicit) for t in types)

    # --- emitting

    def _emit_operator(self, op, in_place, bound, special):
        inputs = [self._argument(bound[p.name], p) if p.name in bound else self._default(p) for p in op.params]
        outputs = self.emit(op.node_name(in_place), inputs, op.result)
        if not outputs:
            return NONE
        if len(outputs) > 1:
            return Tuple(outputs, op.base if op.fields else "", op.fields)
        wants_grad = special.get("requires_grad")
        if (
            op.traits & FACTORY
            and wants_grad is not None
            and not (isinstance(wants_grad, Const) and not wants_grad.obj)
        ):
            return self.builtin("requires_grad_", outputs[0], wants_grad)
        return outputs[0]

    def _argument(self, value, param):
        """A value as a parameter takes it."""
        if self.type_of(value) == T.NONE:
            return self.materialize(NONE)
        if param.type in _ITEMS:
            return self._list_argument(value, param)
        if param.type in ("Tensor|Scalar", "Tensor"):
            return self.materialize(value)
        found = self.type_of(value)
        if param.type == "Scalar":
            return self.builtin("item", value) if found == T.TENSOR else self.materialize(value)
        if param.type == "float":
            return self._float_argument(value, found)
        wanted = {"int": T.INT, "Device": T.DEVICE, "True": T.BOOL, "False": T.BOOL}.get(param.type) or _SIMPLE[
            param.type
        ]
        return self.convert(value, T.optional_of(wanted) if found.kind == "optional" else wanted)

    def _float_argument(self, value, found):
        if found.kind == "optional":
            return self.materialize(value) if found.items[0] == T.FLOAT else self.convert(value, T.optional_of(T.FLOAT))
        return self.builtin("Float", value) if found == T.TENSOR else self.as_number(value, T.FLOAT)

    def _list_argument(self, value, param):
        wanted = T.list_of(_ITEMS[param.type])
        found = self.type_of(value)
        if self.is_static(value) and param.type in ("int[]", "float[]"):
            return self._constant_list(self.static(value), param)
        if param.size and found is not None and found.kind not in ("list", "tuple", "optional"):
            value = Tuple([self.convert(value, T.INT)] * param.size)
        if found is not None and found.kind == "optional":
            return self.materialize(value)
        if found is not None and found.kind == "list" and found != wanted:
            return self.converted_list(self.materialize(value), wanted.items[0])
        return self.convert(value, wanted)

    def _constant_list(self, obj, param):
        obj = [obj] * param.size if not isinstance(obj, (tuple, list)) else obj
        obj = [(float if param.type == "float[]" else int)(item) for item in obj]
        return self.graph.constant(T.list_of(_ITEMS[param.type]), ir.constant_text(obj, None), self.place())

    def converted_list(self, value, item):
        """A list with its items converted."""
        made = self.emit_one("prim::ListConstruct", [], T.list_of(item))

        def body(index):
            self.builtin("append", made, self.convert(self.builtin("__getitem__", value, index), item))
            return Const(True)

        self.loop([], [], self.builtin("len", value), Const(True), body)
        return made

    def _default(self, param):
        text = param.default
        value = _WORDS[text] if text in _WORDS else literal_eval(text)
        if value is None:
            return self.materialize(NONE)
        if param.type in ("int[]", "float[]"):
            return self._constant_list(value, param)
        if param.type == "float":
            value = float(value)
        return self.materialize(Const(value))
