"""How many floating-point operations a program's matrix products, convolutions and attention take."""

import math

from wisp import Tensor
from wisp.overrides import TorchFunctionMode

__all__ = ["FlopCounterMode"]


def _product(args, out):
    """Of a matrix product: every element is a sum over the last dimension of the first factor."""
    return 2 * out.numel() * args[0].shape[-1]


def _sum_and_product(args, out):
    return 2 * out.numel() * args[1].shape[-1]


def _convolution(args, out):
    return 2 * out.numel() * math.prod(args[1].shape[1:])


def _transposed_convolution(args, out):
    return 2 * args[0].numel() * math.prod(args[1].shape[1:])


def _attention(args, out):
    """Scores, and sums of values."""
    query, key = args[:2]
    scores = math.prod(query.shape[:-1]) * key.shape[-2]
    return 2 * scores * (query.shape[-1] + out.shape[-1])


_COUNTS = dict.fromkeys(("mm", "bmm", "mv", "matmul", "__matmul__", "linear"), _product)
_COUNTS |= dict.fromkeys(("addmm", "addmv", "baddbmm"), _sum_and_product)
_COUNTS |= dict.fromkeys(("conv1d", "conv2d", "conv3d"), _convolution)
_COUNTS |= dict.fromkeys(("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), _transposed_convolution)
_COUNTS["scaled_dot_product_attention"] = _attention
_NAMES = {"__matmul__": "matmul"}


class FlopCounterMode(TorchFunctionMode):
    """Counts floating-point operations inside a with block, a multiplication and an addition as two: those of calls, and,
    as long as the block lasts, those of their gradients.

    >>> with wisp.utils.flop_counter.FlopCounterMode(display=False) as counter:
    ...     _ = wisp.ones(2, 3) @ wisp.ones(3, 4)
    >>> counter.get_total_flops()
    48

    Args:
        display: whether to print a table at the end of the block.
        custom_mapping: more functions to count, ``{function: count(*args, out_val=result, **kwargs)}``.
    """

    def __init__(self, mods=None, depth=2, display=True, custom_mapping=None):
        super().__init__()
        self.display, self.custom_mapping = display, custom_mapping or {}
        self.counts, self._open = {}, False

    def __enter__(self):
        self.counts, self._open = {}, True
        return super().__enter__()

    def __exit__(self, *exception):
        self._open = False
        super().__exit__(*exception)
        if self.display:
            print(self.get_table())

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        name = getattr(func, "__name__", "")
        if func in self.custom_mapping:
            self._add(name, self.custom_mapping[func](*args, out_val=result, **kwargs))
        elif name in _COUNTS and isinstance(result, Tensor):
            self._count(
                _NAMES.get(name, name), name, [a for a in (*args, *kwargs.values()) if isinstance(a, Tensor)], result
            )
        return result

    def _count(self, shown, name, factors, result):
        work = _COUNTS[name](factors, result)
        self._add(shown, work)
        first = 1 if _COUNTS[name] is _sum_and_product else 0
        gradients = sum(t.requires_grad for t in factors[first : first + 2])
        if gradients and result.requires_grad:
            # The gradient of each factor is a product of the same size.
            result.register_hook(lambda grad: self._add(f"{shown}_backward", gradients * work))

    def _add(self, name, work):
        if self._open:
            self.counts[name] = self.counts.get(name, 0) + work

    def get_total_flops(self):
        """All of them together."""
        return sum(self.counts.values())

    def get_flop_counts(self):
        """``{"Global": {name of the operator: operations}}``."""
        return {"Global": dict(self.counts)}

    def get_table(self, depth=None):
        """The counts as text."""
        rows = [("Operator", "FLOP"), *((name, f"{work:,}") for name, work in self.counts.items())]
        rows.append(("Total", f"{self.get_total_flops():,}"))
        widths = [max(map(len, column)) for column in zip(*rows)]
        return "\n".join(f"{name:<{widths[0]}}  {work:>{widths[1]}}" for name, work in rows)
