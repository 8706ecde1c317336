#include "transform/batch_call.h"

namespace wisp::transform {

// Samples are further matrices, in front of the others. Not where some probabilities are dropped:
// which ones follows from the place of a matrix among all of its call.
bool batch_attention(BatchCall& c) {
  if (c.args[c.op.sig.find("drawn")].is_tensor()) return false;
  Infer sample(c.op, c.args);
  c.op.infer(sample);
  ArgsCopy changed(c.op, c.args);
  for (const auto& input : c.inputs) {
    Tensor value = c.front(input);
    if (input.item >= 0) {  // a mask may have fewer dimensions than the others
      Dims sizes;
      sizes.push_back(c.level.batch);
      for (int64_t i = input.rank; i < c.input(0).rank; ++i) sizes.push_back(1);
      for (int64_t i = 1; i < value.ndim(); ++i) sizes.push_back(value.size(i));
      value = ops::view(value, sizes);
    }
    changed.set(input.param, input.item, std::move(value));
  }
  c.call_with(c.op, changed.data());
  for (int i = 0; i < sample.count(); ++i) {
    Tensor& value = c.values[static_cast<size_t>(i)];
    const Dims sizes = with_front(c.level.batch, sample.out(i).sizes);
    if (!same(value.sizes(), sizes)) value = ops::reshape(value, sizes);
  }
  return true;
}

}  // namespace wisp::transform
