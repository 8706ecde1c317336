// Every family of operators; register_all() calls them in this order.
#pragma once

#include "dispatch/registry.h"

namespace wisp::ops {

void register_copy(Registry& r);
void register_creation(Registry& r);
void register_arithmetic(Registry& r);
void register_unary(Registry& r);
void register_compare(Registry& r);
void register_ternary(Registry& r);
void register_view(Registry& r);
void register_shape(Registry& r);
void register_split(Registry& r);
void register_join(Registry& r);
void register_rearrange(Registry& r);
void register_pad(Registry& r);
void register_reduce(Registry& r);
void register_max(Registry& r);
void register_variance(Registry& r);
void register_norm(Registry& r);
void register_scan(Registry& r);
void register_differences(Registry& r);
void register_softmax(Registry& r);
void register_close(Registry& r);
void register_matmul(Registry& r);
void register_random(Registry& r);
void register_index(Registry& r);
void register_index_dim(Registry& r);
void register_mask(Registry& r);
void register_scatter(Registry& r);
void register_sort(Registry& r);
void register_addmm(Registry& r);
void register_einsum(Registry& r);
void register_distance(Registry& r);
void register_binary_math(Registry& r);
void register_special(Registry& r);
void register_activation_kernels(Registry& r);
void register_activation(Registry& r);
void register_loss(Registry& r);
void register_nll_loss(Registry& r);
void register_layer_norm(Registry& r);
void register_group_norm(Registry& r);
void register_embedding(Registry& r);
void register_dropout(Registry& r);
void register_batch_norm(Registry& r);
void register_similarity(Registry& r);
void register_margin_loss(Registry& r);
void register_linalg(Registry& r);  // calls those of its families:
void register_linalg_factor(Registry& r);
void register_linalg_qr(Registry& r);
void register_linalg_solve(Registry& r);
void register_linalg_lstsq(Registry& r);
void register_linalg_det(Registry& r);
void register_linalg_eigen(Registry& r);
void register_linalg_svd(Registry& r);
void register_linalg_norm(Registry& r);
void register_linalg_functions(Registry& r);
void register_convolution(Registry& r);
void register_rnn(Registry& r);
void register_rnn_layer(Registry& r);
void register_pool(Registry& r);
void register_avg_pool(Registry& r);
void register_unpool(Registry& r);
void register_upsample(Registry& r);
void register_update(Registry& r);
void register_lbfgs(Registry& r);
void register_grid_sample(Registry& r);
void register_fold(Registry& r);
void register_attention(Registry& r);
void register_embedding_bag(Registry& r);
void register_ctc_loss(Registry& r);

void register_weight_norm(Registry& r);
void register_search(Registry& r);
void register_histogram(Registry& r);
void register_statistics(Registry& r);
void register_places(Registry& r);
void register_window(Registry& r);
void register_view_copy(Registry& r);
void register_special_functions(Registry& r);
void register_draws(Registry& r);
void register_distributions(Registry& r);
void register_fft_kernels(Registry& r);
void register_fft(Registry& r);
void register_stft(Registry& r);

// After all of them.
void set_batching(Registry& r);

}  // namespace wisp::ops
