#include "runtime/nn/layers.h"

#include <cmath>

#include "runtime/modes.h"
#include "runtime/nn/init.h"

namespace wisp::api::nn {

// --- Linear

LinearImpl::LinearImpl(const LinearOptions& options) : options(options) {
  weight = register_parameter("weight", empty({options.out_features(), options.in_features()}));
  bias = register_parameter("bias", options.bias() ? empty({options.out_features()}) : Tensor());
  reset_parameters();
}

void LinearImpl::reset_parameters() {
  const auto inputs = static_cast<double>(options.in_features());
  const double bound = inputs > 0 ? 1 / std::sqrt(inputs) : 0;
  init::uniform_(weight, -bound, bound);
  if (bias.defined()) init::uniform_(bias, -bound, bound);
}

Tensor LinearImpl::forward(const Tensor& input) { return functional::linear(input, weight, bias); }

std::string LinearImpl::extra_repr() const {
  return str("in_features=", options.in_features(), ", out_features=", options.out_features(),
             ", bias=", options.bias());
}

// --- Embedding

EmbeddingImpl::EmbeddingImpl(const EmbeddingOptions& given) : options(given) {
  const int64_t rows = options.num_embeddings();
  if (const auto row = options.padding_idx()) {
    WISP_CHECK_VALUE(*row >= -rows && *row < rows, "Padding_idx must be within num_embeddings");
    if (*row < 0) options.padding_idx(*row + rows);
  }
  weight = register_parameter("weight", empty({rows, options.embedding_dim()}));
  reset_parameters();
}

void EmbeddingImpl::reset_parameters() {
  init::normal_(weight);
  const NoGradGuard unrecorded;
  if (options.padding_idx()) weight[*options.padding_idx()].fill_(0);
}

Tensor EmbeddingImpl::forward(const Tensor& indices) {
  return functional::embedding(indices, weight, options.padding_idx(), options.max_norm(),
                               options.norm_type(), options.scale_grad_by_freq());
}

std::string EmbeddingImpl::extra_repr() const {
  std::string text = str(options.num_embeddings(), ", ", options.embedding_dim());
  if (options.padding_idx()) text += str(", padding_idx=", *options.padding_idx());
  return text;
}

// --- Dropout

DropoutImpl::DropoutImpl(const DropoutOptions& options) : options(options) {
  WISP_CHECK_VALUE(options.p() >= 0 && options.p() <= 1,
                   "dropout probability has to be between 0 and 1, but got ", options.p());
}
Tensor DropoutImpl::forward(const Tensor& input) {
  return functional::dropout(input, options.p(), is_training(), options.inplace());
}
std::string DropoutImpl::extra_repr() const {
  return str("p=", options.p(), ", inplace=", options.inplace());
}
Tensor Dropout2dImpl::forward(const Tensor& input) {
  return functional::dropout2d(input, options.p(), is_training(), options.inplace());
}

std::string FlattenImpl::extra_repr() const {
  return str("start_dim=", options.start_dim(), ", end_dim=", options.end_dim());
}

}  // namespace wisp::api::nn
