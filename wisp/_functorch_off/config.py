"""torch._functorch.config"""

from wisp._settings_off import keep

activation_memory_budget = 1.0
activation_memory_budget_solver = "dp"
aggressive_recomputation = debug_assert = debug_partitioner = enable_autograd_cache = functionalize_rng_ops = False
recompute_views = treat_parameters_as_free_to_save = view_replay_for_aliased_outputs = False
ban_recompute_not_in_allowlist = ban_recompute_reductions = cse = donated_buffer = True

keep(__name__, "torch._functorch.config")
