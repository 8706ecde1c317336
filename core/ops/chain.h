// Pointwise calls that follow each other, with cuts into pieces (chunk, split) and, of small
// tensors, products of matrices between them, done as one: what only they need never becomes a
// tensor. The kernels are those of single calls, so the results are the same to the last bit.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "dispatch/call.h"

namespace wisp::ops {

// What a call reads: a value of the chain, or a number (then `value` is -1).
struct ChainOperand {
  int value = -1;
  double number = 0;
  bool whole = false;   // the number is written as an integer
  bool absent = false;  // None
};

// Where the elements of a view lie among those of what it is a view of.
struct ChainView {
  ChainView(const Tensor& whole, const Tensor& view);
  Dims sizes, strides;
  int64_t offset;
  Dims whole_sizes, whole_strides;
  bool by_rows;  // each of its rows lies in the row of that number
};

struct ChainCall {
  const OpDef* op = nullptr;
  ChainOperand operands[3] = {};  // of a product: the factors, and what it is added to
  int operand_count = 0;
  int results = 1;
  int64_t cut = 0, dim = 0;      // of chunk: how many pieces; of split: how long they are
  std::vector<int> pieces = {};  // of cat: values that are joined along `dim`
  std::shared_ptr<const ChainView> view = {};  // whatever operator it calls, it is this view
  std::vector<Arg> args = {};  // of a pointwise call: numbers beside the operands; empty: defaults
};

struct ChainShape {
  DType dtype = DType::float32;
  Dims sizes, strides;
};

// A tensor, or memory that always has this shape when the chain is given it.
struct ChainInput {
  TensorImpl* tensor = nullptr;
  char* data = nullptr;
  const ChainShape* shape = nullptr;
};

class Chain {
 public:
  static constexpr int max_inputs = 24, max_outputs = 24, max_calls = 64;

  // Whether calls of this operator can be part of a chain: it is pointwise ...
  static bool computes(const OpDef& op);
  // ... or cuts a tensor into pieces ...
  static bool cuts(const OpDef& op);
  // ... or joins such ...
  static bool joins(const OpDef& op);
  // ... or is a product, whose gradients a chain cannot record.
  static bool multiplies(const OpDef& op);

  // Whether what a call gives lies in the memory of its operand.
  static bool shares(const ChainCall& call) { return call.view || cuts(*call.op); }

  // Values are numbered: first the inputs, then what the calls give, in their order. Pieces of a
  // tensor cannot be among the outputs, the last of which may be hidden: they become no tensors.
  Chain(int inputs, std::vector<ChainCall> calls, std::vector<int> outputs, int hidden = 0);
  ~Chain();
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;

  int inputs() const { return inputs_; }
  const std::vector<ChainCall>& calls() const { return calls_; }
  const std::vector<int>& outputs() const { return outputs_; }
  int hidden() const { return hidden_; }

  // Makes the outputs, or returns false if the calls have to be made one by one: because somebody
  // watches, or because the tensors do not fit together.
  bool run(std::span<TensorImpl* const> inputs, Tensor* outs) const;
  struct Plan;
  // The same without recording anything; null instead of false. Plans live as long as the chain.
  // Hidden outputs are all in one piece of memory.
  const Plan* run_unrecorded(std::span<const ChainInput> inputs, Tensor* outs,
                             Ref<Storage>* hidden = nullptr) const;

  // What `record_chain` keeps here, made on first use.
  const std::shared_ptr<void>& notes(std::shared_ptr<void> (*make)()) const {
    std::call_once(noted_, [&] { notes_ = make(); });
    return notes_;
  }

 private:
  const Plan* plan_for(std::span<const ChainInput> inputs) const;

  int inputs_, hidden_;
  std::vector<ChainCall> calls_;
  std::vector<int> outputs_;
  bool multiplies_;  // one of the calls does
  // Threads read the list while one of them adds to its front; what is in it stays.
  mutable std::atomic<const Plan*> newest_ = nullptr;
  mutable std::mutex adding_;
  mutable std::vector<std::unique_ptr<const Plan>> plans_;
  mutable std::once_flag noted_;
  mutable std::shared_ptr<void> notes_;
};

// run() of a chain whose gradients are wanted; set by the room `autograd`.
extern bool (*record_chain)(const Chain& chain, std::span<TensorImpl* const> inputs, Tensor* outs);

}  // namespace wisp::ops
