// A tensor that a Python function saved for its backward.
#pragma once

#include <optional>

#include "autograd/record.h"
#include "autograd/saved_hooks.h"

namespace wisp::python {

struct SavedTensor {
  Tensor tensor;  // undefined for None
  uint32_t version = 0;
  int output = -1;  // of the function itself: kept without history, which would be a cycle
  std::optional<autograd::PackedTensor> packed;  // in place of the tensor, if hooks took it

  void save(Tensor source) {
    tensor = std::move(source);
    version = tensor->version();
    tensor->storage().watch();
    if (!autograd::saved_hooks) return;
    packed.emplace(tensor);
    tensor.reset();
  }
  Tensor unpack(const autograd::Node& saver) const {
    if (packed) return packed->unpack();
    if (tensor.defined()) autograd::check_version(*tensor.impl(), version, saver);
    return tensor;
  }
};

}  // namespace wisp::python
