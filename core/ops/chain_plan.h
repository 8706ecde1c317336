// What a chain does on tensors of given shapes: which kernels run on which parts of which memory.
#pragma once

#include "base/memory.h"
#include "cpu/fused.h"
#include "cpu/gemm.h"
#include "ops/chain_kernel.h"

namespace wisp::ops {

// Of more elements, the memory of temporaries costs more than the calls: such chains are gone
// through tile by tile.
constexpr int64_t chain_limit = 4096;
// Products of more multiplications gain nothing.
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
  cpu::Params params = {};
};

// Calls on one shape that are made tile by tile.
struct ChainPass {
  Dims sizes;
  std::vector<cpu::FusedStep> steps = {};
  struct Place {
    ChainSpot spot;
    Dims strides;
    DType dtype;
  };
  std::vector<Place> operands = {};
  std::vector<cpu::FusedNumber> numbers = {};

  void run(char* const* memories) const;
};

struct Chain::Plan {
  std::vector<ChainShape> inputs;  // the tensors that it is for
  // Of rounds of a loop: which inputs are the same in all of them (none, if it is empty), and
  // whether these are some rows of larger tensors, which are multiplied as all of them would be.
  std::vector<bool> fixed = {};
  bool part_of_more = false;
  bool limited = true;                        // to sizes that are worth it
  bool possible = false;                      // else the calls are made one by one
  int64_t cost = 0;                           // of kernels, in hundredths of a nanosecond
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
  std::vector<ChainPass> passes = {};  // instead of stages, of larger tensors
  std::vector<ChainShape> outputs = {};
  // Where those that are hidden begin in their memory, which has so many bytes.
  std::vector<int64_t> hidden = {};
  size_t hidden_bytes = 0;
  // All values of the chain. Pieces lie in the memory of what was cut, their owner.
  struct Value {
    Dims sizes, strides;
    int owner;
    int64_t offset;  // in the owner's memory, in elements
    DType dtype;
  };
  std::vector<Value> values = {};
  size_t temporary_bytes = 0;
  std::vector<char> numbers = {};
  const Plan* older = nullptr;

  void run(std::span<const ChainInput> given, Tensor* outs, Ref<Storage>* hides) const;
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

// What something of so many bytes takes of them.
inline size_t slot_bytes(int64_t bytes) {
  constexpr int64_t alignment = 64;
  return static_cast<size_t>((bytes + alignment - 1) / alignment * alignment);
}

bool same_shape(const ChainShape& a, const ChainShape& b);
bool fits(const TensorImpl& tensor, const ChainShape& shape);
bool fit(std::span<TensorImpl* const> tensors, const std::vector<ChainShape>& shapes);
ChainShape shape_of(const TensorImpl& tensor);
std::vector<ChainShape> shapes_of(std::span<TensorImpl* const> tensors);
Tensor make_chain_output(const ChainShape& shape);

// Whether nobody watches single calls with these.
bool chains_may_run(std::span<TensorImpl* const> inputs);
bool want_gradients(std::span<TensorImpl* const> inputs);

// Fills everything but `older` and what stands before `possible`.
void plan_chain(const Chain& chain, Chain::Plan& plan);
// Puts a plan by tiles in its place, if there can be one: for tensors of any size and dtype,
// without products.
void plan_tiles(const Chain& chain, Chain::Plan& plan);

}  // namespace wisp::ops
