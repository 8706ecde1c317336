"""wisp in place of torch: `import torch` and `import torch.x.y` give wisp and wisp.x.y, the very same modules."""

import os
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec

import wisp
from wisp import _dispatch_off, _dtypes_off, _sharded_off, version

# Modules that are files of their own in torch, and where their names live in wisp.
_HOMES = {f"torch.optim.{name}": "wisp.optim" for name in (
    "_adafactor", "_muon", "adadelta", "adagrad", "adam", "adamax", "adamw", "asgd", "nadam", "radam", "rmsprop",
    "rprop", "sgd", "sparse_adam",
)} | {f"torch._dynamo.{name}": f"wisp._dynamo_off.{name}" for name in ("config", "exc", "utils")} | {
    "torch._custom_ops": "wisp.library", "torch._dynamo": "wisp._dynamo_off", "torch._dynamo.decorators": "wisp._dynamo_off",
    "torch._dynamo.external_utils": "wisp._dynamo_off", "torch._functorch": "wisp._functorch_off",
    "torch._functorch.config": "wisp._functorch_off.config", "torch._dynamo.backends": "wisp._dynamo_off",
    "torch._dynamo.backends.registry": "wisp._dynamo_off",
    "torch._inductor": "wisp._inductor_off", "torch._inductor.config": "wisp._inductor_off.config",
    "torch._logging": "wisp._logging_off",
    "torch.ao": "wisp._quantized_off", "torch.ao.quantization": "wisp._quantized_off",
    "torch._dynamo._trace_wrapped_higher_order_op": "wisp._dynamo_off", "torch._dynamo.eval_frame": "wisp._dynamo_off",
    "torch._subclasses": "wisp._tracing_off", "torch._subclasses.fake_tensor": "wisp._tracing_off",
    "torch.distributed.device_mesh": "wisp._sharded_off", "torch.distributed.fsdp": "wisp._sharded_off",
    "torch.distributed.fsdp.fully_sharded_data_parallel": "wisp._sharded_off",
    "torch.distributed.optim": "wisp._sharded_off", "torch.distributed.tensor": "wisp._sharded_off",
    "torch.fx": "wisp._fx_off", "torch.fx.experimental": "wisp._fx_off",
    "torch.fx.experimental.proxy_tensor": "wisp._tracing_off", "torch.nn.parallel.distributed": "wisp._sharded_off",
    "torch.autograd.profiler": "wisp._profiler_off", "torch.profiler": "wisp._profiler_off",
    "torch.onnx.symbolic_helper": "wisp._onnx_off", "torch.onnx.symbolic_opset11": "wisp._onnx_off",
}  # fmt: skip

# A folder with a module "torch" that installs the hook: what processes that inherit sys.path find.
STAND_IN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_stand_in")


class MissingModule(ModuleNotFoundError):
    """A submodule of torch that wisp does not have."""

    def __init__(self, name):
        super().__init__(f"No module named '{name}': {version.STANDS_IN}", name=name)

    def __reduce__(self):
        return type(self), (self.name,)


class Finder:
    """An entry of sys.meta_path that finds modules of torch among those of wisp, and loads them."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch" and not name.startswith("torch."):
            return None
        found = self._home(name)
        if found is None:
            if _is_only_asked():
                return None
            raise MissingModule(name)
        spec = ModuleSpec(name, self, origin=found.origin)
        spec.submodule_search_locations = found.submodule_search_locations
        return spec

    @staticmethod
    def _home(name):
        """Where wisp has what torch calls by this name, or None."""
        return find_spec(_HOMES.get(name, "wisp" + name[len("torch") :]))

    def create_module(self, spec):
        """None: the module exists, or will when wisp's own is imported."""

    def exec_module(self, module):
        name = module.__spec__.name
        home = self._home(name).name
        found = sys.modules[name] = import_module(home)  # the import system hands out what it finds there
        if name == "torch.onnx":
            from wisp import _onnx_off

            for extra in _onnx_off.__all__:
                setattr(found, extra, getattr(_onnx_off, extra))
        _find_hidden(home)

    def get_code(self, name):
        """The code of a module, for those who run it."""
        home = self._home(name)
        return home.loader.get_code(home.name)

    def find_distributions(self, context=None):
        """What importlib.metadata knows of the package "torch"."""
        if context is not None and (context.name or "").lower() == "torch":
            yield _distribution()


