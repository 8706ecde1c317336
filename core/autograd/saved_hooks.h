// Functions of the user that tensors pass through on their way into a node and out of it
// (autograd.graph.saved_tensors_hooks).
#pragma once

#include "autograd/node.h"
#include "base/small_vector.h"

namespace wisp::autograd {

class SavedHooks : public Object {
 public:
  // What is kept in place of a tensor, and the tensor made of it again.
  virtual Ref<Object> pack(const Tensor& tensor) = 0;
  virtual Tensor unpack(Object& packed) = 0;
};

// The innermost hooks of this thread, null if there are none. Whoever sets them owns them.
extern constinit WISP_THREAD_LOCAL SavedHooks* saved_hooks;

// A saved tensor that is in the hands of hooks. Its history is kept beside what they made of it, so
// that a derivative of the derivative finds its way.
class PackedTensor {
 public:
  explicit PackedTensor(const Tensor& tensor);
  Tensor unpack() const;

 private:
  Ref<SavedHooks> hooks_;
  Ref<Object> packed_;
  Edge history_;
  Dims sizes_;
  DType dtype_;
};

}  // namespace wisp::autograd
