"""Tensors: their attributes, the methods that are no operators of the table, and indexing."""

import ast

from wisp import _C
from wisp.jit._script import ir
from wisp.jit._script import types as T
from wisp.jit._script.values import FALSE, NONE, TRUE, Attribute, Const, Slice, Tuple

_QUESTIONS = ("dtype", "device", "layout", "requires_grad", "is_leaf", "is_meta", "is_cpu")
_NEVER = ("is_cuda", "is_xpu", "is_mps", "is_sparse", "is_sparse_csr", "is_quantized", "is_nested", "is_mkldnn", "is_xla",
          "is_ipu", "is_vulkan", "is_maia", "is_mtia")  # fmt: skip
_ASKED = ("dim", "numel", "stride", "is_floating_point", "is_complex", "is_signed", "is_same_size", "storage_offset",
          "element_size", "item")  # fmt: skip
_DTYPES = {
    "float": _C.float32, "double": _C.float64, "half": _C.float16, "bfloat16": _C.bfloat16, "long": _C.int64,
    "int": _C.int32, "short": _C.int16, "char": _C.int8, "byte": _C.uint8, "bool": _C.bool, "cfloat": _C.complex64,
    "cdouble": _C.complex128,
}  # fmt: skip
_SAME = {"ndimension": "dim", "nelement": "numel"}
_ITSELF = ("cpu", "resolve_conj", "resolve_neg", "cuda")


