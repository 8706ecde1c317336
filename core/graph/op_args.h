// From values of a graph to the arguments of an operator.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "dispatch/schema.h"
#include "graph/datum.h"

namespace wisp::graph {

// What the arguments of one call point to. Cheap to make: most calls need none of it.
class Scratch {
 public:
  Scratch() {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  int64_t* ints(size_t n) {
    if (WISP_LIKELY(ints_used_ + n <= std::size(ints_))) {
      int64_t* taken = ints_ + ints_used_;
      ints_used_ += static_cast<uint32_t>(n);
      return taken;
    }
    return many().ints.emplace_back(n).data();
  }
  double* reals(size_t n) {
    static_assert(sizeof(double) == sizeof(int64_t));
    return reinterpret_cast<double*>(ints(n));
  }
  TensorImpl** tensors(size_t n) {
    if (WISP_LIKELY(tensors_used_ + n <= std::size(tensors_))) {
      TensorImpl** taken = tensors_ + tensors_used_;
      tensors_used_ += static_cast<uint32_t>(n);
      return taken;
    }
    return many().tensors.emplace_back(n).data();
  }

 private:
  struct Many {
    std::deque<std::vector<int64_t>> ints;
    std::deque<std::vector<TensorImpl*>> tensors;
  };
  WISP_COLD Many& many() {
    if (!many_) many_ = std::make_unique<Many>();
    return *many_;
  }

  uint32_t ints_used_ = 0, tensors_used_ = 0;
  std::unique_ptr<Many> many_;
  int64_t ints_[16];
  TensorImpl* tensors_[16];
};

// Borrows from `value`, which has to outlive the call. Fails, naming the parameter, if it does not
// fit: a graph out of a file may say anything.
void set_arg(const Datum& value, const Param& param, Scratch& scratch, Arg& arg);
// The same for a list whose items are at hand one by one.
void set_list_arg(std::span<const Datum* const> items, const Param& param, Scratch& scratch,
                  Arg& arg);
// Whether it is what the parameter has where nothing is given.
bool is_fallback(const Datum& value, const Param& param);

}  // namespace wisp::graph
