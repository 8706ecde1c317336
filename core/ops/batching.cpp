// How operators behave with an extra dimension in front (vmap), where more can be said than "one
// sample at a time". Pointwise operators say so in their entries; composites need to say nothing.
#include "ops/families.h"

namespace wisp::ops {

void set_batching(Registry& r) {
  r.set_batch({"sum.dim",
               "mean.dim",
               "nansum",
               "prod.dim_int",
               "any.dims",
               "all.dims",
               "count_nonzero",
               "max.dim",
               "min.dim",
               "amax",
               "amin",
               "aminmax",
               "argmax",
               "argmin",
               "var.correction",
               "var_mean.correction",
               "std.correction",
               "std_mean.correction",
               "vector_norm",
               "cumsum",
               "_cumsum_reverse",
               "logcumsumexp",
               "cumprod",
               "cummax",
               "cummin",
               "softmax",
               "log_softmax",
               "logsumexp",
               "sort",
               "sort.stable",
               "topk",
               "kthvalue",
               "median.dim",
               "nanmedian.dim",
               "mode",
               "flip",
               "index_select",
               "index_fill",
               "squeeze.dim",
               "squeeze.dims",
               "unsqueeze",
               "transpose",
               "select",
               "slice",
               "diagonal",
               "unfold",
               "split",
               "split.sizes",
               "split_with_sizes",
               "unbind",
               "diag_embed"},
              Batch::along);
  r.set_batch({"alias", "clone", "_to_copy", "view_as_real", "view_as_complex", "tril", "triu",
               "constant_pad_nd", "empty_like", "zeros_like", "ones_like", "full_like"},
              Batch::front);
  r.set_batch({"cat", "stack"}, Batch::join);
}

}  // namespace wisp::ops
