"""torch._dynamo.config: settings are kept and change nothing, because what they limit does not exist here."""

from wisp._settings_off import keep

accumulated_cache_size_limit = accumulated_recompile_limit = 256
cache_size_limit = recompile_limit = 8
log_level = 30
log_file_name = repro_after = None
allow_rnn = capture_dynamic_output_shape_ops = capture_scalar_outputs = compiled_autograd = disable = False
do_not_emit_runtime_asserts = error_on_recompile = fail_on_cache_limit_hit = fail_on_recompile_limit_hit = False
install_free_tensors = output_code = prefer_deferred_runtime_asserts_over_guards = specialize_float = False
specialize_int = suppress_errors = verbose = allow_unspec_int_on_nn_module = False
assume_static_by_default = automatic_dynamic_shapes = capture_func_transforms = dynamic_shapes = True
force_parameter_static_shapes = guard_nn_modules = inline_inbuilt_nn_modules = optimize_ddp = True
skip_nnmodule_hook_guards = trace_numpy = True

keep(__name__, "torch._dynamo.config")
