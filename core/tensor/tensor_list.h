// A few tensors: the results of a call, the gradients of a node.
#pragma once

#include "base/inline_list.h"
#include "tensor/tensor.h"

namespace wisp {

using TensorList = InlineList<Tensor, 3>;

}  // namespace wisp
