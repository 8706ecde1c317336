// What a chain does on tensors of given shapes: which kernels run on which parts of which memory.
#pragma once

#include "base/memory.h"
#include "cpu/gemm.h"
#include "cpu/opcode.h"
#include "ops/chain.h"

namespace wisp::ops {

// Chains of more elements gain nothing: there the memory of temporaries costs more than the calls.
constexpr int64_t chain_limit = 4096;
// Nor do those with products of more multiplications.
constexpr int64_t chain_work_limit = cpu::small_gemm_work;

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

struct ChainShape {
  DType dtype = DType::float32;
  Dims sizes, strides;
};

struct Chain::Plan {
  std::vector<ChainShape> inputs;  // the tensors that it is for
  // Of rounds of a loop: which inputs are the same in all of them (none, if it is empty), and
  // whether these are some rows of larger tensors, which are multiplied as all of them would be.
  std::vector<bool> fixed = {};
  bool part_of_more = false;
  bool limited = true;                        // to sizes that are worth it
  bool possible = false;                      // else the calls are made one by one
  std::vector<ChainStage> first_stages = {};  // of rounds: what is done once, before the others
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

  void run(std::span<TensorImpl* const> tensors, Tensor* outs) const;
  // Some of the stages, on these memories.
  void run(const std::vector<ChainStage>& some, char* const* memories) const;

 private:
  void multiply(const ChainStage& stage, const char* a, const char* b, char* c) const;
  void move(const ChainStage& stage, char* to, char* from) const;
};

constexpr int max_memories = Chain::max_inputs + Chain::max_outputs + 2;

// Memory for the temporaries of one run.
class Temporaries {
 public:
  explicit Temporaries(size_t bytes)
      : bytes_(bytes), data_(static_cast<char*>(memory::allocate(bytes))) {}
  ~Temporaries() { memory::deallocate(data_, bytes_); }
  Temporaries(const Temporaries&) = delete;
  Temporaries& operator=(const Temporaries&) = delete;
  char* data() const { return data_; }

 private:
  size_t bytes_;
  char* data_;
};

bool same_shape(const ChainShape& a, const ChainShape& b);
bool fit(std::span<TensorImpl* const> tensors, const std::vector<ChainShape>& shapes);
std::vector<ChainShape> shapes_of(std::span<TensorImpl* const> tensors);
Tensor make_chain_output(const Dims& sizes, DType dtype);

// Whether nobody watches single calls with these.
bool chains_may_run(std::span<TensorImpl* const> inputs);
bool want_gradients(std::span<TensorImpl* const> inputs);

// Fills everything but `older` and what stands before `possible`.
void plan_chain(const Chain& chain, Chain::Plan& plan);

}  // namespace wisp::ops