class Tensors:
    """What tensors can do besides the operators."""

    def tensor_attribute(self, value, name, node):
        if name in _QUESTIONS:
            return self.builtin(name, value)
        if name in _NEVER:
            return FALSE
        if name == "shape":
            return self.builtin("size", value)
        if name == "ndim":
            return self.builtin("dim", value)
        if name == "itemsize":
            return self.builtin("element_size", value)
        if name == "nbytes":
            return self.builtin("mul.int", self.builtin("numel", value), self.builtin("element_size", value))
        if name in ("mT", "mH", "T", "H"):
            return self._transposed(value, name)
        if name == "data":
            return self.operator("detach", value)
        if name in ("real", "imag"):
            return self.operator(name, value)
        if name == "grad":
            return self.builtin("grad", value)
        if name == "grad_fn":
            self.unsupported("'grad_fn' of a tensor", "Use autograd.grad(), or read it outside of the script.", node)
        if not hasattr(_C.Tensor, name):
            self.fail(f"'Tensor' object has no attribute or method '{name}'", node)
        return Attribute(value, name)

    def on_tensor___getitem__(self, value, arguments, keywords):
        if len(arguments) != 1 or keywords:
            self.fail(f"__getitem__() expected exactly 1 argument, got {len(arguments)}")
        return self.get_item(value, arguments[0], self.at)

    def _transposed(self, value, name):
        turned = (
            self.operator("transpose", value, Const(-2), Const(-1)) if name[0] == "m" else self.operator("t", value)
        )
        return self.operator("conj", turned) if name[-1] == "H" else turned

    def tensor_method(self, value, name, arguments, keywords):
        """Calls a method of a tensor."""
        handler = getattr(self, f"on_tensor_{name}", None)
        if handler is not None:
            return handler(value, arguments, keywords)
        name = _SAME.get(name, name)
        if name in _ASKED:
            return self.builtin(name, value, *arguments, *keywords.values())
        if name in _DTYPES and not arguments:
            return self.to_dtype(value, Const(_DTYPES[name]), keywords)
        if name in _ITSELF:
            return value
        found = self.program.tables.method(name)
        if found is not None:
            return self.call_operator(*found, True, [value, *arguments], keywords, f"Tensor.{name}")
        function = getattr(_C.Tensor, name, None)
        if hasattr(function, "__code__"):
            return self.call_library(function, [value, *arguments], keywords)
        return self.fail(f"the method '{name}' of tensors cannot be called in a script")

    def to_dtype(self, value, dtype, keywords=None):
        keywords = keywords or {}
        op = self.program.tables.overloads("to", "internal")
        return self.call_operator(op, False, True, [value], {"dtype": dtype, **keywords}, "Tensor.to")

    def on_tensor_size(self, value, arguments, keywords):
        return self.builtin("size", value, *arguments, *keywords.values())

    def on_tensor_to(self, value, arguments, keywords):
        """x.to(dtype), x.to(device, dtype), x.to(other)."""
        given, rest = {}, list(arguments)
        if rest and self.type_of(rest[0]) == T.TENSOR:
            other = rest.pop(0)
            given = {"dtype": self.builtin("dtype", other), "device": self.builtin("device", other)}
        while rest and (kind := self._to_kind(rest[0])) is not None and kind not in given:
            given[kind] = rest.pop(0)
        for name, argument in zip(("non_blocking", "copy"), rest):
            given[name] = argument
        op = self.program.tables.overloads("to", "internal")
        return self.call_operator(op, False, True, [value], {**given, **keywords}, "Tensor.to")

    def _to_kind(self, value):
        found = self.type_of(value)
        kind = T.without_none(found) if found is not None else None
        return {T.DTYPE: "dtype", T.DEVICE: "device", T.STR: "device"}.get(kind)

    def on_tensor_type_as(self, value, arguments, keywords):
        return self.to_dtype(value, self.builtin("dtype", arguments[0]))

    def on_tensor_type(self, value, arguments, keywords):
        if not arguments and not keywords:
            self.unsupported("type() of a tensor", "Use its dtype.")
        return self.to_dtype(value, [*arguments, *keywords.values()][0])

    def on_tensor_is_contiguous(self, value, arguments, keywords):
        form = [*arguments, *keywords.values()] or [Const(_C.contiguous_format)]
        return self.builtin("is_contiguous", value, *form)

    def on_tensor_requires_grad_(self, value, arguments, keywords):
        return self.builtin("requires_grad_", value, *([*arguments, *keywords.values()] or [TRUE]))

    def on_tensor_detach_(self, value, arguments, keywords):
        return self.builtin("detach_", value)

    def on_tensor_is_conj(self, value, arguments, keywords):
        return FALSE

    on_tensor_is_neg = on_tensor_is_conj

    def _not_in_place(self, value, arguments, keywords):
        self.unsupported("giving a tensor another size or other memory in place (resize_(), set_())",
                         "Use reshape(), a slice or a new tensor.")  # fmt: skip

    on_tensor_resize_ = on_tensor_resize_as_ = on_tensor_set_ = _not_in_place

    def on_tensor_is_nonzero(self, value, arguments, keywords):
        return self.builtin("Bool", value)

    def on_tensor_get_device(self, value, arguments, keywords):
        return Const(-1)

    def on_tensor_new_tensor(self, value, arguments, keywords):
        keywords.setdefault("dtype", self.builtin("dtype", value))
        return self.make_tensor(arguments, keywords)

    def on_tensor_tolist(self, value, arguments, keywords):
        return self.fail(
            "tolist() needs to know its type: x: List[float] = t.tolist(), or annotate(List[float], t.tolist())"
        )

    def tolist(self, value, hint):
        """tolist() where its type is known."""
        depth, inner = 0, hint
        while inner.kind == "list":
            depth, inner = depth + 1, inner.items[0]
        return self.builtin(f"tolist.{inner}{depth}", value)

    def make_tensor(self, arguments, keywords):
        """tensor(data, dtype=None, device=None, requires_grad=False)"""
        names = ("data", "dtype", "device", "requires_grad")
        given = {**dict(zip(names, arguments)), **{k: v for k, v in keywords.items() if k in names}}
        device = given.get("device", NONE)
        device = NONE if self.type_of(device) == T.NONE else self.convert(device, T.optional_of(T.DEVICE))
        return self.builtin(
            "tensor", given["data"], given.get("dtype", NONE), device, given.get("requires_grad", FALSE)
        )

    # --- indexing

    def index(self, node):
        """What stands in brackets: a value, or a syntax node for slices and tuples with slices."""
        if isinstance(node, ast.Slice):
            return slice(
                *(None if part is None else self.expression(part) for part in (node.lower, node.upper, node.step))
            )
        if isinstance(node, ast.Tuple):
            items = []
            for item in node.elts:
                if isinstance(item, ast.Starred):
                    items += self.items_of(self.expression(item.value), None, item)
                else:
                    items.append(self.index(item))
            return items
        return self._as_slice(self.expression(node))

    @staticmethod
    def _as_slice(value):
        """What slice() has made, as the same between colons."""
        if isinstance(value, Slice):
            return slice(value.start, value.stop, value.step)
        if isinstance(value, Const) and isinstance(value.obj, slice):
            found = value.obj
            return slice(*(None if end is None else Const(end) for end in (found.start, found.stop, found.step)))
        return value

    def tensor_item(self, value, index):
        """value[index]"""
        view, indices = self._plan(value, index)
        if not indices:
            return self.operator("alias", view) if view is value else view
        return self.operator("index", view, self._index_list(view, indices))

    def _plan(self, value, index):
        """(what views can do of an index, tensors for the dimensions that they cannot)."""
        items = self._index_items(index)
        indices, dim, behind = {}, 0, False
        for place, item in enumerate(items):
            rest = sum(1 for other in items[place:] if self._consumes(other))
            if behind:  # counted from the end
                dim = -rest - (0 if self._consumes(item) else 1)
            if isinstance(item, Const) and item.obj is Ellipsis:
                behind = True
            elif isinstance(item, slice):
                value = self._sliced(value, dim, item)
                dim += 1
            elif isinstance(item, Const) and item.obj is None:
                value = self.operator("unsqueeze", value, Const(dim))
                dim += 1
            elif self.type_of(item) == T.INT:
                value = self.operator("select", value, Const(dim), item)
            else:
                kept = sum(1 for other in items[place:] if isinstance(other, slice) or self.type_of(other) != T.INT)
                indices[-kept if behind else dim] = self._index_tensor(item)
                dim += 1
        return value, indices

    def _index_items(self, index):
        if isinstance(index, list):
            return index
        if isinstance(index, Tuple):
            return index.items
        if isinstance(index, Const) and isinstance(index.obj, tuple):
            return [self.wrap(item) for item in index.obj]
        if self.is_static(index) and isinstance(self.static(index), slice):
            return [
                slice(*(None if p is None else Const(p) for p in (index.obj.start, index.obj.stop, index.obj.step)))
            ]
        return [index]

    @staticmethod
    def _consumes(item):
        return isinstance(item, slice) or not (isinstance(item, Const) and item.obj in (None, Ellipsis))

    def _sliced(self, value, dim, part):
        start, stop, step = (self._slice_end(p) for p in (part.start, part.stop, part.step))
        if all(isinstance(p, Const) and p.obj is None for p in (start, stop, step)):
            return value
        step = Const(1) if isinstance(step, Const) and step.obj is None else step
        return self.operator("slice", value, Const(dim), start, stop, step)

    def _slice_end(self, part):
        if part is None:
            return NONE
        if self.type_of(part) == T.TENSOR:
            return self.builtin("Int", part)
        return part

    def _index_tensor(self, item):
        found = self.type_of(item)
        if found == T.TENSOR:
            return self.materialize(item)
        if found is not None and found.kind in ("list", "tuple"):
            empty = isinstance(item, ir.Value) and item.is_new
            return self.make_tensor([item], self._index_dtype(T.INT if empty else found))
        return self.fail(f"{self.what_is(item)} cannot be an index: use ints, slices, None, ... and tensors")

    @staticmethod
    def _index_dtype(kind):
        """What a list makes as an index: one that is empty does not say it itself."""
        while kind.kind == "list":
            kind = kind.items[0]
        return {"dtype": Const({T.INT: _C.int64, T.BOOL: _C.bool}[kind])} if kind in (T.INT, T.BOOL) else {}

    def _index_list(self, view, indices):
        """Tensors by dimension, which are counted from the front or from the end, as a list."""
        wanted = T.list_of(T.optional_of(T.TENSOR))
        first, in_front = min(indices), [NONE] * (max(indices) + 1)
        items = [indices.get(i, NONE) for i in (range(first, 0) if first < 0 else range(len(in_front)))]
        if first < 0:  # room for those in front of ...
            items = [*in_front, *items]
        made = self.emit_one("prim::ListConstruct", [self.materialize(i) for i in items], wanted)
        if first >= 0:
            return made
        made = self.builtin("_indices_at_end", view, made)
        for i in range(len(in_front)):
            if i in indices:
                self.builtin("_set_item", made, Const(i), self.convert(indices[i], wanted.items[0]))
        return made

    def put_tensor_item(self, owner, index, value):
        """owner[index] = value"""
        view, indices = self._plan(owner, index)
        found = self.type_of(value)
        if found is not None and found.kind in ("list", "tuple"):
            value = self.make_tensor([value], {})
            found = T.TENSOR
        if indices:
            if found == T.TENSOR:
                value = self.to_dtype(value, self.builtin("dtype", view))
            else:
                value = self.builtin("tensor.like", value, view)
            self.tensor_method(view, "index_put_", [self._index_list(view, indices), value], {})
        elif found == T.TENSOR:
            self.tensor_method(view, "copy_", [self.builtin("_without_leading_ones", value, view)], {})
        else:
            self.tensor_method(view, "fill_", [value], {})

    def augment_tensor_item(self, owner, index, node, operand):
        """owner[index] op= operand: through a view if there is one."""
        view, indices = self._plan(owner, index)
        if not indices:
            self.at = node
            self.augmented(node.op, view, operand, node)
            return
        places = self._index_list(view, indices)
        result = self.binary(node.op, self.operator("index", view, places), operand, node)
        self.tensor_method(view, "index_put_", [places, result], {})
