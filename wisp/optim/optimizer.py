"""What all optimizers have in common: groups of parameters, state, and its saving and loading."""

import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Iterable
from copy import deepcopy
from functools import wraps

from wisp import _C
from wisp._C import Tensor
from wisp.utils.hooks import Hooks, add_hook

# What optimizers are made of: parameters, groups, or parameters with names.
ParamsT = Iterable[Tensor] | Iterable[dict[str, object]] | Iterable[tuple[str, Tensor]]

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]

required = object()  # the default of an argument that has to be given, here or in every group

# Hooks of all optimizers, by kind.
_everywhere = {"_step_pre_hooks": Hooks(), "_step_post_hooks": Hooks()}


def register_optimizer_step_pre_hook(hook):
    """Calls ``hook(optimizer, args, kwargs)`` before step() of any optimizer; may return replaced arguments.

    ``args`` begin with the optimizer itself, as step() is given it.
    """
    return add_hook(_everywhere["_step_pre_hooks"], hook)


def register_optimizer_step_post_hook(hook):
    """Calls ``hook(optimizer, args, kwargs)`` after step() of any optimizer."""
    return add_hook(_everywhere["_step_post_hooks"], hook)


def _with_hooks(step):
    """A step() with hooks around it, and with a note that it was called (schedulers want to know)."""

    @wraps(step)
    def wrapped(self, *args, **kwargs):
        args = (self, *args)
        for hook in self._hooks_of("_step_pre_hooks"):
            replaced = hook(self, args, kwargs)
            if replaced is not None:
                if not isinstance(replaced, tuple) or len(replaced) != 2:
                    raise RuntimeError(
                        f"{wrapped} must return None or a tuple of (new_args, new_kwargs), but got {replaced}."
                    )
                args, kwargs = replaced
        self._opt_called = True
        result = step(*args, **kwargs)
        for hook in self._hooks_of("_step_post_hooks"):
            hook(self, args, kwargs)
        return result

    wrapped.hooked = True
    return wrapped


