// What a builtin is called with.
#pragma once

#include <memory>
#include <span>

#include "graph/code.h"

namespace wisp::graph {

// A few values, made as they are added.
class Inputs {
 public:
  explicit Inputs(size_t capacity) {
    if (WISP_UNLIKELY(capacity > few)) many_.reset(new Slot[capacity]);
    data_ = reinterpret_cast<Datum*>(many_ ? many_.get() : few_);
  }
  ~Inputs() {
    for (size_t i = 0; i < size_; ++i) data_[i].~Datum();
  }
  Inputs(const Inputs&) = delete;
  Inputs& operator=(const Inputs&) = delete;
  void add(Datum value) { new (data_ + size_++) Datum(std::move(value)); }
  std::span<Datum> all() { return {data_, size_}; }

 private:
  static constexpr size_t few = few_inputs;
  struct alignas(Datum) Slot {
    unsigned char bytes[sizeof(Datum)];
  };
  Slot few_[few];
  std::unique_ptr<Slot[]> many_;
  Datum* data_;
  size_t size_ = 0;
};

}  // namespace wisp::graph
