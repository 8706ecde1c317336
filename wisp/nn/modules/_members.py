"""What modules are made of: parameters, buffers and child modules, as attributes and by name."""

from types import CodeType, FunctionType
from weakref import ref

from wisp._C import Tensor
from wisp.nn.modules._hooks import everywhere, registered
from wisp.nn.parameter import Buffer, Parameter

# Where members are kept, and what they are called. The order is that in which a name is looked for.
KINDS = {"_parameters": "parameter", "_modules": "child module", "_buffers": "buffer"}


class MemberDict(dict):
    """Parameters, buffers or children by name.

    What is put here becomes an attribute of the module as well: reading ``module.weight``, which every forward() does,
    then takes no detour.
    """

    __slots__ = ("_owner",)

    def __init__(self, owner, items=()):
        super().__init__()
        self._owner = ref(owner)
        self.update(items)

    def __setitem__(self, name, value):
        super().__setitem__(name, value)
        self._owner().__dict__[name] = value

    def __delitem__(self, name):
        super().__delitem__(name)
        self._owner().__dict__.pop(name, None)

    def pop(self, name, *default):
        if name in self:
            value = self[name]
            del self[name]
            return value
        return super().pop(name, *default)

    def popitem(self):
        if not self:
            raise KeyError("popitem(): there are no members")
        name = next(reversed(self))
        return name, self.pop(name)

    def clear(self):
        for name in list(self):
            del self[name]

    def update(self, items=(), **more):
        for name, value in {**dict(items), **more}.items():
            self[name] = value

    def setdefault(self, name, default=None):
        if name not in self:
            self[name] = default
        return self[name]

    def __ior__(self, items):
        self.update(items)
        return self

    def __reduce__(self):
        return MemberDict, (self._owner(), dict(self))


class _Lookup:
    """Gives a class that defines ``__getattr__()`` one to call by ``super()``, and one that calls its own one to call.

    Such a class is asked for members too. Those of others are attributes like any other, so that Module itself needs no
    ``__getattr__()``: reading attributes is faster without.
    """

    def __getattr__(self, name):
        for kind in KINDS:
            if name in self.__dict__.get(kind, ()):
                return self.__dict__[kind][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self)


def _names_getattr(cls):
    """Whether functions of a class call ``__getattr__()`` by its name."""
    codes = [value.__code__ for value in vars(cls).values() if isinstance(value, FunctionType)]
    for code in codes:
        if "__getattr__" in code.co_names:
            return True
        codes += [part for part in code.co_consts if isinstance(part, CodeType)]
    return False


def _refuse(value, what, name, wanted):
    from wisp._basics import typename

    raise TypeError(f"cannot assign '{typename(value)}' {what} '{name}' ({wanted})")


