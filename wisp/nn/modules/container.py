"""Containers of modules and parameters."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from itertools import chain, islice
from operator import index as as_index
from operator import itemgetter

from wisp._C import Tensor
from wisp.nn.modules.module import Module, _addindent
from wisp.nn.parameter import Parameter

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


def _position(count, i):
    """A possibly negative index made positive."""
    i = as_index(i)
    if not -count <= i < count:
        raise IndexError(f"index {i} is out of range")
    return i % count


class _Numbered(Module):
    """Children named "0", "1", ...: what Sequential and ModuleList have in common."""

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __dir__(self):
        return [name for name in super().__dir__() if not name.isdigit()]

    def _get_abs_string_index(self, i):
        return next(islice(self._modules, _position(len(self), i), None))

    def _set_children(self, modules):
        """Replaces all children, counting from zero."""
        modules = {str(i): self._checked_child(module) for i, module in enumerate(modules)}
        self._modules.clear()
        self._modules.update(modules)

    def __setitem__(self, idx, module):
        setattr(self, self._get_abs_string_index(idx), module)

    def __delitem__(self, idx):
        """Removes one child or a slice; those behind it move up."""
        gone = list(self._modules)[idx] if isinstance(idx, slice) else [self._get_abs_string_index(idx)]
        self._set_children(module for name, module in self._modules.items() if name not in gone)

    def append(self, module):
        """Adds a child at the end; returns the container."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key):
        """Removes a child and returns it."""
        module = self[key]
        del self[key]
        return module


