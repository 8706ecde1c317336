"""Function transforms: gradients, Jacobians and batching of functions, nested in any order."""

_HOMES = {
    "_derivatives": ("grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "value_and_grad", "vjp"),
    "_modules": ("functional_call", "replace_all_batch_norm_modules_", "stack_module_state"),
    "_vmap": ("vmap",),
}  # fmt: skip
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}
__all__ = list(_HOME_OF)


def __getattr__(name):
    if name not in _HOME_OF:
        raise AttributeError(f"module 'wisp.func' has no attribute '{name}'")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f"wisp.func.{_HOME_OF[name]}"), name)
    return value


def __dir__():
    return sorted({*globals(), *__all__})