class Members:
    """The part of Module that holds parameters, buffers and children."""

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if not issubclass(cls, _Lookup) and (hasattr(cls, "__getattr__") or _names_getattr(cls)):
            cls.__bases__ += (_Lookup,)

    def _start_members(self):
        """Makes room for members, and for attributes to be found fast (a dict of its own is faster than a shared one)."""
        object.__setattr__(self, "__dict__", dict(self.__dict__))
        for kind in KINDS:
            self._exchange(kind, {})
        self.__dict__["_non_persistent_buffers_set"] = set()

    # --- as attributes

    def _kind_of(self, value):
        """Where a value assigned as an attribute belongs, by its type; None: it is an attribute like any other."""
        if isinstance(value, Tensor):
            return "_parameters" if isinstance(value, Parameter) else "_buffers" if isinstance(value, Buffer) else None
        return "_modules" if isinstance(value, Members) else None

    def __setattr__(self, name, value):
        own, kind = self.__dict__, self._kind_of(value)
        for held in KINDS:
            if held == kind:
                return self._put(kind, name, value)
            if name in own.get(held, ()):
                return self._replace(held, name, value)
        if name in KINDS:
            return self._exchange(name, value)
        super().__setattr__(name, value)
        if name == "__class__":
            for kind in KINDS:
                self._exchange(kind, own[kind])

    def _put(self, kind, name, value):
        """Assigns a parameter, buffer or module; whatever the name was before, it is no more."""
        own = self.__dict__
        if kind not in own:
            what = {"_parameters": "parameters", "_buffers": "buffer", "_modules": "module"}[kind]
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")
        if name not in own[kind]:
            own.pop(name, None)
            for other in KINDS:
                own[other].pop(name, None)
        self._non_persistent_buffers_set.discard(name)
        if kind == "_parameters":
            self.register_parameter(name, value)
        elif kind == "_modules":
            own[kind][name] = registered("module", self, name, value) if everywhere else value
        else:
            self.register_buffer(name, value, value.persistent)

    def _replace(self, kind, name, value):
        """Assigns something of another type to the name of a parameter, buffer or module."""
        if value is not None and not (kind == "_buffers" and isinstance(value, Tensor)):
            wanted = {"_parameters": "Parameter", "_buffers": "Buffer, wisp.Tensor", "_modules": "Module"}[kind]
            _refuse(value, f"as {KINDS[kind]}", name, f"wisp.nn.{wanted} or None expected")
        self.__dict__[kind][name] = registered("buffer", self, name, value) if kind == "_buffers" else value

    def _exchange(self, kind, members):
        """Assigns all members of a kind at once, kept as the class wants them."""
        members = dict(members)
        for name in self.__dict__.get(kind, ()):  # which may belong to the module this one is a copy of
            self.__dict__.pop(name, None)
        self.__dict__[kind] = members if isinstance(self, _Lookup) else MemberDict(self, members)

    def __delattr__(self, name):
        for kind in KINDS:
            if name in self.__dict__.get(kind, ()):
                del self.__dict__[kind][name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    # --- by name

    def _check_name(self, kind, name):
        what = {"_modules": "module"}.get(kind, KINDS[kind])
        if kind not in self.__dict__:
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string. Got {type(name).__name__}")
        if hasattr(self, name) and name not in self.__dict__[kind]:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'{what} name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError(f'{what} name can\'t be empty string ""')

    def register_parameter(self, name, param):
        """Adds a parameter (or None, to be set later) under a name."""
        self._check_name("_parameters", name)
        if param is not None and not isinstance(param, Parameter):
            _refuse(param, "object to parameter", name, "wisp.nn.Parameter or None required")
        if param is not None and param.grad_fn is not None:
            raise ValueError(f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. To "
                             "express a parameter as a function of another Tensor, compute the value in the forward() method.")  # fmt: skip
        if param is not None and everywhere:
            param = registered("parameter", self, name, param)
        self._parameters[name] = param

    def register_buffer(self, name, tensor, persistent=True):
        """Adds a tensor that is part of the module but not trained; part of its state_dict() if persistent."""
        self._check_name("_buffers", name)
        if tensor is not None and not isinstance(tensor, Tensor):
            _refuse(tensor, "object to buffer", name, "wisp Tensor or None required")
        self._buffers[name] = registered("buffer", self, name, tensor) if everywhere else tensor
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def add_module(self, name, module):
        """Adds a child module (or None) under a name."""
        self._checked_child(module)
        self._check_name("_modules", name)
        self._modules[name] = registered("module", self, name, module) if everywhere else module

    @staticmethod
    def _checked_child(module):
        if module is not None and not isinstance(module, Members):
            from wisp._basics import typename

            raise TypeError(f"{typename(module)} is not a Module subclass")
        return module

    def register_module(self, name, module):
        """Another name of add_module()."""
        self.add_module(name, module)

    def get_submodule(self, target):
        """The module of a dotted name, ``"layers.0.attention"``; of "" this one."""
        module = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Members):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target, module, strict=False):
        """Replaces the module of a dotted name; with ``strict`` there must have been one."""
        if not isinstance(module, Members):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        if not name:
            raise ValueError("Cannot set the submodule without a target name!")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{type(parent).__name__} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Members):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target):
        """The parameter of a dotted name."""
        return self._get("_parameters", target, "an nn.Parameter")

    def get_buffer(self, target):
        """The buffer of a dotted name."""
        return self._get("_buffers", target, "a buffer")

    def _get(self, kind, target, what):
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
        if name not in module.__dict__[kind]:
            raise AttributeError(f"`{name}` is not {what}")
        return getattr(module, name)
