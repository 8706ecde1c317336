#include "ops/families.h"

namespace wisp {

namespace {

void register_families(Registry& r) {
  ops::register_copy(r);
  ops::register_creation(r);
  ops::register_arithmetic(r);
  ops::register_unary(r);
  ops::register_compare(r);
  ops::register_ternary(r);
  ops::register_view(r);
  ops::register_shape(r);
  ops::register_split(r);
  ops::register_join(r);
  ops::register_rearrange(r);
  ops::register_pad(r);
  ops::register_reduce(r);
  ops::register_max(r);
  ops::register_variance(r);
  ops::register_norm(r);
  ops::register_scan(r);
  ops::register_differences(r);
  ops::register_softmax(r);
  ops::register_close(r);
  ops::register_matmul(r);
  ops::register_random(r);
  ops::register_draws(r);
  ops::register_distributions(r);
  ops::register_index(r);
  ops::register_index_dim(r);
  ops::register_mask(r);
  ops::register_scatter(r);
  ops::register_sort(r);
  ops::register_addmm(r);
  ops::register_einsum(r);
  ops::register_distance(r);
  ops::register_binary_math(r);
  ops::register_special(r);
  ops::register_activation_kernels(r);
  ops::register_activation(r);
  ops::register_loss(r);
  ops::register_nll_loss(r);
  ops::register_layer_norm(r);
  ops::register_group_norm(r);
  ops::register_embedding(r);
  ops::register_dropout(r);
  ops::register_batch_norm(r);
  ops::register_similarity(r);
  ops::register_margin_loss(r);
  ops::register_linalg(r);
  ops::register_convolution(r);
  ops::register_rnn_layer(r);
  ops::register_rnn(r);
  ops::register_pool(r);
  ops::register_avg_pool(r);
  ops::register_unpool(r);
  ops::register_upsample(r);
  ops::register_update(r);
  ops::register_lbfgs(r);
  ops::register_grid_sample(r);
  ops::register_fold(r);
  ops::register_attention(r);
  ops::register_embedding_bag(r);
  ops::register_ctc_loss(r);
  ops::register_weight_norm(r);
  ops::register_search(r);
  ops::register_histogram(r);
  ops::register_statistics(r);
  ops::register_places(r);
  ops::register_window(r);
  ops::register_view_copy(r);
  ops::register_special_functions(r);
  ops::register_fft_kernels(r);
  ops::register_fft(r);
  ops::register_stft(r);
}

}  // namespace

void register_all(Registry& r) {
  register_families(r);
  ops::set_batching(r);
}

}  // namespace wisp
