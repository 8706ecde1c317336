// One call at a vmap level, and the rules that handle it.
#pragma once

#include <algorithm>
#include <vector>

#include "ops/ops.h"
#include "transform/arguments.h"
#include "transform/batch.h"

namespace wisp::transform {

Tensor move_dim(const Tensor& t, int64_t from, int64_t to);
Dims with_front(int64_t first, IntSpan rest);

// One call at a vmap level. Rules fill values(), whose samples lie along dimension 0, or return
// false to leave the call to the loop.
class BatchCall {
 public:
  struct Input {
    int param, item;
    Tensor value;
    int64_t dim;   // of the samples, -1 if there are none
    int64_t rank;  // of one sample
  };

  BatchCall(const OpDef& op, const Arg* args, const Level& level)
      : op(op), args(args), level(level) {
    each_tensor(op, args, [&](int param, int item, const Tensor& t) {
      const Batched found = batch_of(t, level.id);
      inputs.push_back({param, item, found.value, found.dim, t.ndim()});
    });
  }

  void run(TensorList& outs);
  bool any_batched() const {
    return std::any_of(inputs.begin(), inputs.end(), [](const Input& i) { return i.dim >= 0; });
  }

  // The batch of an input with its samples in front; repeated where it is the same for all.
  Tensor front(const Input& input) const {
    if (input.dim >= 0) return move_dim(input.value, input.dim, 0);
    return ops::expand(ops::unsqueeze(input.value, 0),
                       with_front(level.batch, input.value.sizes()));
  }
  // The same with dimensions of size 1 between, for `rank` dimensions per sample.
  Tensor front(const Input& input, int64_t rank) const {
    Tensor t = input.dim >= 0 ? move_dim(input.value, input.dim, 0) : input.value;
    if (input.dim < 0) return t;
    Dims sizes;
    sizes.push_back(level.batch);
    for (int64_t i = input.rank; i < rank; ++i) sizes.push_back(1);
    for (int64_t i = 1; i < t.ndim(); ++i) sizes.push_back(t->size(i));
    return sizes.size() == static_cast<size_t>(t.ndim()) ? t : ops::view(t, sizes);
  }
  const Input& input(size_t i) const { return inputs[i]; }
  // Whether the first tensor is batched and no other is.
  bool only_first() const {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if ((inputs[i].dim >= 0) != (i == 0)) return false;
    }
    return !inputs.empty() && inputs[0].item < 0;
  }
  void call_with(const OpDef& other, const Arg* changed) { call(other, changed, values); }
  Tensor sample_arg(int param) const { return args[param].tensor(); }

  const OpDef& op;
  const Arg* args;
  const Level& level;
  std::vector<Input> inputs;
  TensorList values;

 private:
  void once();
  void loop();
  void check_random() const;
  void record(TensorList& outs);
};

using Rule = bool (*)(BatchCall&);
bool batch_attention(BatchCall& call);

}  // namespace wisp::transform