class Optimizer:
    """The base of all optimizers.

    Subclasses define ``_update(group, params)``, which changes the parameters of a group that have gradients, or
    ``step()`` as a whole.

    Args:
        params: an iterable of parameters, of pairs (name, parameter), or of dicts: groups with settings of their own.
        defaults: the settings of groups that do not say otherwise.
    """

    def __init__(self, params, defaults):
        self.defaults = defaults
        self.state = defaultdict(dict)
        self.param_groups = []
        if isinstance(params, Tensor):
            from wisp._basics import typename

            raise TypeError("params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                            + typename(params))  # fmt: skip
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__ and not hasattr(cls.step, "hooked"):
            cls.step = _with_hooks(cls.step)

    # --- training

    @_with_hooks
    def step(self, closure=None):
        """Updates all parameters that have gradients.

        Args:
            closure: if given, is called first, with gradients enabled, to compute the loss anew.

        Returns what the closure returned.
        """
        loss = None
        if closure is not None:
            with _C.enable_grad():
                loss = closure()
        with _C.set_grad_enabled(self.defaults.get("differentiable", False)):
            for group in self.param_groups:
                params = _C._with_gradients(group["params"])
                if params:
                    self._update(group, params)
        return loss

    def _update(self, group, params):
        raise NotImplementedError(f"{type(self).__name__} defines neither step() nor _update()")

    def zero_grad(self, set_to_none=True):
        """Forgets the gradients of all parameters, or sets them to zero."""
        for group in self.param_groups:
            if set_to_none:
                _C._forget_gradients(group["params"])
                continue
            for param in _C._with_gradients(group["params"]):
                param.grad = param.grad.detach()
                param.grad.zero_()

    # --- what a step works with

    def _first_state(self, param, group):
        """The state of a parameter before its first step, as a dict."""
        raise NotImplementedError(f"{type(self).__name__} has no state")

    def _complete(self, param, group):
        """Makes the state of a parameter. In files of old versions, the count of steps is a number."""
        state = self.state[param]
        if not state:
            state.update(self._first_state(param, group))
        elif "step" in state and not isinstance(state["step"], Tensor):
            state["step"] = _C.tensor(float(state["step"]))

    def _columns(self, group, params, *names):
        """Lists of parameters, gradients, and states by name (none for None), complex ones as pairs of real numbers."""
        return _C._update_columns(params, self.state, names, self._complete, group)

    # --- groups

    def add_param_group(self, param_group):
        """Adds a group: a dict with "params" and settings of its own."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        group = self._with_defaults(_listed(param_group))
        for param in group["params"]:
            _check_parameter(param, group)
        if len({id(p) for p in group["params"]}) < len(group["params"]):
            warnings.warn("optimizer contains a parameter group with duplicate parameters; in future, this will cause an error",
                          stacklevel=3)  # fmt: skip
        known = {id(p) for other in self.param_groups for p in other["params"]}
        if any(id(p) in known for p in group["params"]):
            raise ValueError("some parameters appear in more than one parameter group")
        if self.param_groups and ("param_names" in group) != ("param_names" in self.param_groups[0]):
            raise ValueError("all optimizer param groups should be with/without names. cannot mix names")
        self.param_groups.append(group)

    def _with_defaults(self, group):
        for name, default in self.defaults.items():
            if default is required and name not in group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            group.setdefault(name, default)
        return group

    # --- saving and loading

    def state_dict(self):
        """The state and settings as plain data: parameters are replaced by numbers, in the order of the groups."""
        for hook in self._hooks_of("_state_dict_pre_hooks"):
            hook(self)
        numbers = {}
        groups = []
        for group in self.param_groups:
            packed = {name: value for name, value in group.items() if name != "params"}
            packed["params"] = [numbers.setdefault(id(p), len(numbers)) for p in group["params"]]
            groups.append(packed)
        state = {(numbers[id(k)] if isinstance(k, Tensor) else k): value for k, value in self.state.items()}
        found = {"state": state, "param_groups": groups}
        for hook in self._hooks_of("_state_dict_post_hooks"):
            replaced = hook(self, found)
            found = found if replaced is None else replaced
        return found

    def load_state_dict(self, state_dict):
        """Takes what state_dict() gave, of an optimizer with groups of the same sizes."""
        state_dict = dict(state_dict)
        for hook in self._hooks_of("_load_state_dict_pre_hooks"):
            replaced = hook(self, state_dict)
            state_dict = state_dict if replaced is None else replaced
        given = deepcopy(state_dict["param_groups"])
        _check_groups(self.param_groups, given)
        params = {}
        for group, saved in zip(self.param_groups, given):
            params.update(zip(saved["params"], group["params"]))
        state = defaultdict(dict)
        for key, value in state_dict["state"].items():
            state[params.get(key, key)] = _converted(params[key], value) if key in params else value
        self.__setstate__({"state": state, "param_groups": [_merged(*pair) for pair in zip(self.param_groups, given)]})
        for hook in self._hooks_of("_load_state_dict_post_hooks"):
            hook(self)

    def __getstate__(self):
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state):
        self.__dict__.update(state)
        for group in self.param_groups:  # settings that are newer than the file
            for name, default in self.defaults.items():
                group.setdefault(name, default)

    def __repr__(self):
        text = type(self).__name__ + " ("
        for i, group in enumerate(self.param_groups):
            lines = "".join(f"    {name}: {group[name]}\n" for name in sorted(group) if name != "params")
            text += f"\nParameter Group {i}\n{lines}"
        return text + ")"

    # --- hooks

    def _hooks_of(self, kind):
        """The hooks of one kind, as a list: a hook may remove itself. Those of all optimizers are around its own."""
        own = self.__dict__.get(kind)
        common = _everywhere.get(kind)
        if not own and not common:
            return ()
        outside, inside = (list(hooks.values()) if hooks else [] for hooks in (common, own))
        return inside + outside if kind == "_step_post_hooks" else outside + inside

    def _register(self, kind, hook, prepend=False):
        return add_hook(self.__dict__.setdefault(kind, Hooks()), hook, prepend)

    def register_step_pre_hook(self, hook):
        """Calls ``hook(optimizer, args, kwargs)`` before step(); may return replaced arguments."""
        return self._register("_step_pre_hooks", hook)

    def register_step_post_hook(self, hook):
        """Calls ``hook(optimizer, args, kwargs)`` after step()."""
        return self._register("_step_post_hooks", hook)

    def register_state_dict_pre_hook(self, hook, prepend=False):
        """Calls ``hook(optimizer)`` before state_dict()."""
        return self._register("_state_dict_pre_hooks", hook, prepend)

    def register_state_dict_post_hook(self, hook, prepend=False):
        """Calls ``hook(optimizer, state_dict)`` after state_dict(); may return another dict."""
        return self._register("_state_dict_post_hooks", hook, prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend=False):
        """Calls ``hook(optimizer, state_dict)`` before load_state_dict(); may return another dict."""
        return self._register("_load_state_dict_pre_hooks", hook, prepend)

    def register_load_state_dict_post_hook(self, hook, prepend=False):
        """Calls ``hook(optimizer)`` after load_state_dict()."""
        return self._register("_load_state_dict_post_hooks", hook, prepend)


def _listed(group):
    """A group with its parameters as a list, and their names, if given, as another."""
    params = group["params"]
    if isinstance(params, set):
        raise TypeError("optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
                        "will change between runs. Please use a list instead.")  # fmt: skip
    params = [params] if isinstance(params, Tensor) else list(params)
    named = [isinstance(p, tuple) for p in params]
    if not any(named):
        return {**group, "params": params}
    if not all(named):
        raise ValueError("all optimizer params should be with/without names. Some param names are missing")
    return {**group, "params": [p for _, p in params], "param_names": [name for name, _ in params]}


def _check_parameter(param, group):
    if not isinstance(param, Tensor):
        from wisp._basics import typename

        raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {typename(param)}")
    if not (group.get("differentiable") or param.is_leaf or param.retains_grad):
        raise ValueError("can't optimize a non-leaf Tensor")


def _check_groups(own, given):
    if len(own) != len(given):
        raise ValueError("loaded state dict has a different number of parameter groups")
    if any(len(a["params"]) != len(b["params"]) for a, b in zip(own, given)):
        raise ValueError(
            "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
        )


def _merged(own, given):
    """The settings of a loaded group with the parameters of this optimizer, and their names if the file has none."""
    merged = {**given, "params": own["params"]}
    if "param_names" in own:
        merged.setdefault("param_names", own["param_names"])
    return merged


def _converted(param, value, key=None):
    """Loaded state of a parameter: copied, floats in its dtype. "step" counts, and keeps its own."""
    if isinstance(value, Tensor):
        is_count = key == "step" or not param.is_floating_point()
        return value.detach().clone() if is_count else value.detach().to(param.dtype, copy=True)
    if isinstance(value, (dict, OrderedDict)):
        return {name: _converted(param, item, name) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_converted(param, item) for item in value)
    return value
