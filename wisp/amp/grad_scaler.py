"""GradScaler: losses are scaled up so that gradients in float16 do not vanish, and gradients back down."""

import enum
import warnings

import wisp

__all__ = ["GradScaler", "OptState"]


class OptState(enum.Enum):
    """What has happened to an optimiser's gradients since the last update()."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


class GradScaler:
    """Scales the loss by a number that grows while gradients stay finite and shrinks when they do not.

    >>> import wisp
    >>> scaler = wisp.amp.GradScaler("cpu", init_scale=4.0)
    >>> w = wisp.ones(2, requires_grad=True)
    >>> optimizer = wisp.optim.SGD([w], lr=1.0)
    >>> scaler.scale(w.sum()).backward()
    >>> w.grad
    tensor([4., 4.])
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> w
    tensor([0., 0.], requires_grad=True)
    """

    def __init__(
        self,
        device="cuda",
        init_scale=65536.0,
        growth_factor=2.0,
        backoff_factor=0.5,
        growth_interval=2000,
        enabled=True,
    ):
        self._device = device
        self._enabled = enabled
        if enabled and device == "cuda":
            warnings.warn("GradScaler is enabled, but CUDA is not available.  Disabling.", UserWarning, stacklevel=2)
            self._enabled = False
        if not self._enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._scale = float(init_scale)
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._successes = 0
        self._optimizers = {}  # id -> [OptState, whether a gradient was not finite]

    def is_enabled(self):
        """Whether losses are scaled at all."""
        return self._enabled

    def scale(self, outputs):
        """A tensor, or a nest of lists and tuples of them, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, wisp.Tensor):
            return outputs * self._scale
        if isinstance(outputs, (list, tuple)):
            scaled = [self.scale(o) for o in outputs]
            return type(outputs)(*scaled) if hasattr(outputs, "_fields") else type(outputs)(scaled)
        if hasattr(outputs, "__iter__"):
            return map(self.scale, outputs)
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer):
        """Divides the gradients of an optimiser's parameters by the scale, for clipping and the like."""
        if not self._enabled:
            return
        state = self._state_of(optimizer)
        if state[0] is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state[0] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        state[:] = OptState.UNSCALED, self._unscale(optimizer)

    def _state_of(self, optimizer):
        return self._optimizers.setdefault(id(optimizer), [OptState.READY, False])

    def _unscale(self, optimizer):
        """Whether a gradient is not finite."""
        grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        if not grads:
            raise RuntimeError("No inf checks were recorded for this optimizer: none of its parameters has a gradient.")
        inverse, overflow = 1.0 / self._scale, False
        with wisp.no_grad():
            for grad in grads:
                if grad.dtype is wisp.float16:
                    raise ValueError("Attempting to unscale FP16 gradients.")
                grad.mul_(inverse)
                overflow = overflow or not bool(wisp.isfinite(grad).all())
        return overflow

    def step(self, optimizer, *args, **kwargs):
        """optimizer.step(), unless a gradient is infinite or not a number; unscales the gradients first if that has not
        happened."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        state = self._state_of(optimizer)
        if state[0] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if state[0] is OptState.READY:
            self.unscale_(optimizer)
        result = None if state[1] else optimizer.step(*args, **kwargs)
        state[0] = OptState.STEPPED
        return result

    def update(self, new_scale=None):
        """Adjusts the scale after the optimisers have stepped."""
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        else:
            if not self._optimizers:
                raise AssertionError("No inf checks were recorded prior to update.")
            self._adjust(any(overflow for _, overflow in self._optimizers.values()))
        self._optimizers.clear()

    def _adjust(self, overflow):
        if overflow:
            self._scale *= self._backoff_factor
            self._successes = 0
            return
        self._successes += 1
        if self._successes == self._growth_interval:
            grown = self._scale * self._growth_factor
            if grown <= wisp.finfo(wisp.float32).max:
                self._scale = grown
            self._successes = 0

    def get_scale(self):
        """The scale, 1.0 if disabled."""
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self):
        """What the scale grows by."""
        return self._growth_factor

    def set_growth_factor(self, new_factor):
        """Sets what the scale grows by."""
        self._growth_factor = new_factor

    def get_backoff_factor(self):
        """What the scale shrinks by."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor):
        """Sets what the scale shrinks by."""
        self._backoff_factor = new_factor

    def get_growth_interval(self):
        """After how many good steps the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval):
        """Sets after how many good steps the scale grows."""
        self._growth_interval = new_interval

    def state_dict(self):
        """What load_state_dict() takes; empty if disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self._scale, "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval, "_growth_tracker": self._successes,
        }  # fmt: skip

    def load_state_dict(self, state_dict):
        """Takes up where another scaler was."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._scale = state_dict["scale"]
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._successes = state_dict["_growth_tracker"]
