// The gradients of attention's gradients, block by block.
//
// With probabilities P, D as the drops, G as the gradient of the result, and, for every query, d as
// sum(G * result):
//   A = D * (G V'), E = P * (A - d), q_grad = scale E K, k_grad = scale E' Q, v_grad = (D * P)' G.
// What is differentiated is sum(E * H) + sum(P * B), where
//   H = scale (u K' + Q w') + m, B = D * (G z').
// With h as sum(P * H) of every query, that sends X = P * (H - h) back to A, and to the scores
//   F = P * ((A - d) * (H - h) + B - f), f such that a query's sum is 0.
#include "cpu/attention_blocks.h"

namespace wisp::cpu {

using namespace attention_blocks;

namespace {

template <class T>
class BlockSecondGrad {
 public:
  BlockSecondGrad(const AttentionShape& shape, const AttentionSecondGrad& call,
                  const AttentionWanted& wanted)
      : shape_(shape),
        call_(call),
        wanted_(wanted),
        p_(block_queries * std::min(block_keys, shape.keys)),
        a_(p_.size()),
        h_(p_.size()),
        b_(p_.size()),
        delta_(block_queries),
        sums_(2 * block_queries) {}

  // Everything that queries of one head send back: once their sums over all keys are known.
  void run(const Block& block) {
    clear(block);
    sum_of_products<T, T>(shape_, call_, block, delta_.data());
    std::fill(sums_.begin(), sums_.end(), 0.0);
    each_key_block(shape_, block, [&](const Block& b) {
      find_parts(b);
      for (int64_t i = 0; i < b.queries; ++i) {
        const int64_t at = i * b.keys;
        attention_kernels<T>().second_sums(p_.data() + at, a_.data() + at, h_.data() + at,
                                           b_.data() + at, b.keys, &sums_[2 * i]);
      }
    });
    const bool found = keys_seen(shape_, block) <= block_keys;  // they are all there still
    each_key_block(shape_, block, [&](const Block& b) {
      if (!found) find_parts(b);
      send_back(b);
    });
  }

 private:
  void clear(const Block& b) const {
    const int64_t first = b.head * shape_.queries + b.query;
    clear_rows<T>(wanted_.q_grad, first, b.queries, shape_.width);
    clear_rows<T>(wanted_.grad_grad, first, b.queries, shape_.value_width);
  }

  // P, A, H and B.
  void find_parts(const Block& b) {
    find_probabilities<T, T>(shape_, b, call_.log_sums, p_.data());
    multiply<T, T>(queries(call_.grad, b, shape_.value_width),
                   turned(keys(shape_.v, b, shape_.value_width)), here(a_, b), 1, false);
    drop_some(shape_, b, a_.data());
    std::fill_n(h_.data(), b.queries * b.keys, T(0));
    if (call_.u.data)
      multiply<T, T>(queries(call_.u, b, shape_.width), turned(keys(shape_.k, b, shape_.width)),
                     here(h_, b), shape_.scale, true);
    if (call_.w.data)
      multiply<T, T>(queries(shape_.q, b, shape_.width), turned(keys(call_.w, b, shape_.width)),
                     here(h_, b), shape_.scale, true);
    if (call_.m.data) add_mask(call_.m, b, h_.data());
    std::fill_n(b_.data(), b.queries * b.keys, T(0));
    if (!call_.z.data) return;
    multiply<T, T>(queries(call_.grad, b, shape_.value_width),
                   turned(keys(call_.z, b, shape_.value_width)), here(b_, b), 1, false);
    drop_some(shape_, b, b_.data());
  }

  void send_back(const Block& b) {
    for (int64_t i = 0; i < b.queries; ++i) {
      const int64_t at = i * b.keys;
      const double h = sums_[2 * i], f = sums_[2 * i + 1] - h * static_cast<double>(delta_[i]);
      const T means[] = {delta_[i], static_cast<T>(h), static_cast<T>(f)};
      attention_kernels<T>().second_grads(p_.data() + at, a_.data() + at, h_.data() + at,
                                          b_.data() + at, b.keys, means);
    }
    // Now A is E, H is X and B is F.
    if (wanted_.mask_grad.data) add_to_mask_grad(wanted_.mask_grad, b, b_.data());
    if (wanted_.q_grad) {
      const Matrix to = query_sums(wanted_.q_grad, b, shape_.width);
      multiply<T, T>(here(b_, b), keys(shape_.k, b, shape_.width), to, shape_.scale, true);
      if (call_.w.data)
        multiply<T, T>(here(a_, b), keys(call_.w, b, shape_.width), to, shape_.scale, true);
    }
    if (wanted_.k_grad) {
      const Matrix to = key_sums(wanted_.k_grad, b, shape_.width);
      multiply<T, T>(turned(here(b_, b)), queries(shape_.q, b, shape_.width), to, shape_.scale,
                     true);
      if (call_.u.data)
        multiply<T, T>(turned(here(a_, b)), queries(call_.u, b, shape_.width), to, shape_.scale,
                       true);
    }
    drop_some(shape_, b, h_.data());
    if (wanted_.v_grad)
      multiply<T, T>(turned(here(h_, b)), queries(call_.grad, b, shape_.value_width),
                     key_sums(wanted_.v_grad, b, shape_.value_width), 1, true);
    if (wanted_.grad_grad) send_back_to_gradient(b);
  }

  void send_back_to_gradient(const Block& b) {
    const Matrix to = query_sums(wanted_.grad_grad, b, shape_.value_width);
    multiply<T, T>(here(h_, b), keys(shape_.v, b, shape_.value_width), to, 1, true);
    if (!call_.z.data) return;
    drop_some(shape_, b, p_.data());
    multiply<T, T>(here(p_, b), keys(call_.z, b, shape_.value_width), to, 1, true);
  }

  static Matrix here(const Scratch<T>& numbers, const Block& b) {
    return dense(numbers.data(), b.queries, b.keys);
  }
  static Matrix queries(const MatrixStack& stack, const Block& b, int64_t width) {
    return rows_of<T>(stack, b.head, b.query, b.queries, width);
  }
  Matrix keys(const MatrixStack& stack, const Block& b, int64_t width) const {
    return rows_of<T>(stack, b.head / shape_.group, b.key, b.keys, width);
  }
  Matrix query_sums(char* data, const Block& b, int64_t width) const {
    return dense_rows<T>(data, b.head * shape_.queries + b.query, b.queries, width);
  }
  Matrix key_sums(char* data, const Block& b, int64_t width) const {
    return dense_rows<T>(data, b.head / shape_.group * shape_.keys + b.key, b.keys, width);
  }

  const AttentionShape& shape_;
  const AttentionSecondGrad& call_;
  const AttentionWanted& wanted_;
  Scratch<T> p_, a_, h_, b_, delta_;
  Scratch<double> sums_;
};

}  // namespace

void attention_second_grad(const AttentionShape& shape, const AttentionSecondGrad& call) {
  visit<dtypes::real_math>(shape.dtype, "scaled_dot_product_attention", [&]<class T>() {
    const auto work = [&](const AttentionWanted& wanted, std::span<const Block> blocks) {
      BlockSecondGrad<T> grad(shape, call, wanted);
      for (const Block& block : blocks) grad.run(block);
    };
    run_gradients(shape, call.wanted, GradientWork(work));
  });
}

}  // namespace wisp::cpu
