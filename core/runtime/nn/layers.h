// Linear layers, embeddings, dropout and changes of shape.
#pragma once

#include "runtime/nn/module.h"

#pragma GCC visibility push(default)
namespace wisp::api::nn {

class LinearOptions {
 public:
  LinearOptions(int64_t in_features, int64_t out_features)
      : in_features_(in_features), out_features_(out_features) {}
  WISP_OPTION(int64_t, in_features, 0);
  WISP_OPTION(int64_t, out_features, 0);
  WISP_OPTION(bool, bias, true);
};
// x @ weight.T + bias, for the last dimension of x.
class LinearImpl : public Module {
 public:
  LinearImpl(int64_t in_features, int64_t out_features)
      : LinearImpl(LinearOptions(in_features, out_features)) {}
  explicit LinearImpl(const LinearOptions& options);
  void reset_parameters();
  Tensor forward(const Tensor& input);
  std::string extra_repr() const override;
  LinearOptions options;
  Tensor weight, bias;
};
WISP_MODULE(Linear);

class IdentityImpl : public Module {
 public:
  Tensor forward(const Tensor& input) { return input; }
};
WISP_MODULE(Identity);

class EmbeddingOptions {
 public:
  EmbeddingOptions(int64_t num_embeddings, int64_t embedding_dim)
      : num_embeddings_(num_embeddings), embedding_dim_(embedding_dim) {}
  WISP_OPTION(int64_t, num_embeddings, 0);
  WISP_OPTION(int64_t, embedding_dim, 0);
  WISP_OPTION(std::optional<int64_t>, padding_idx, {});
  WISP_OPTION(std::optional<double>, max_norm, {});
  WISP_OPTION(double, norm_type, 2);
  WISP_OPTION(bool, scale_grad_by_freq, false);
};
// A table of vectors; maps numbers to their vectors.
class EmbeddingImpl : public Module {
 public:
  EmbeddingImpl(int64_t num_embeddings, int64_t embedding_dim)
      : EmbeddingImpl(EmbeddingOptions(num_embeddings, embedding_dim)) {}
  explicit EmbeddingImpl(const EmbeddingOptions& options);
  void reset_parameters();
  Tensor forward(const Tensor& indices);
  std::string extra_repr() const override;
  EmbeddingOptions options;
  Tensor weight;
};
WISP_MODULE(Embedding);

class DropoutOptions {
 public:
  DropoutOptions(double p = 0.5) : p_(p) {}
  WISP_OPTION(double, p, 0.5);
  WISP_OPTION(bool, inplace, false);
};
// Zeroes elements at random during training, and scales the others to make up for it.
class DropoutImpl : public Module {
 public:
  explicit DropoutImpl(const DropoutOptions& options = {});
  Tensor forward(const Tensor& input);
  std::string extra_repr() const override;
  DropoutOptions options;
};
WISP_MODULE(Dropout);
// The same for whole channels of images.
class Dropout2dImpl : public DropoutImpl {
 public:
  using DropoutImpl::DropoutImpl;
  Tensor forward(const Tensor& input);
};
WISP_MODULE(Dropout2d);

class FlattenOptions {
 public:
  WISP_OPTION(int64_t, start_dim, 1);
  WISP_OPTION(int64_t, end_dim, -1);
};
class FlattenImpl : public Module {
 public:
  explicit FlattenImpl(const FlattenOptions& options = {}) : options(options) {}
  Tensor forward(const Tensor& input) {
    return input.flatten(options.start_dim(), options.end_dim());
  }
  std::string extra_repr() const override;
  FlattenOptions options;
};
WISP_MODULE(Flatten);

}  // namespace wisp::api::nn
#pragma GCC visibility pop
