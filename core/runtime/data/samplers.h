// Which samples come next.
#pragma once

#include <vector>

#include "runtime/operators.h"

#pragma GCC visibility push(default)
namespace wisp::api::data::samplers {

class Sampler {
 public:
  virtual ~Sampler() = default;
  // Starts anew, perhaps with another number of samples.
  virtual void reset(std::optional<size_t> new_size = {}) = 0;
  // The next numbers: as many as asked for, fewer at the end, none after it.
  virtual std::optional<std::vector<size_t>> next(size_t batch_size) = 0;
};

class SequentialSampler : public Sampler {
 public:
  explicit SequentialSampler(size_t size) : size_(size) {}
  void reset(std::optional<size_t> new_size = {}) override;
  std::optional<std::vector<size_t>> next(size_t batch_size) override;

 private:
  size_t size_, at_ = 0;
};

// In another order every time, which follows from wisp::manual_seed.
class RandomSampler : public Sampler {
 public:
  explicit RandomSampler(size_t size) : size_(size) { reset(); }
  void reset(std::optional<size_t> new_size = {}) override;
  std::optional<std::vector<size_t>> next(size_t batch_size) override;

 private:
  size_t size_, at_ = 0;
  Tensor order_;
};

}  // namespace wisp::api::data::samplers
#pragma GCC visibility pop
