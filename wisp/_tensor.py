"""Tensor's methods written in Python; the class has them once wisp is imported.

What they need beyond the core is imported inside them: most programs call few of them.
"""

from wisp import _C
from wisp._C import Tensor


class _Methods:
    # --- Python's protocols

    __array_priority__ = 1000  # NumPy's operators leave the work to us
    # Python 2's names of division, which are still called by name.
    __div__, __rdiv__, __idiv__ = Tensor.__truediv__, Tensor.__rtruediv__, Tensor.__itruediv__

    def __array_wrap__(self, array, context=None, return_scalar=False):
        """Results of NumPy's functions of tensors become tensors."""
        return _C.from_numpy(array.astype("uint8") if array.dtype == bool else array)

    def __array_namespace__(self, *, api_version=None):
        """The functions of the Python array API standard."""
        from wisp import array_api

        if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
            raise ValueError(f"expected api_version up to {array_api.__array_api_version__}, got {api_version!r}")
        return array_api

    def to_device(self, device, /, *, stream=None):
        """`to` by its name in the array API standard."""
        if stream is not None:
            raise ValueError("to_device(): expected no stream, there are none on the CPU")
        return self.to(device)

    def __format__(self, format_spec):
        if self.dim() == 0 and type(self) is Tensor:
            return format(self.item(), format_spec)
        return object.__format__(self, format_spec)

    def __contains__(self, element):
        if isinstance(element, (Tensor, int, float, complex)):
            return bool((element == self).any())
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")

    def __reversed__(self):
        return self if self.dim() == 0 else self.flip(0)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """Called for every operation on an object of a subclass: results become objects of the subclass too."""
        from wisp import overrides

        return overrides._by_default(cls, func, types, args, kwargs or {})

    # --- copies and pickles

    def _attributes(self):
        """What the user has set on the tensor. Hooks stay behind: they belong to the object, not to its value."""
        return {name: value for name, value in self.__dict__.items() if name != "_backward_hooks"}

    def __setstate__(self, state):
        self.__dict__.update(state)

    def __reduce_ex__(self, protocol):
        from wisp import _rebuild
        from wisp.utils.hooks import warn_if_has_hooks

        warn_if_has_hooks(self)
        state = self._attributes()
        if self.is_meta:
            parts = (type(self), self.dtype, tuple(self.shape), self.stride(), self.requires_grad)
            return _rebuild.meta_tensor, parts + (state,) if state else parts
        stride = None if self.is_contiguous() else self.stride()
        parts = (type(self), self.untyped_storage(), self.dtype, self.storage_offset(), tuple(self.shape), stride,
                 self.requires_grad)  # fmt: skip
        return _rebuild.tensor, parts + (state,) if state else parts

    def __deepcopy__(self, memo):
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment. "
                "Use detach() or clone() to copy the value of a computed tensor."
            )
        if id(self) in memo:
            return memo[id(self)]
        from copy import deepcopy

        from wisp import _rebuild

        storage = deepcopy(self.untyped_storage(), memo)
        made = _rebuild.tensor(type(self), storage, self.dtype, self.storage_offset(), self.shape, self.stride(),
                               self.requires_grad)  # fmt: skip
        memo[id(self)] = made
        if self.grad is not None:
            made.grad = deepcopy(self.grad, memo)
        state = self._attributes()
        if state:
            made.__setstate__(deepcopy(state, memo))
        return made

    # --- storages

    def untyped_storage(self):
        """The memory this tensor is a view of, as bytes."""
        from wisp._storage import storage_of

        return storage_of(self)

    def storage(self):
        """The memory this tensor is a view of, as elements of its dtype."""
        from wisp._storage import TypedStorage

        return TypedStorage(self.untyped_storage(), self.dtype)

    def set_(self, source=None, storage_offset=0, size=None, stride=None):
        """Becomes a view of another tensor's memory, or of a storage's."""
        if source is None:
            source, size = self.new_empty(0), (0,)
        if isinstance(source, Tensor):
            if source.dtype is not self.dtype:
                raise RuntimeError(f"set_(): expected a tensor of {self.dtype}, got {source.dtype}")
            if size is None:
                return self._set(source, source.storage_offset(), source.shape, source.stride())
            return self._set(source, storage_offset, size, stride)
        untyped = source.untyped() if hasattr(source, "untyped") else source
        if untyped is not source and source.dtype is not self.dtype:
            raise RuntimeError(f"set_(): expected a storage of {self.dtype} or an UntypedStorage, got {source.dtype}")
        if size is None:
            size = (untyped.nbytes() // self.element_size() - storage_offset,)
        return self._set(untyped._bytes, storage_offset, size, stride)

    def resize_(self, *sizes, size=None, memory_format=None):
        """Takes other sizes in place; new elements, if there are any, are uninitialised."""
        if size is not None:
            sizes = size
        elif len(sizes) == 1 and not isinstance(sizes[0], int):
            sizes = sizes[0]
        return self._resize(sizes, memory_format)

    def resize_as_(self, the_template, *, memory_format=None):
        """resize_() to the size of another tensor; `preserve_format` takes its memory format too."""
        import wisp

        if memory_format is wisp.preserve_format:
            channels_last = {4: wisp.channels_last, 5: wisp.channels_last_3d}.get(the_template.dim())
            last = channels_last and the_template.is_contiguous(memory_format=channels_last)
            memory_format = channels_last if last and not the_template.is_contiguous() else wisp.contiguous_format
        return self._resize(the_template.shape, memory_format)

    def as_strided_(self, size, stride, storage_offset=None):
        """Takes other sizes, strides and storage offset in place, on the same memory."""
        offset = self.storage_offset()
        storage_offset = offset if storage_offset is None else storage_offset
        return self._as_strided_(size, stride, storage_offset, self.shape, self.stride(), offset)

    def share_memory_(self):
        """Moves the tensor's memory, and with it all views of it, to where other processes can see it.

        Processes forked later, and those the tensor is sent to, read and write the same memory.
        """
        self.untyped_storage().share_memory_()
        return self

    def is_shared(self):
        """Whether the tensor's memory is shared with other processes; see share_memory_()."""
        return self.untyped_storage().is_shared()

    def dim_order(self, *, ambiguity_check=False):
        """The dimensions in the order they lie in memory, outermost first."""
        order = sorted(range(self.dim()), key=lambda d: (-self.stride(d), d))
        if ambiguity_check:
            strides = [self.stride(d) for d in order if self.shape[d] > 1]
            if len(set(strides)) != len(strides) or any(n <= 1 for n in self.shape):
                raise RuntimeError(
                    "The tensor does not have unique dim order, or cannot map to exact one of the given memory formats."
                )
        return tuple(order)

    def to_dense(self, dtype=None, *, masked_grad=True):
        """The tensor itself: all tensors are dense."""
        return self if dtype is None else self.to(dtype)

    def storage_type(self):
        """The class of storage()."""
        return type(self.storage())

    def module_load(self, other, assign=False):
        """What Module.load_state_dict() makes of a parameter and the tensor loaded for it."""
        return other.detach() if assign else self.copy_(other).detach()

    is_ipu = is_maia = is_mtia = is_vulkan = is_xla = False

    # --- distinct elements

    def unique(self, sorted=True, return_inverse=False, return_counts=False, dim=None):
        """See wisp.unique()."""
        from wisp.functional import unique

        return unique(self, sorted, return_inverse, return_counts, dim)

    def unique_consecutive(self, return_inverse=False, return_counts=False, dim=None):
        """See wisp.unique_consecutive()."""
        from wisp.functional import unique_consecutive

        return unique_consecutive(self, return_inverse, return_counts, dim)

    def polygamma_(self, n):
        """polygamma() in place."""
        return self.copy_(self.clone().polygamma(n))

    # --- new tensors

    def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False):
        """A tensor of the data, of this one's dtype unless another is given."""
        return _C.tensor(data, dtype=dtype or self.dtype, device=device, requires_grad=requires_grad)

    def new(self, *args, **kwargs):
        """The legacy constructor, for this tensor's dtype."""
        from wisp._legacy import construct

        return construct(self.dtype, *args, **kwargs)

    def type_as(self, other):
        """This tensor converted to the dtype of another."""
        return self.to(other.dtype)

    # --- elements through Python functions: slow, for what no operator does

    def apply_(self, callable):
        """Replaces every element by ``callable(element)``."""
        return self._by_element("apply_", callable)

    def map_(self, other, callable):
        """Replaces every element by ``callable(element, element of other)``."""
        return self._by_element("map_", callable, other)

    def map2_(self, x, y, callable):
        """Replaces every element by ``callable(element, element of x, element of y)``."""
        return self._by_element("map2_", callable, x, y)

    def _by_element(self, name, callable, *others):
        if self.requires_grad or any(t.requires_grad for t in others):
            raise RuntimeError(
                f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead."
            )
        for t in others:
            if t.dtype is not self.dtype:
                raise TypeError(f"{name}: expected {self.type()} for 'other' (got {t.type()})")
        columns = [self.reshape(-1).tolist()] + [t.expand(self.shape).reshape(-1).tolist() for t in others]
        values = [callable(*row) for row in zip(*columns)]
        return self.copy_(_C.tensor(values, dtype=self.dtype).reshape(self.shape))

    # --- the rest

    @staticmethod
    def _make_subclass(cls, data, require_grad=False):  # noqa: PLW0211
        """The memory of a tensor as an object of a subclass, without history."""
        return _C._make_subclass(cls, data, require_grad)

    def lu(self, pivot=True, get_infos=False):
        """``wisp.lu`` of this tensor."""
        from wisp.functional import lu

        return lu(self, pivot, get_infos)

    def is_nonzero(self):
        """The truth of a tensor with one element."""
        return bool(self)

    def is_pinned(self, device=None):
        """False: there is no other device to pin memory for."""
        return False

    def pin_memory(self, device=None):
        """Fails: there is no other device to pin memory for."""
        raise RuntimeError("pin_memory(): wisp computes on the CPU and has no other device to pin memory for")


for _name, _value in vars(_Methods).items():
    if _name not in ("__module__", "__dict__", "__weakref__", "__doc__", "__qualname__"):
        setattr(Tensor, _name, _value)
