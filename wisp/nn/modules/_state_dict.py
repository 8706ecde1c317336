"""state_dict() and load_state_dict(): a module's tensors by name."""

from collections import OrderedDict, namedtuple
from collections.abc import Mapping
from weakref import ref

from wisp._C import Tensor, no_grad
from wisp.nn.modules._hooks import hook_dict
from wisp.nn.parameter import Parameter
from wisp.utils.hooks import add_hook

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ("missing_keys", "unexpected_keys"))):
    __slots__ = ()

    def __repr__(self):
        return super().__repr__() if self.missing_keys or self.unexpected_keys else "<All keys matched successfully>"

    __str__ = __repr__


class StateDict:
    """The part of Module that saves and loads."""

    _version = 1  # of the layout of a class's state: kept with it, for _load_from_state_dict to look at

    def get_extra_state(self):
        """What state_dict() is to keep besides tensors; subclasses that have any define this and set_extra_state()."""
        raise RuntimeError("Reached a code path in Module.get_extra_state() that should never be called.")

    def set_extra_state(self, state):
        """Takes what get_extra_state() gave."""
        raise RuntimeError("Reached a code path in Module.set_extra_state() that should never be called.")

    # --- saving

    def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
        """An OrderedDict of all parameters and persistent buffers, by name; the tensors share memory with the module's.

        Args:
            destination: a dict to fill instead of a new one.
            prefix: put before all names.
            keep_vars: give the parameters themselves, not detached.
        """
        destination, prefix, keep_vars = (*args, *(destination, prefix, keep_vars)[len(args) :])
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self._state_hooks("_state_dict_pre_hooks"):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, child in self._modules.items():
            if child is not None:
                child.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_hooks("_state_dict_hooks"):
            replaced = hook(self, destination, prefix, metadata)
            destination = destination if replaced is None else replaced
        return destination

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        """Puts this module's own tensors into the dict; not those of its children."""
        for name, t in self._saved_tensors():
            destination[prefix + name] = t if keep_vars else t.detach()
        if type(self).get_extra_state is not StateDict.get_extra_state:
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def _saved_tensors(self):
        for name, t in self._parameters.items():
            if t is not None:
                yield name, t
        for name, t in self._buffers.items():
            if t is not None and name not in self._non_persistent_buffers_set:
                yield name, t

    # --- loading

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Copies tensors into this module's parameters and buffers of the same names.

        Args:
            state_dict: what state_dict() gave, or any mapping.
            strict: fail if names are missing or unexpected; the message suggests what they may have been called.
            assign: use the tensors themselves instead of copying their values.

        Returns the names that were missing and unexpected.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        loading = _Loading(state_dict, strict, assign)
        loading.load(self, "")
        if strict:
            loading.check_keys()
        if loading.errors:
            details = "\n\t".join(loading.errors)
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{details}")
        return _IncompatibleKeys(loading.missing, loading.unexpected)

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ):
        """Takes this module's own tensors from the dict; adds to the lists what is wrong. Subclasses may extend it."""
        for hook in self._state_hooks("_load_state_dict_pre_hooks"):
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        own = dict(self._saved_tensors())
        for name, t in own.items():
            key = prefix + name
            if key in state_dict:
                error = self._load_tensor(
                    name, t, state_dict[key], key, local_metadata.get("assign_to_params_buffers", False)
                )
                if error:
                    error_msgs.append(error)
            elif strict:
                missing_keys.append(key)
        self._load_extra_state(state_dict, prefix, strict, missing_keys, unexpected_keys)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != prefix + _EXTRA_STATE_KEY_SUFFIX:
                    name = key[len(prefix) :].split(".", 1)
                    known = name[0] in self._modules if len(name) > 1 else name[0] in own
                    if not known:
                        unexpected_keys.append(key)

    def _load_tensor(self, name, t, value, key, assign):
        """Returns what went wrong, if anything."""
        if not isinstance(value, Tensor):
            return (f'While copying the parameter named "{key}", expected wisp.Tensor or Tensor-like object from checkpoint but '
                    f"received {type(value)}")  # fmt: skip
        if t.dim() == 0 and value.dim() == 1 and len(value) == 1:
            value = value[0]
        if value.shape != t.shape:
            return (f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, the shape in current "
                    f"model is {t.shape}.")  # fmt: skip
        try:
            with no_grad():
                if not assign:
                    t.copy_(value)
                else:
                    setattr(self, name, _assignable(value, t))
        except Exception as error:  # noqa: BLE001 (reported with the others)
            return (f'While copying the parameter named "{key}", whose dimensions in the model are {t.shape} and whose dimensions '
                    f"in the checkpoint are {value.shape}, an exception occurred : {error.args}.")  # fmt: skip
        return None

    def _load_extra_state(self, state_dict, prefix, strict, missing_keys, unexpected_keys):
        key = prefix + _EXTRA_STATE_KEY_SUFFIX
        if type(self).set_extra_state is not StateDict.set_extra_state:
            if key in state_dict:
                self.set_extra_state(state_dict[key])
            elif strict:
                missing_keys.append(key)
        elif strict and key in state_dict:
            unexpected_keys.append(key)

    # --- hooks

    _state_dict_pre_hooks = hook_dict("_state_dict_pre_hooks", of_calls=False)
    _state_dict_hooks = hook_dict("_state_dict_hooks", of_calls=False)
    _load_state_dict_pre_hooks = hook_dict("_load_state_dict_pre_hooks", of_calls=False)
    _load_state_dict_post_hooks = hook_dict("_load_state_dict_post_hooks", of_calls=False)

    def _state_hooks(self, kind):
        return list(self.__dict__.get(kind, {}).values())

    def register_state_dict_pre_hook(self, hook):
        """Calls ``hook(module, prefix, keep_vars)`` before state_dict() reads this module."""
        return add_hook(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook):
        """Calls ``hook(module, state_dict, prefix, local_metadata)`` when state_dict() has read this module; it may
        change the dict, but not return another one."""

        def checked(*args):
            if hook(*args) is not None:
                raise RuntimeError("state_dict post-hook must return None")

        return add_hook(self._state_dict_hooks, checked)

    def _register_state_dict_hook(self, hook):
        """As register_state_dict_post_hook(), but the hook may return another dict."""
        return add_hook(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook):
        """Calls ``hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)``
        before load_state_dict() writes this module."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        return add_hook(self._load_state_dict_pre_hooks, _OfModule(self, hook) if with_module else hook)

    def register_load_state_dict_post_hook(self, hook):
        """Calls ``hook(module, incompatible_keys)`` when load_state_dict() has written this module; it may change the
        lists of missing and unexpected keys."""
        return add_hook(self._load_state_dict_post_hooks, hook)


class _OfModule:
    """A hook that is given its module too. A copy of the module has a copy of it."""

    def __init__(self, module, hook):
        self.module, self.hook = ref(module), hook

    def __call__(self, *args):
        return self.hook(self.module(), *args)

    def __getstate__(self):
        return {"module": self.module(), "hook": self.hook}

    def __setstate__(self, state):
        self.__init__(**state)


def _assignable(value, t):
    """What takes the place of ``t``: a parameter is to be trained if the one before it was."""
    if not isinstance(t, Parameter):
        return value
    return value.requires_grad_(t.requires_grad) if isinstance(value, Parameter) else Parameter(value, t.requires_grad)


class _Loading:
    """One call of load_state_dict()."""

    def __init__(self, state_dict, strict, assign):
        self.metadata = getattr(state_dict, "_metadata", {})
        self.state, self.strict, self.assign = OrderedDict(state_dict), strict, assign
        self.state._metadata = self.metadata
        self.missing, self.unexpected, self.errors = [], [], []

    def load(self, module, prefix, state=None):
        state = self.state if state is None else state
        local = dict(self.metadata.get(prefix[:-1], {}))
        if self.assign:
            local["assign_to_params_buffers"] = True
        module._load_from_state_dict(state, prefix, local, True, self.missing, self.unexpected, self.errors)
        for name, child in module._modules.items():
            if child is not None:
                below = f"{prefix}{name}."
                self.load(child, below, {k: v for k, v in state.items() if k.startswith(below)})
        for hook in module._state_hooks("_load_state_dict_post_hooks"):
            if hook(module, _IncompatibleKeys(self.missing, self.unexpected)) is not None:
                raise RuntimeError("Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                                   "values, if incompatible_keys need to be modified, it should be done inplace.")  # fmt: skip

    def check_keys(self):
        if self.unexpected:
            self.errors.insert(0, f"Unexpected key(s) in state_dict: {_quoted(self.unexpected)}. ")
        if self.missing:
            self.errors.insert(0, f"Missing key(s) in state_dict: {_quoted(self.missing)}. ")
        self.errors.extend(_suggestions(self.unexpected, self.missing))


def _quoted(keys):
    return ", ".join(f'"{key}"' for key in keys)


def _suggestions(unexpected, missing):
    """What the unexpected keys may have been meant to be."""
    if not unexpected or not missing:
        return
    prefix = unexpected[0].split(".", 1)[0] + "."
    if {key.removeprefix(prefix) for key in unexpected} >= set(missing) and all(
        key.startswith(prefix) for key in unexpected
    ):
        yield f'All unexpected keys begin with "{prefix}"; without it they are the missing ones.'
        return
    from difflib import get_close_matches

    for key in unexpected[:10]:
        near = get_close_matches(key, missing, n=1, cutoff=0.75)
        if near:
            yield f'"{key}" looks like "{near[0]}".'
