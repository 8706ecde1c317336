"""GradScaler: multiplies losses so that small gradients survive half precision."""

import warnings
from enum import Enum

from wisp._C import Tensor, float16, no_grad, tensor

__all__ = ["GradScaler", "OptState"]


class OptState(Enum):
    """What has been done with the gradients of an optimizer since the last update()."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


class GradScaler:
    """Scales losses, and with them gradients; finds out by itself how much they can be scaled.

    Steps with gradients that are not finite are left out, and the scale becomes smaller; after many good steps it grows.

    Args:
        device: "cpu". For a device that does not exist the scaler is disabled, with a warning.
        init_scale: the first scale.
        growth_factor: what the scale is multiplied by after ``growth_interval`` good steps.
        backoff_factor: what it is multiplied by after a bad one.
        enabled: if False, everything passes through unchanged.

    >>> weight = wisp.nn.Parameter(wisp.ones(2))
    >>> optimizer = wisp.optim.SGD([weight], lr=0.1)
    >>> scaler = wisp.amp.GradScaler("cpu")
    >>> scaler.scale((weight**2).sum()).backward()
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> weight.tolist() == [0.800000011920929] * 2
    True
    """

    def __init__(
        self,
        device="cuda",
        init_scale=2.0**16,
        growth_factor=2.0,
        backoff_factor=0.5,
        growth_interval=2000,
        enabled=True,
    ):
        if enabled and str(device).partition(":")[0] != "cpu":
            warnings.warn(
                f"GradScaler is enabled, but {str(device).upper()} is not available.  Disabling.", stacklevel=2
            )
            enabled = False
        self._device, self._enabled = device, enabled
        if not enabled:
            return
        assert growth_factor > 1.0, "The growth factor must be > 1.0."
        assert backoff_factor < 1.0, "The backoff factor must be < 1.0."
        self._init_scale, self._growth_factor, self._backoff_factor = init_scale, growth_factor, backoff_factor
        self._growth_interval, self._growth_tracker = growth_interval, 0
        self._scale = None  # a tensor from the first scale() on
        self._optimizers = {}

    # --- one iteration

    def scale(self, outputs):
        """A tensor, or tensors in lists and tuples, multiplied by the scale."""
        if not self._enabled:
            return outputs
        if self._scale is None:
            self._scale = tensor(float(self._init_scale))
        if isinstance(outputs, Tensor):
            return outputs * self._scale.to(outputs.dtype)
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(self.scale(output) for output in outputs)
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer):
        """Divides the gradients of an optimizer's parameters by the scale: to be called before they are clipped."""
        if not self._enabled:
            return
        self._check_scale("unscale_")
        record = self._record(optimizer)
        if record["stage"] is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if record["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        record["found_inf"] = self._unscale(optimizer, 1 / self._scale.item())
        record["stage"] = OptState.UNSCALED

    @staticmethod
    @no_grad()
    def _unscale(optimizer, factor):
        """Multiplies all gradients; returns whether one was not finite, or None if there is no gradient."""
        found = None
        for group in optimizer.param_groups:
            for param in group["params"]:
                if param.grad is None:
                    continue
                if param.grad.dtype is float16:
                    raise ValueError("Attempting to unscale FP16 gradients.")
                param.grad.mul_(factor)
                found = bool(found) or not param.grad.isfinite().all().item()
        return found

    def step(self, optimizer, *args, **kwargs):
        """Calls the optimizer's step(), after unscale_() if that has not been done, unless a gradient is not finite."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_scale("step")
        record = self._record(optimizer)
        if record["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if record["stage"] is OptState.READY:
            self.unscale_(optimizer)
        assert record["found_inf"] is not None, "No inf checks were recorded for this optimizer."
        result = None if record["found_inf"] else optimizer.step(*args, **kwargs)
        record["stage"] = OptState.STEPPED
        return result

    def update(self, new_scale=None):
        """Makes the scale larger or smaller, by how the steps went, or sets it; ends the iteration."""
        if not self._enabled:
            return
        self._check_scale("update")
        if new_scale is not None:
            self._set(new_scale)
        else:
            found = [record["found_inf"] for record in self._optimizers.values() if record["found_inf"] is not None]
            assert found, "No inf checks were recorded prior to update."
            self._adapt(any(found))
        self._optimizers = {}

    def _set(self, new_scale):
        if isinstance(new_scale, Tensor):
            assert new_scale.numel() == 1 and not new_scale.requires_grad, (
                "new_scale should be a float or a 1-element tensor with requires_grad=False."
            )
        self._scale.fill_(float(new_scale))

    def _adapt(self, failed):
        self._growth_tracker = 0 if failed else self._growth_tracker + 1
        if failed:
            self._scale.mul_(self._backoff_factor)
        elif self._growth_tracker == self._growth_interval:
            grown = self._scale * self._growth_factor
            if grown.isfinite().item():
                self._scale.copy_(grown)
            self._growth_tracker = 0

    def _record(self, optimizer):
        return self._optimizers.setdefault(id(optimizer), {"stage": OptState.READY, "found_inf": None})

    def _check_scale(self, name):
        assert self._scale is not None, (
            f"Attempted {name} but _scale is None.  This may indicate your script did not use scaler.scale(loss or "
            "outputs) earlier in the iteration."
        )

    # --- settings

    def is_enabled(self):
        """Whether the scaler does anything."""
        return self._enabled

    def get_scale(self):
        """The scale as a number; 1.0 if disabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def get_growth_factor(self):
        return self._growth_factor

    def set_growth_factor(self, new_factor):
        self._growth_factor = new_factor

    def get_backoff_factor(self):
        return self._backoff_factor

    def set_backoff_factor(self, new_factor):
        self._backoff_factor = new_factor

    def get_growth_interval(self):
        return self._growth_interval

    def set_growth_interval(self, new_interval):
        self._growth_interval = new_interval

    def _get_growth_tracker(self):
        return self._growth_tracker if self._enabled else 0

    # --- saving

    def state_dict(self):
        """The scale and the settings; empty if disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(), "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval, "_growth_tracker": self._growth_tracker,
        }  # fmt: skip

    def load_state_dict(self, state_dict):
        """Takes what state_dict() gave."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("The source state dict is empty, possibly because it was saved from a disabled instance of "
                               "GradScaler.")  # fmt: skip
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale.fill_(self._init_scale)
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval, self._growth_tracker = state_dict["growth_interval"], state_dict["_growth_tracker"]

    def __getstate__(self):
        state = self.__dict__.copy()
        if self._enabled:
            assert not self._optimizers, (
                "A GradScaler instance may only be pickled at the beginning of an iteration, or at the end after "
                "scaler.update()."
            )
            state.update(_init_scale=self.get_scale(), _scale=None)
        return state
