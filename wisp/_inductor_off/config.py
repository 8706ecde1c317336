"""torch._inductor.config"""

from wisp._settings_off import Settings, keep, part

aggressive_fusion = assert_indirect_indexing = autotune_in_subproc = b2b_gemm_pass = batch_fusion = False
benchmark_fusion = benchmark_kernel = comment_origin = conv_1x1_as_mm = coordinate_descent_tuning = cpp_wrapper = False
coordinate_descent_check_all_directions = dce = debug = deterministic = disable_cpp_codegen = disable_progress = False
emulate_precision_casts = epilogue_fusion_first = fallback_random = force_disable_caches = force_shape_pad = False
force_fuse_int_mm_with_mul = force_same_precision = freezing = fx_graph_remote_cache = graph_partition = False
group_fusion = max_autotune = max_autotune_gemm = max_autotune_pointwise = profiler_mark_wrapper_call = False
reorder_for_compute_comm_overlap = search_autotune_cache = use_mixed_mm = verbose_progress = False
allow_buffer_reuse = epilogue_fusion = fx_graph_cache = implicit_fallbacks = inplace_buffers = True
keep_output_stride = layout_optimization = loop_ordering_after_fusion = pattern_matcher = pick_loop_orders = True
prologue_fusion = reorder_for_locality = reorder_for_peak_memory = shape_padding = size_asserts = True
split_reductions = static_weight_shapes = True
autotune_num_choices_displayed = 10
compile_threads = 1
cpu_backend, cuda_backend, max_autotune_gemm_backends = "cpp", "triton", "ATEN,TRITON,CPP"
max_autotune_conv_backends, max_autotune_gemm_search_space = "ATEN,TRITON", "DEFAULT"
max_fusion_size, realize_opcount_threshold, realize_reads_threshold = 64, 30, 4
post_grad_custom_post_pass = post_grad_custom_pre_pass = pre_grad_custom_pass = None
aot_inductor = part("torch._inductor.config.aot_inductor", debug_compile=False, output_path="", package=False)
cpp = part(
    "torch._inductor.config.cpp", cxx=(None, "g++"), dynamic_threads=False, enable_kernel_profile=False,
    fallback_scatter_reduce_sum=True, max_horizontal_fusion_size=16, min_chunk_size=512, no_redundant_loops=True,
    simdlen=None, threads=-1, vec_isa_ok=None, weight_prepack=True,
)  # fmt: skip
cuda = part("torch._inductor.config.cuda", arch=None, compile_opt_level="-O1", version=None)
trace = part(
    "torch._inductor.config.trace", debug_dir=None, debug_log=False, enabled=False, fx_graph=True, graph_diagram=False,
    info_log=False, ir_post_fusion=True, ir_pre_fusion=True, output_code=True, save_real_tensors=False,
)  # fmt: skip
triton = part(
    "torch._inductor.config.triton", autotune_at_compile_time=None, autotune_cublasLt=True, autotune_pointwise=True,
    cooperative_reductions=False, cudagraph_skip_dynamic_graphs=False, cudagraph_support_input_mutation=True,
    cudagraph_trees=True, cudagraphs=False, descriptive_names="original_aten", divisible_by_16=True,
    fast_path_cudagraph_asserts=False, force_cudagraph_sync=False, max_tiles=None, multi_kernel=0,
    persistent_reductions=True, prefer_nd_tiling=False, store_cubin=False, tiling_prevents_pointwise_fusion=True,
    tiling_prevents_reduction_fusion=True, unique_kernel_names=True, unique_user_kernel_names=False,
)  # fmt: skip


def _names():
    found = []
    for name, value in globals().items():
        if isinstance(value, Settings):
            found += [f"{name}.{inner}" for inner in vars(value) if not inner.startswith("_")]
        elif not name.startswith("_") and not callable(value):
            found.append(name)
    return found


keep(__name__, "torch._inductor.config")
