"""Modules made ready for inference: parameters become constants, and what follows from them is computed once."""

from wisp.jit._module import ScriptModule, copy_object, wrap_module


def freeze(mod, preserved_attrs=None, optimize_numerics=True):
    """A copy of a compiled module in evaluation mode whose parameters are constants of its graph.

    Calls of submodules are inlined, what follows from constants alone is computed, dead code is removed; convolutions
    take over the batch normalisation behind them.

    Args:
        mod: a compiled module in evaluation mode.
        preserved_attrs: names of attributes that stay attributes, and of methods to keep besides forward().
        optimize_numerics: whether passes may round otherwise than the module does.
    """
    if not isinstance(mod, ScriptModule):
        raise RuntimeError(
            f"Freezing expects a ScriptModule as input, got {type(mod).__name__}: use script() or trace() first"
        )
    if mod.training:
        raise RuntimeError("Freezing module in training mode is not yet supported: call .eval() first")
    kept = set(preserved_attrs or ())
    methods = [name for name in mod._c.methods() if name in ("forward", "__call__") or name in kept]
    frozen = mod._c.frozen(methods, [name for name in kept if name in mod._attributes])
    for method in methods:
        optimized(frozen.method(method).graph, optimize_numerics)
    return wrap_module(frozen, mod.original_name)


def optimized(graph, optimize_numerics):
    """Runs the passes that make a graph faster to run, and gives it back."""
    graph.optimize([] if optimize_numerics else ["conv_batch_norm", "batch_matmul", "tree_batching"])
    graph.run_pass("conv_tails")
    graph.run_pass("parallel_branches")
    graph.run_pass("fusion")
    return graph


def optimize_for_inference(mod, other_methods=None):
    """A frozen copy of a compiled module, with all passes run.

    Args:
        mod: a compiled module; it is frozen if it is not.
        other_methods: names of methods to keep besides forward().
    """
    if mod.training:
        mod = wrap_module(copy_object(mod._c, {}), mod.original_name).eval()
    return freeze(mod, other_methods)


def run_frozen_optimizations(mod, optimize_numerics=True, preserved_methods=None):
    """Runs the passes of ``freeze()`` again, on the graphs of a frozen module itself.

    Args:
        mod: what ``freeze()`` has made.
        optimize_numerics: whether passes may round otherwise than the module does.
        preserved_methods: names of methods that it has besides forward().
    """
    for method in ("forward", *(preserved_methods or ())):
        optimized(mod._c.method(method).graph, optimize_numerics)
