"""Gradients that a script asks for: autograd.grad(), backward(), x.grad."""

from wisp import autograd
from wisp.jit._script import types as T
from wisp.jit._script.control import Condition
from wisp.jit._script.values import FALSE, NONE, Tuple

_ASKED = ("outputs", "inputs", "grad_outputs", "retain_graph", "create_graph", "allow_unused")


class Gradients:
    """Runs backward from inside of a script."""

    def handle_grad(self, arguments, keywords, node):
        """autograd.grad(): a list of Optional[Tensor]."""
        given = self._bind_python(autograd.grad, arguments, keywords)
        if any(name not in _ASKED for name in keywords) or len(arguments) > len(_ASKED):
            self.unsupported("grad() with these arguments", f"It takes {', '.join(_ASKED)}.", node)
        keep, create = self._kept(given)
        unused = self._flag(given["allow_unused"], FALSE)
        outputs, inputs = (self._tensors(given[name], T.TENSOR, node) for name in ("outputs", "inputs"))
        return self.builtin(
            "_gradients", keep, create, unused, outputs, inputs, self._weights(given["grad_outputs"], node)
        )

    def handle_backward(self, arguments, keywords, node):
        """autograd.backward()"""
        given = self._bind_python(autograd.backward, arguments, keywords)
        return self._run_backward(given["tensors"], given["grad_tensors"], given, node)

    def on_tensor_backward(self, value, arguments, keywords):
        names = ("gradient", "retain_graph", "create_graph")
        given = {**dict.fromkeys(names, NONE), **dict(zip(names, arguments)), **keywords}
        if len(given) > len(names) or len(arguments) > len(names):
            self.unsupported("backward() with these arguments", f"It takes {', '.join(names)}.")
        return self._run_backward(value, given["gradient"], given, self.at)

    def _run_backward(self, outputs, weights, given, node):
        return self.builtin(
            "_backward", *self._kept(given), self._tensors(outputs, T.TENSOR, node), self._weights(weights, node)
        )

    def _kept(self, given):
        """Whether the graph is kept, and whether the gradients get one."""
        create = self._flag(given["create_graph"], FALSE)
        return self._flag(given["retain_graph"], create), create

    def _flag(self, value, if_none):
        """A bool; of an Optional, what stands for None."""
        found = self.type_of(value)
        if found == T.NONE:
            return if_none
        if found != T.optional_of(T.BOOL):
            return self.convert(value, T.BOOL)
        given = Condition(self.builtin("__isnot__", value, NONE))
        return self.choose(given, lambda: self.emit_one("prim::UncheckedCast", [value], T.BOOL), lambda: if_none)

    def _weights(self, value, node):
        wanted = T.optional_of(T.TENSOR)
        if self.type_of(value) == T.NONE:
            return self.list_value([], wanted)
        if self.type_of(value) == T.optional_of(T.list_of(wanted)):
            given = Condition(self.builtin("__isnot__", value, NONE))
            some = T.list_of(wanted)
            return self.choose(
                given,
                lambda: self.emit_one("prim::UncheckedCast", [value], some),
                lambda: self.materialize(self.list_value([], wanted)),
            )
        return self._tensors(value, wanted, node)

    def _tensors(self, value, wanted, node):
        """A list of tensors, from one, a tuple or a list of them."""
        found = self.type_of(value)
        if found is not None and T.is_subtype(found, wanted):
            return self.list_value([value], wanted)
        if found is not None and found.kind == "list" and T.is_subtype(found.items[0], wanted):
            return value if found.items[0] == wanted else self.converted_list(self.materialize(value), wanted)
        return self.convert(
            value if isinstance(value, Tuple) else Tuple(self.items_of(value, None, node)), T.list_of(wanted)
        )
