"""Operators by name: ``wisp.ops.<namespace>.<name>`` finds those that programs define (wisp.library), ``wisp.ops.aten``
those of the table."""

import wisp
from wisp import _C
from wisp._C import Tensor
from wisp.autograd import Function, _samples

__all__ = ["OpOverload", "OpOverloadPacket", "ops"]


# What a call does instead while a trace is recorded (see wisp/jit/_custom_ops.py).
_traced_call = None


def _tensors(values):
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from (v for v in value if isinstance(v, Tensor))


class OpOverload:
    """An operator with one signature: its kernels, and what is known of its derivative."""

    def __init__(self, namespace, schema):
        self.namespace, self._schema = namespace, schema
        self._overloadname = schema.overload_name or "default"
        self._kernels = {}  # by dispatch key
        self._backward = self._setup_context = self._vmap = None

    def name(self):
        suffix = f".{self._schema.overload_name}" if self._schema.overload_name else ""
        return f"{self.namespace}::{self._schema.name}{suffix}"

    __str__ = __repr__ = lambda self: f"{self.namespace}.{self._schema.name}.{self._overloadname}"

    def __call__(self, /, *args, **kwargs):
        values = self._schema.bind(args, kwargs)
        return self._call(values) if _traced_call is None else _traced_call(self, values)

    def _call(self, values):
        above = self._above_autograd()
        if above is not None:
            return self._run(above, values)
        recorded = _C.is_grad_enabled() and any(t.requires_grad for t in _tensors(values))
        if self._schema.is_mutable or not (recorded or (_samples.running and self._vmap)):
            return self.compute(values)
        return _record(self, values)

    def _above_autograd(self):
        """The kernel that sees tensors with their history, if there is one."""
        for key in ("Autograd", "AutogradCPU"):
            if key in self._kernels:
                return self._kernels[key]
        explicit = "CPU" in self._kernels or "CompositeExplicitAutograd" in self._kernels
        return None if explicit else self._kernels.get("CompositeImplicitAutograd")

    def compute(self, values):
        """The results for values of all arguments, without history."""
        on_meta = any(t.is_meta for t in _tensors(values))
        for key in ("Meta" if on_meta else "CPU", "CompositeExplicitAutograd"):
            if key in self._kernels:
                with wisp.no_grad():
                    return self._run(self._kernels[key], values)
        what = "on the device 'meta': use register_fake()" if on_meta else "for CPUs: use register_kernel() or impl()"
        raise NotImplementedError(f"{self.name()}: there is no implementation {what}")

    def _run(self, kernel, values):
        by_place, by_name = self._schema.split(values)
        return kernel(*by_place, **by_name)


class OpOverloadPacket:
    """All operators of one name; a call goes to the first whose arguments match."""

    def __init__(self, name):
        self._qualified_op_name, self.__name__ = name, name.rpartition("::")[2]
        self._overloads = {}

    def overloads(self):
        return list(self._overloads)

    def __getattr__(self, name):
        if name in self._overloads:
            return self._overloads[name]
        raise AttributeError(f"the operator '{self._qualified_op_name}' has no overload '{name}'")

    def __call__(self, /, *args, **kwargs):
        last = None
        for overload in self._overloads.values():
            try:
                overload._schema.bind(args, kwargs)
            except TypeError as error:
                last = error
                continue
            return overload(*args, **kwargs)
        raise TypeError(f"{self._qualified_op_name}(): {last}")

    __repr__ = __str__ = lambda self: self._qualified_op_name.replace("::", ".")


# --- calls that are recorded


class _Layout:
    """Where each argument of a call is in a flat list of its tensors and other values."""

    def __init__(self, op, values):
        self.op, self.sizes, self.flat = op, [], []
        for value in values:
            spread = isinstance(value, (list, tuple)) and any(isinstance(v, Tensor) for v in value)
            self.sizes.append(len(value) if spread else None)
            self.flat += value if spread else [value]
        self.has_lists = any(n is not None for n in self.sizes)
        self.gives_list = False

    def join(self, flat):
        """One value per argument again."""
        parts = iter(flat)
        return [next(parts) if n is None else [next(parts) for _ in range(n)] for n in self.sizes]

    def spread(self, grads):
        """The gradients of all values from those of the arguments; none of those given by keyword."""
        grads = (*grads, *[None] * (len(self.sizes) - len(grads)))
        if len(grads) > len(self.sizes):
            raise RuntimeError(
                f"{self.op.name()}: backward returned {len(grads)} gradients for {len(self.sizes)} arguments"
            )
        flat = []
        for grad, n in zip(grads, self.sizes):
            flat += [grad] if n is None else [None] * n if grad is None else list(grad)
        return flat