class Sequential(_Numbered):
    """Modules applied one after the other.

    Args:
        modules: in order; or an OrderedDict of modules by name.

    >>> wisp.nn.Sequential(wisp.nn.Flatten(), wisp.nn.ReLU())
    Sequential(
      (0): Flatten(start_dim=1, end_dim=-1)
      (1): ReLU()
    )
    """

    def __init__(self, *modules):
        super().__init__()
        named = modules[0].items() if len(modules) == 1 and isinstance(modules[0], OrderedDict) else enumerate(modules)
        for name, module in named:
            self.add_module(str(name), module)

    def forward(self, input):
        for module in self._modules.values():
            input = module(input)
        return input

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return type(self)(OrderedDict(list(self._modules.items())[idx]))
        return self._modules[self._get_abs_string_index(idx)]

    def __add__(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return Sequential(*self, *other)

    def __iadd__(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return self.extend(list(other))

    def __mul__(self, times):
        return Sequential(*(module for _ in range(_checked_times(times)) for module in self))

    __rmul__ = __mul__

    def __imul__(self, times):
        return self.extend(list(self) * (_checked_times(times) - 1))

    def insert(self, index, module):
        """Puts a module before the one at an index; returns the container."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        modules = list(self)
        modules.insert(index, module)
        self._set_children(modules)
        return self

    def extend(self, sequential):
        """Adds several modules at the end; returns the container."""
        for module in list(sequential):
            self.append(module)
        return self


def _checked_times(times):
    if not isinstance(times, int):
        raise TypeError(f"unsupported operand type(s) for *: {Sequential} and {type(times)}")
    if times <= 0:
        raise ValueError(f"Non-positive multiplication factor {times} for {Sequential}")
    return times


class ModuleList(_Numbered):
    """A list of modules that are children of the module it is assigned to.

    Args:
        modules: an iterable of modules.
    """

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return type(self)(list(self._modules.values())[idx])
        return self._modules[self._get_abs_string_index(idx)]

    def __add__(self, other):
        return type(self)(chain(self, other))

    def __iadd__(self, modules):
        return self.extend(modules)

    def insert(self, index, module):
        """Puts a module before the one at an index."""
        modules = list(self)
        modules.insert(index, module)
        self._set_children(modules)

    def extend(self, modules):
        """Adds several modules at the end; returns the list."""
        if not isinstance(modules, Iterable):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        for module in list(modules):
            self.append(module)
        return self

    def __repr__(self):
        """Equal neighbours are printed once, with their number."""
        runs = []
        for i, text in enumerate(repr(module) for module in self):
            if runs and runs[-1][2] == text:
                runs[-1][1] = i
            else:
                runs.append([i, i, text])
        if not runs:
            return f"{self._get_name()}()"
        lines = [
            (f"({first}): " if first == last else f"({first}-{last}): {last - first + 1} x ") + _addindent(text, 2)
            for first, last, text in runs
        ]
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


class ModuleDict(Module):
    """A dict of modules that are children of the module it is assigned to.

    Args:
        modules: a mapping, or an iterable of pairs, of names and modules.
    """

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __delitem__(self, key):
        del self._modules[key]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, key):
        return key in self._modules

    def clear(self):
        """Removes all modules."""
        self._modules.clear()

    def pop(self, key):
        """Removes a module and returns it."""
        return self._modules.pop(key)

    def keys(self):
        """The names."""
        return self._modules.keys()

    def items(self):
        """Pairs (name, module)."""
        return self._modules.items()

    def values(self):
        """The modules."""
        return self._modules.values()

    def update(self, modules):
        """Adds or replaces modules by name, from a mapping or from pairs."""
        for key, module in _pairs("ModuleDict", modules):
            self[key] = module


def _pairs(name, given):
    """(key, value) of a mapping or of an iterable of pairs."""
    if not isinstance(given, Iterable):
        raise TypeError(
            f"{name}.update should be called with an iterable of key/value pairs, but got {type(given).__name__}"
        )
    if isinstance(given, (Mapping, ModuleDict, ParameterDict)):
        return list(given.items())
    pairs = list(given)
    for i, pair in enumerate(pairs):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{name} update sequence element #{i} should be Iterable; is{type(pair).__name__}")
        if len(pair) != 2:
            raise ValueError(f"{name} update sequence element #{i} has length {len(pair)}; 2 is required")
    return pairs


def _as_parameter(value):
    """Tensors become parameters; other things are kept as they are."""
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _described(key, value, of=None):
    """A line of repr() for an item of a container of parameters; ``of`` says what its elements are."""
    if not isinstance(value, Tensor):
        return f"  ({key}): Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return f"  ({key}): {kind} containing: [{of or value.dtype} of size {'x'.join(map(str, value.shape))}]"


class ParameterList(Module):
    """A list of parameters; other values may be in it, and tensors become parameters.

    Args:
        values: an iterable.
    """

    def __init__(self, values=None):
        super().__init__()
        self._size = 0
        if values is not None:
            self += values

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            made = type(self)()
            for k in range(*idx.indices(len(self))):
                made.append(self[k])
            return made
        return getattr(self, str(_position(self._size, idx)))

    def __setitem__(self, idx, value):
        setattr(self, str(_position(self._size, idx)), _as_parameter(value))

    def __len__(self):
        return self._size

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __iadd__(self, values):
        return self.extend(values)

    def __dir__(self):
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, value):
        """Adds a value at the end; returns the list."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values):
        """Adds several values at the end; returns the list."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in values:
            self.append(value)
        return self

    def extra_repr(self):
        return "\n".join(_described(i, value) for i, value in enumerate(self))

    def __call__(self, *args, **kwargs):
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dict of parameters; other values may be in it, and tensors become parameters.

    Args:
        parameters: a mapping, or an iterable of pairs.
    """

    def __init__(self, parameters=None):
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key):
        if key not in self._keys:
            raise KeyError(key)
        return getattr(self, self._attribute(key))

    @staticmethod
    def _attribute(key):
        if not isinstance(key, str):
            raise TypeError(
                f"Index given to ParameterDict cannot be used as a key as it is not a string (type is '{type(key).__name__}')"
            )
        return key

    def __setitem__(self, key, value):
        name = self._attribute(key)
        if key not in self._keys and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")
        setattr(self, name, _as_parameter(value))
        self._keys[key] = None

    def __delitem__(self, key):
        if key not in self._keys:
            raise KeyError(key)
        del self._keys[key]
        delattr(self, self._attribute(key))

    def __len__(self):
        return len(self._keys)

    def __iter__(self):
        return iter(self._keys)

    def __reversed__(self):
        return reversed(list(self._keys))

    def __contains__(self, key):
        return key in self._keys

    def __or__(self, other):
        made = self.copy()
        made.update(other)
        return made

    def __ror__(self, other):
        made = ParameterDict(other)
        made.update(self)
        return made

    def __ior__(self, other):
        self.update(other)
        return self

    def copy(self):
        """Another dict of the same parameters."""
        return ParameterDict({key: self[key] for key in self._keys})

    def setdefault(self, key, default=None):
        """The value of a key, which becomes ``default`` if there is none."""
        if key not in self._keys:
            self[key] = default
        return self[key]

    def clear(self):
        """Removes all values."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key):
        """Removes a value and returns it."""
        value = self[key]
        del self[key]
        return value

    def popitem(self):
        """Removes the newest pair and returns it."""
        if not self._keys:
            raise KeyError("popitem(): the ParameterDict is empty")
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def get(self, key, default=None):
        """The value of a key, or ``default``."""
        return self[key] if key in self._keys else default

    def fromkeys(self, keys, default=None):
        """A new dict with the same value for all keys."""
        return ParameterDict((key, default) for key in keys)

    def keys(self):
        """The keys."""
        return self._keys.keys()

    def items(self):
        """Pairs (key, value)."""
        return ((key, self[key]) for key in self._keys)

    def values(self):
        """The values."""
        return (self[key] for key in self._keys)

    def update(self, parameters):
        """Adds or replaces values, from a mapping or from pairs; those of a plain dict in the order of their names."""
        pairs = _pairs("ParameterDict", parameters)
        ordered = isinstance(parameters, (OrderedDict, ParameterDict)) or not isinstance(parameters, Mapping)
        for key, value in pairs if ordered else sorted(pairs, key=itemgetter(0)):
            self[key] = value

    def extra_repr(self):
        return "\n".join(_described(k, v, v.type() if isinstance(v, Tensor) else None) for k, v in self.items())

    def __call__(self, input):
        raise RuntimeError("ParameterDict should not be called.")
