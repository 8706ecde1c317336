#include "transform/autocast.h"

#include <unordered_map>

#include "dispatch/registry.h"
#include "ops/ops.h"
#include "transform/arguments.h"
#include "transform/levels.h"

namespace wisp::transform {

namespace {

enum class Cast : uint8_t { none, narrow, full, widest };

struct Names {
  Cast cast;
  std::initializer_list<const char*> operators;
};

const Names names[] = {
    {Cast::narrow,
     {"mm",
      "bmm",
      "mv",
      "matmul",
      "addmm",
      "addbmm",
      "baddbmm",
      "linear",
      "linalg_vecdot",
      "linalg_multi_dot",
      "chain_matmul",
      "convolution",
      "conv1d",
      "conv2d",
      "conv3d",
      "conv1d.padding",
      "conv2d.padding",
      "conv3d.padding",
      "conv_transpose1d",
      "conv_transpose2d",
      "conv_transpose3d",
      "conv_tbc",
      "scaled_dot_product_attention",
      "_rnn_layer"}},
    {Cast::full,
     {"avg_pool3d",
      "adaptive_avg_pool3d",
      "max_pool3d",
      "max_pool3d_with_indices",
      "max_unpool2d",
      "max_unpool3d",
      "grid_sampler",
      "grid_sampler_2d",
      "grid_sampler_3d",
      "grid_sample",
      "binary_cross_entropy",
      "binary_cross_entropy_with_logits",
      "mse_loss",
      "l1_loss",
      "smooth_l1_loss",
      "huber_loss",
      "nll_loss",
      "cross_entropy",
      "cosine_embedding_loss",
      "hinge_embedding_loss",
      "poisson_nll_loss",
      "margin_ranking_loss",
      "soft_margin_loss",
      "triplet_margin_loss",
      "multi_margin_loss",
      "multilabel_margin_loss",
      "ctc_loss",
      "kl_div",
      "polar",
      "prod",
      "prod.dim_int",
      "quantile",
      "nanquantile",
      "stft",
      "cdist",
      "trace",
      "view_as_complex",
      "cholesky",
      "cholesky_inverse",
      "cholesky_solve",
      "inverse",
      "lu_solve",
      "orgqr",
      "ormqr",
      "pinverse",
      "linalg_matrix_norm",
      "linalg_cond",
      "linalg_matrix_rank",
      "linalg_solve",
      "linalg_cholesky",
      "linalg_svdvals",
      "linalg_eigvals",
      "linalg_eigvalsh",
      "linalg_inv",
      "linalg_householder_product",
      "linalg_tensorinv",
      "linalg_tensorsolve",
      "fake_quantize_per_tensor_affine",
      "geqrf",
      "linalg_qr",
      "linalg_svd",
      "linalg_eig",
      "linalg_eigh",
      "linalg_lstsq",
      "fft_fft",
      "fft_ifft",
      "fft_fft2",
      "fft_ifft2",
      "fft_fftn",
      "fft_ifftn",
      "fft_rfft",
      "fft_irfft",
      "fft_rfft2",
      "fft_irfft2",
      "fft_rfftn",
      "fft_irfftn",
      "fft_hfft",
      "fft_ihfft"}},
    {Cast::widest, {"cat", "stack", "index_copy"}},
};

// By the operators' numbers. Names that the table does not have are skipped.
const std::vector<Cast>& casts() {
  static const std::vector<Cast> table = [] {
    std::vector<Cast> made(registry().ops().size(), Cast::none);
    for (const Names& list : names) {
      for (const char* name : list.operators) {
        if (const OpDef* op = registry().find(name)) made[static_cast<size_t>(op->id)] = list.cast;
      }
    }
    return made;
  }();
  return table;
}

bool is_castable(const Tensor& t) {
  return t.defined() && is_floating(t.dtype()) && t.dtype() != DType::float64;
}

class Autocast final : public Interceptor {
 public:
  AutocastState state;
  Interceptor* next = nullptr;

  bool intercept(const OpDef& op, const Arg* args, Form form, TensorList& outs) override {
    const Cast cast = form == Form::functional ? casts()[static_cast<size_t>(op.id)] : Cast::none;
    mode.interceptor = next;  // until intercept() returns: what is called from here is not cast
    if (cast == Cast::none) return pass(op, args, form, outs);
    ArgsCopy changed(op, args);
    const DType to = target(cast, op, args);
    each_tensor(op, args, [&](int param, int item, const Tensor& t) {
      if (is_castable(t) && t.dtype() != to) changed.set(param, item, as(t, to));
    });
    call(op, changed.data(), outs);
    return true;
  }

  void forget() {
    delete kept_;
    kept_ = nullptr;
  }

 private:
  // A body's calls pass here again, one by one.
  bool pass(const OpDef& op, const Arg* args, Form form, TensorList& outs) {
    if (!next) return false;
    mode.interceptor = nullptr;
    return next->intercept(op, args, form, outs);
  }

  DType target(Cast cast, const OpDef& op, const Arg* args) const {
    if (cast == Cast::narrow) return state.dtype;
    if (cast == Cast::full) return DType::float32;
    DType widest = state.dtype;
    each_tensor(op, args, [&](int, int, const Tensor& t) {
      if (is_castable(t)) widest = promote(widest, t.dtype());
    });
    return widest;
  }

  // Parameters are cast once.
  Tensor as(const Tensor& t, DType to) {
    const bool is_parameter = state.keeps_casts && mode.grad && to == state.dtype &&
                              t.requires_grad() && !t->autograd().grad_fn && !t->base();
    if (!is_parameter) return ops::to(t, to);
    if (!kept_) kept_ = new KeptCasts;
    Kept& kept = (*kept_)[t.impl()];
    if (!kept.cast.defined() || kept.version != t->version() || kept.cast.dtype() != to) {
      kept = {t, ops::to(t, to), t->version()};
    }
    return kept.cast;
  }

  struct Kept {
    Tensor parameter, cast;  // the parameter, so that its address stays its own
    uint32_t version = 0;
  };
  using KeptCasts = std::unordered_map<const TensorImpl*, Kept>;
  // Not freed with its thread: the main one ends after the interpreter, whose objects tensors hold.
  KeptCasts* kept_ = nullptr;
};

thread_local Autocast autocast;

}  // namespace

AutocastState autocast_state() { return autocast.state; }

void set_autocast(const AutocastState& state) {
  autocast.state = state;
  renew_interceptor();
}

void forget_casts() { autocast.forget(); }

Interceptor* behind_autocast(Interceptor* next) {
  if (!autocast.state.enabled) return next;
  autocast.next = next;
  return &autocast;
}

}  // namespace wisp::transform
