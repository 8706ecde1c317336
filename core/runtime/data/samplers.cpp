#include "runtime/data/samplers.h"

#include <algorithm>
#include <numeric>

namespace wisp::api::data::samplers {

void SequentialSampler::reset(std::optional<size_t> new_size) {
  size_ = new_size.value_or(size_);
  at_ = 0;
}

std::optional<std::vector<size_t>> SequentialSampler::next(size_t batch_size) {
  if (at_ >= size_) return std::nullopt;
  std::vector<size_t> indices(std::min(batch_size, size_ - at_));
  std::iota(indices.begin(), indices.end(), at_);
  at_ += indices.size();
  return indices;
}

void RandomSampler::reset(std::optional<size_t> new_size) {
  size_ = new_size.value_or(size_);
  order_ = randperm(static_cast<int64_t>(size_));
  at_ = 0;
}

std::optional<std::vector<size_t>> RandomSampler::next(size_t batch_size) {
  if (at_ >= size_) return std::nullopt;
  const int64_t* order = order_.data_ptr<int64_t>() + at_;
  const std::vector<size_t> indices(order, order + std::min(batch_size, size_ - at_));
  at_ += indices.size();
  return indices;
}

}  // namespace wisp::api::data::samplers
