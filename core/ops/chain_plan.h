// What a chain does on tensors of given shapes: which kernels run on which parts of which memory.
#pragma once

#include "cpu/gemm.h"
#include "cpu/opcode.h"
#include "ops/chain.h"

namespace wisp::ops {

// Chains of more elements gain nothing: there the memory of temporaries costs more than the calls.
constexpr int64_t chain_limit = 4096;
// Nor do those with products of more multiplications.
constexpr int64_t chain_work_limit = 64 * 64 * 64;

// Bytes from the start of one of the memories: the inputs come first, then the outputs, then
// temporaries, then numbers.
struct ChainSpot {
  int memory = 0;
  int64_t offset = 0;
};

struct ChainStage {
  cpu::TileFn kernel = nullptr;  // null: the elements of in[0] are put one behind the other ...
  bool spreads = false;          // ... or are so, and are put in their places in a larger tensor
  ChainSpot in[3] = {}, out = {};
  int inputs = 1;
  int order = -1;        // without a kernel: how they lie, in Plan::orders ...
  bool by_rows = false;  // ... which is in rows of a matrix
  int product = -1;      // in Plan::products: that of in[0] and in[1]
  int64_t elements = 0;
};

struct Chain::Plan {
  struct Shape {
    DType dtype;
    Dims sizes, strides;
  };
  std::vector<Shape> inputs;  // the tensors that it is for
  bool possible = false;      // else the calls are made one by one
  std::vector<ChainStage> stages = {};
  struct Order {
    Dims sizes, strides;  // in bytes
  };
  std::vector<Order> orders = {};
  struct Product {
    cpu::Matrix a, b, c;  // without their memory
    bool adds;            // to what is there
  };
  std::vector<Product> products = {};
  std::vector<Dims> outputs = {};
  // All values of the chain. Pieces lie in the memory of what was cut, their owner.
  struct Value {
    Dims sizes, strides;
    int owner;
    int64_t offset;  // in the owner's memory, in elements
  };
  std::vector<Value> values = {};
  size_t temporary_bytes = 0;
  std::vector<char> numbers = {};
  const Plan* older = nullptr;

  bool fits(std::span<TensorImpl* const> tensors) const;
  void run(std::span<TensorImpl* const> tensors, Tensor* outs) const;
};

// Fills everything but `inputs`, which are there, and `older`.
void plan_chain(const Chain& chain, Chain::Plan& plan);

}  // namespace wisp::ops
