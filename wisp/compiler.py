"""What programs ask of torch.compiler. Nothing is compiled here: calls are recorded as they happen (see wisp._lazy)."""

import functools

from wisp import _C
from wisp._lazy import _NOTHING, _collected, compile
from wisp._settings_off import part

__all__ = [
    "allow_in_graph", "assume_constant_result", "compile", "config", "cudagraph_mark_step_begin", "disable",
    "get_default_backend", "is_compiling", "is_dynamo_compiling", "is_exporting", "keep_tensor_guards_unsafe",
    "list_backends", "load_cache_artifacts", "nested_compile_region", "reset", "save_cache_artifacts",
    "set_default_backend", "set_enable_guard_collectives", "set_stance", "skip_all_guards_unsafe",
    "skip_guard_on_all_nn_modules_unsafe", "skip_guard_on_globals_unsafe", "skip_guard_on_inbuilt_nn_modules_unsafe",
    "substitute_in_graph", "wrap_numpy",
]  # fmt: skip


def disable(fn=None, recursive=True, *, reason=None):
    """A function whose kernels run at once, wherever it is called; without one, a decorator."""
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)
    from wisp.nn import Module

    if isinstance(fn, Module):
        from wisp.nn._compiled import OptimizedModule

        return OptimizedModule(fn, (_NOTHING, False, False))
    return _collected(fn, _NOTHING, False)


def _itself(fn):
    """The function itself."""
    return fn


allow_in_graph = assume_constant_result = wrap_numpy = _itself


def nested_compile_region(fn=None, options=None):
    """The function itself: plans are found for parts of programs wherever they occur."""
    return _itself if fn is None else fn


def substitute_in_graph(
    original_fn, *, can_constant_fold_through=False, skip_signature_check=False, is_embedded_type=False
):
    """A decorator of what PyTorch's compiler takes for a function written in C, which is called here as it is."""
    return _itself


def reset():
    """Forgets all plans, and what was learnt of places in the program. Compiled functions stay as they are."""
    _C._lazy_forget()


def cudagraph_mark_step_begin():
    """Does nothing: there are no graphs of a device."""


class set_stance:
    """With "force_eager", compiled functions are called as they are: in a block, in a function that is decorated with it, or,
    called as a function, for the rest of the program. The other stances of PyTorch mean what "default" means."""

    _STANCES = "default", "eager_then_compile", "aot_eager_then_compile", "force_eager", "eager_on_recompile", "fail_on_recompile"  # fmt: skip

    def __init__(self, stance="default", *, skip_guard_eval_unsafe=False, force_backend=None):
        if stance not in self._STANCES:
            raise RuntimeError(f"invalid torch.compile stance '{stance}', expected one of {self._STANCES}")
        self._compiles = stance != "force_eager"
        self._before = _C._lazy_compiles(self._compiles)

    def __enter__(self):
        _C._lazy_compiles(self._compiles)
        return self

    def __exit__(self, *error):
        _C._lazy_compiles(self._before)

    def __call__(self, fn):
        _C._lazy_compiles(self._before)

        @functools.wraps(fn)
        def inside(*args, **kwargs):
            before = _C._lazy_compiles(self._compiles)
            try:
                return fn(*args, **kwargs)
            finally:
                _C._lazy_compiles(before)

        return inside


# Names that programs pass as ``backend``. Each stands for the one way there is.
_backends = dict.fromkeys(("inductor", "cudagraphs", "eager", "eager_noexcept", "aot_eager", "aot_eager_decomp_partition",
                           "aot_ts", "ts", "ipex", "openvino", "onnxrt", "openxla", "tensorrt", "tvm"))  # fmt: skip
_backend = "inductor"


def set_default_backend(backend):
    """Noted, and chooses nothing: there is one way."""
    global _backend
    _backend = backend


def get_default_backend():
    """What ``set_default_backend`` was called with."""
    return _backend


def register_backend(compiler_fn=None, name=None, tags=()):
    """From now on ``compile()`` takes this name of a backend, which will not be called; a decorator if there is only a
    name."""
    if compiler_fn is None:
        return functools.partial(register_backend, name=name, tags=tags)
    _backends[name or compiler_fn.__name__] = compiler_fn
    return compiler_fn


def lookup_backend(compiler_fn):
    """The backend of a name: a function that gives back the graph, unless the program has registered one."""
    if not isinstance(compiler_fn, str):
        return compiler_fn
    if compiler_fn not in _backends:
        from wisp._dynamo_off.exc import InvalidBackend

        raise InvalidBackend(compiler_fn)
    return _backends[compiler_fn] or _give_back


def _give_back(gm, example_inputs, **options):
    return gm.forward


config = part("torch.compiler.config", cache_key_tag="", dynamic_sources="", force_disable_caches=False, job_id=None,
              unbacked_sources="")  # fmt: skip


def set_enable_guard_collectives(enabled):
    """Noted, and changes nothing. Returns what it was."""
    before, set_enable_guard_collectives._enabled = set_enable_guard_collectives._enabled, bool(enabled)
    return before


set_enable_guard_collectives._enabled = False


def skip_all_guards_unsafe(guard_entries):
    """For the option "guard_filter_fn", which is never called: whatever may change is noticed."""
    return [False for _ in guard_entries]


skip_guard_on_inbuilt_nn_modules_unsafe = skip_guard_on_all_nn_modules_unsafe = skip_all_guards_unsafe
keep_tensor_guards_unsafe = skip_guard_on_globals_unsafe = skip_all_guards_unsafe


def save_cache_artifacts():
    """None: nothing is compiled, so there is nothing to be saved."""


def load_cache_artifacts(serialized_artifacts):
    """None: there is nothing to be loaded."""


def list_backends(exclude_tags=("debug", "experimental")):
    """The one there is, under the name of PyTorch's default, and those that the program has registered."""
    return ["inductor", *(name for name, made in _backends.items() if made)]


def is_compiling():
    """False: this is Python, run as it is written."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def __getattr__(name):
    from wisp._missing import MissingName

    raise MissingName(__name__, name)