def _find_hidden(package):
    """Finds beforehand the modules that hide behind another thing of their name, as wisp.autograd.gradcheck behind the
    function: the import system would put the module in the function's place."""
    for name, module in list(sys.modules.items()):
        parent, _, child = name.rpartition(".")
        if name.startswith(package + ".") and vars(sys.modules[parent]).get(child, module) is not module:
            sys.modules.setdefault("torch" + name[len("wisp") :], module)


def _nothing(*args):
    """Does nothing."""


def _softmax_backward_data(grad_output, output, dim, input_dtype):
    """The gradient of softmax, by the name under which some libraries look for it."""
    product = grad_output * output
    return (product - output * product.sum(dim, keepdim=True)).to(input_dtype)


def _is_only_asked():
    """Whether importlib.util.find_spec() wants to know if a module exists: it expects None, not an error."""
    return sys._getframe(3).f_globals.get("__name__") == "importlib.util"


def _distribution():
    from importlib.metadata import Distribution

    class StandIn(Distribution):
        def read_text(self, filename):
            if filename != "METADATA":
                return None
            return f"Metadata-Version: 2.1\nName: torch\nVersion: {version.as_torch()}\nSummary: wisp standing in\n"

        def locate_file(self, path):
            return os.path.join(os.path.dirname(wisp.__file__), path)

    return StandIn()


def install():
    """From now on, in this process and in those it starts with multiprocessing, torch means wisp."""
    present = sys.modules.get("torch")
    if present is wisp:
        return
    # (A stand-in that is being imported right now is on its way here.)
    if present is not None and not (getattr(present, "__file__", None) or "").startswith(STAND_IN):
        raise ImportError(
            f"wisp cannot stand in for torch, which is imported already (from {present.__file__}). Import "
            "wisp.as_torch before torch and everything that uses it."
        )
    sys.meta_path.insert(0, Finder())
    sys.modules["torch"] = wisp
    _find_hidden("wisp")
    wisp.__name__ = "torch"  # some libraries look at it,
    wisp._C._show_as("torch")  # or at the names of dtypes,
    wisp.torch = wisp  # and some write torch.torch.Tensor
    wisp.__version__ = version.__version__ = version.as_torch()
    wisp._C._log_api_usage_once = wisp._C._get_tracing_state = _nothing  # libraries call them,
    wisp.Tensor._cdata = property(id)  # and tell tensors apart by this
    wisp._softmax_backward_data = _softmax_backward_data
    _dtypes_off.add_to(wisp)
    wisp._C.DispatchKey, wisp._C.DispatchKeySet = _dispatch_off.DispatchKey, _dispatch_off.DispatchKeySet
    wisp._C._TensorMeta, wisp.PyTorchFileReader = type(wisp.Tensor), _dispatch_off.PyTorchFileReader
    functional, conversions = (import_module(f"wisp.nn.{name}") for name in ("functional", "modules._conversions"))
    wisp._C._nn = _dispatch_off.NativeFunctions(functional, conversions._parse_to)
    wisp._C.Graph, wisp._C.Value = wisp._C._jit.Graph, wisp._C._jit.Value  # named in annotations
    for name in (
        "torch._dynamo",
        "torch._functorch",
        "torch._inductor",
        "torch._logging",
        "torch.distributed.device_mesh",
        "torch.fx",
        "torch.profiler",
    ):
        import_module(name)  # programs that import torch alone find them too
    import_module("wisp.nn.parallel").DistributedDataParallel = _sharded_off.DistributedDataParallel
    import_module("wisp.distributed").ProcessGroup = _sharded_off.ProcessGroup
    if STAND_IN not in sys.path:
        sys.path.insert(1, STAND_IN)
