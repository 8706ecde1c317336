"""with: switches of grad mode, objects of the program's classes, strict_fusion()."""

import ast
import inspect

from wisp import _C
from wisp.jit._execution import strict_fusion
from wisp.jit._script import types as T
from wisp.jit._script.control import RAISES
from wisp.jit._script.errors import FrontendError
from wisp.jit._script.values import NONE, Const

_GRAD_SWITCHES = (_C.no_grad, _C.inference_mode, _C.enable_grad, _C.set_grad_enabled)


class Contexts:
    """Compiles what is entered and left."""

    def do_With(self, node):
        """Switches of grad mode, and objects of the program's classes. What leaves the block (it sets flags) does not
        skip what is done at its end."""
        ends = [self.enter(item) for item in node.items]
        status = self.statements(node.body)
        self.at = node
        if status != RAISES:
            for end in reversed(ends):
                end()
        return status

    def enter(self, item):
        """Enters a context; returns what leaves it."""
        if self._is_strict_fusion(item):
            begin = len(self.block.nodes)
            return lambda: self._check_fusion(self.block.nodes[begin:], item.context_expr)
        if self.is_grad_switch(item):
            previous = self.builtin("_set_grad_enabled", self.grad_switch(item))
            return lambda: self.builtin("_set_grad_enabled", previous)
        manager = NONE if self._calls_builtin(item.context_expr) else self.expression(item.context_expr)
        kind = self.type_of(manager)
        if kind is None or kind.kind != "class" or self.find_method(manager, "__exit__") is None:
            self.fail("the context does not define __enter__ and __exit__ methods that scripts can call: no_grad() "
                      "and its like, and objects of classes of yours, can be used", item.context_expr, FrontendError)  # fmt: skip
        entered = self.call(self.attribute(manager, "__enter__", item.context_expr), [], {}, item.context_expr)
        if item.optional_vars is not None:
            self.assign(item.optional_vars, entered)
        self.builtin("_enter_context", manager)

        def leave():
            self.builtin("_leave_context")
            self.call(self.attribute(manager, "__exit__", item.context_expr), [NONE] * 3, {}, item.context_expr)

        return leave

    def _calls_builtin(self, node):
        function = self.expression(node.func) if isinstance(node, ast.Call) else None
        return isinstance(function, Const) and inspect.isbuiltin(function.obj)

    def is_grad_switch(self, item):
        """Whether `with` is given no_grad() or the like."""
        call = item.context_expr
        if not isinstance(call, ast.Call):
            return False
        function = self.expression(call.func)
        return isinstance(function, Const) and any(function.obj is switch for switch in _GRAD_SWITCHES)

    def grad_switch(self, item):
        """Whether gradients are recorded inside of `with no_grad():` and the like."""
        call = item.context_expr
        obj = self.expression(call.func).obj
        if obj is _C.set_grad_enabled:
            return self.truth(self.expression(call.args[0]))
        return Const(obj is _C.enable_grad)

    def _is_strict_fusion(self, item):
        call = item.context_expr
        function = self.expression(call.func) if isinstance(call, ast.Call) else None
        return isinstance(function, Const) and function.obj is strict_fusion

    def _check_fusion(self, nodes, at):
        """Fails if a call on tensors is none that is made in one step with others."""
        alone = dict.fromkeys(name for node in nodes for name in self._unfused(node))
        if alone:
            self.fail("Found unfused operators: " + ", ".join(alone), at)

    def _unfused(self, node):
        if node.kind in ("prim::CallFunction", "prim::CallMethod", "prim::HostCall"):
            yield f"{node.kind} of {node.attributes['name']}"
        elif self._computes_alone(node):
            yield node.kind
        for block in node.blocks:
            for inner in block.nodes:
                yield from self._unfused(inner)

    def _computes_alone(self, node):
        on_tensors = node.kind.startswith("aten::") and any(_holds_tensors(value.type) for value in node.outputs)
        return on_tensors and not self.program.tables.is_fused(node.kind.removeprefix("aten::"))


def _holds_tensors(kind):
    return kind == T.TENSOR or any(map(_holds_tensors, kind.items))
