"""Modules as functions of their parameters."""

from wisp import _C, nn
from wisp.nn.utils import stateless


def functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """``module(*args, **kwargs)`` with the given tensors in place of its parameters and buffers.

    Args:
        module: the module to call; it is left as it was.
        parameter_and_buffer_dicts: tensors by name, or a sequence of such dicts. Names left out keep the module's own.
        args: one positional argument, or a tuple of them.
        tie_weights: a tensor given for one name also replaces what the module shares with it under other names.
        strict: fail unless every parameter and buffer is given.
    """
    if isinstance(parameter_and_buffer_dicts, dict):
        given = parameter_and_buffer_dicts
    elif isinstance(parameter_and_buffer_dicts, (list, tuple)) and all(
        isinstance(part, dict) for part in parameter_and_buffer_dicts
    ):
        given = _merged(parameter_and_buffer_dicts)
    else:
        raise ValueError(
            f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(parameter_and_buffer_dicts)}"
        )
    return stateless.functional_call(module, given, args, kwargs, tie_weights=tie_weights, strict=strict)


def _merged(dicts):
    merged, seen = {}, set()
    for part in dicts:
        repeated = seen & part.keys()
        if repeated:
            raise ValueError(
                f"{min(repeated)} appears in multiple dictionaries; behavior of functional call is ambiguous"
            )
        seen |= part.keys()
        merged.update(part)
    return merged


def stack_module_state(models):
    """The parameters and the buffers of several modules of the same kind, each stacked along a new first dimension."""
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not (all(m.training for m in models) or all(not m.training for m in models)):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    params = {
        name: _stacked([dict(m.named_parameters())[name] for m in models]) for name, _ in models[0].named_parameters()
    }
    buffers = {
        name: _C._functions["stack"]([dict(m.named_buffers())[name] for m in models])
        for name, _ in models[0].named_buffers()
    }
    return params, buffers


def _stacked(params):
    with _C.no_grad():
        result = _C._functions["stack"](params)
    return result.requires_grad_(any(p.requires_grad for p in params))


def replace_all_batch_norm_modules_(root):
    """Makes batch normalisation modules forget their running statistics, in place: vmap cannot update what samples share."""
    for module in root.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root


__all__ = ["functional_call", "replace_all_batch_norm_modules_", "stack_module_state"]