class _ListContext:
    """A ctx whose needs_input_grad has a list for each list of tensors."""

    def __init__(self, ctx, layout):
        self.__dict__.update(_ctx=ctx, _layout=layout)

    def __getattr__(self, name):
        return getattr(self._ctx, name)

    def __setattr__(self, name, value):
        setattr(self._ctx, name, value)

    @property
    def needs_input_grad(self):
        return tuple(self._layout.join(self._ctx.needs_input_grad))


class _Recorded(Function):
    @staticmethod
    def forward(*values):
        *flat, layout = values
        result = layout.op.compute(layout.join(flat))
        layout.gives_list = isinstance(result, list)
        return tuple(result) if layout.gives_list else result

    @staticmethod
    def setup_context(ctx, inputs, output):
        *flat, layout = inputs
        ctx._layout = layout
        if layout.op._setup_context is None:
            return
        by_place, by_name = layout.op._schema.split(layout.join(flat))
        named = {"keyword_only_inputs": by_name} if by_name else {}
        ctx = _ListContext(ctx, layout) if layout.has_lists else ctx
        output = list(output) if layout.gives_list else output
        layout.op._setup_context(ctx=ctx, inputs=tuple(by_place), output=output, **named)

    @staticmethod
    def backward(ctx, *grads):
        layout = ctx._layout
        op = layout.op
        if op._backward is None:
            raise RuntimeError(f"Trying to backward through {op.name()} but no autograd formula was registered: use "
                               "register_autograd()")  # fmt: skip
        given = op._backward(
            _ListContext(ctx, layout) if layout.has_lists else ctx, *([list(grads)] if layout.gives_list else grads)
        )
        return (*layout.spread(given if isinstance(given, tuple) else (given,)), None)


class _RecordedWithVmap(_Recorded):
    @staticmethod
    def vmap(info, in_dims, *values):
        *flat, layout = values
        by_place, by_name = layout.op._schema.split(layout.join(flat))
        dims = tuple(layout.join(in_dims[: len(flat)])[: layout.op._schema.positional])
        return layout.op._vmap(info, dims, *by_place, **by_name)


def _record(op, values):
    layout = _Layout(op, values)
    result = (_RecordedWithVmap if op._vmap else _Recorded).apply(*layout.flat, layout)
    return list(result) if layout.gives_list else result


# --- finding them


class _TableOperator:
    """An operator of wisp's own table, which chooses among its signatures itself."""

    def __init__(self, name, function):
        self.__name__, self.function = name, function

    def __call__(self, /, *args, **kwargs):
        return self.function(*args, **kwargs)

    def __getattr__(self, overload):
        if overload.startswith("_"):
            raise AttributeError(overload)
        return self

    __repr__ = __str__ = lambda self: f"aten.{self.__name__}"


class _Namespace:
    def __init__(self, name):
        self.name = name

    def __getattr__(self, op_name):
        found = self._find(op_name)
        if found is None:
            raise AttributeError(f"there is no operator '{self.name}::{op_name}'")
        setattr(self, op_name, found)
        return found

    def __repr__(self):
        return f"<wisp.ops.{self.name}>"

    def _find(self, op_name):
        if self.name != "aten":
            return packets.get(f"{self.name}::{op_name}")
        function = _C._functions.get(op_name)
        if function is None and op_name.endswith("_") and not op_name.startswith("_"):
            function = getattr(Tensor, op_name, None)
        return None if function is None else _TableOperator(op_name, function)


class _Operators:
    """``wisp.ops``."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        namespace = _Namespace(name)
        setattr(self, name, namespace)
        return namespace

    def load_library(self, path):
        """Fails: compiled operators of PyTorch need its own libraries."""
        raise OSError(f"{path}: operators compiled for PyTorch cannot be loaded into wisp")


packets = {}  # by namespace::name
ops = _Operators()
