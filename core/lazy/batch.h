// Kernels that wait to be run.
#pragma once

#include <memory_resource>
#include <vector>

#include "cpu/fused.h"
#include "dispatch/call.h"

namespace wisp::lazy {

// One kernel. It has tensors of its own on the storages of the arguments and results, so that
// nothing that happens to those tensors later matters.
struct Entry {
  const OpDef* op = nullptr;
  DType compute = DType::float32;
  bool promised = false;   // the results are new: there is nothing in them before it runs
  bool pointwise = false;  // `args` are then the operands of `opcode`, tensors and numbers
  cpu::Opcode opcode = {};
  cpu::Params params = {};
  // Reduces all elements of its first argument to one, in the dtype they have.
  bool folds = false;
  cpu::Reduction reduction = {};
  cpu::ReduceParams reduce_params = {};
  std::span<Arg> args;        // in the batch's arena, like the lists they point to
  std::span<Tensor> tensors;  // what the arguments point to
  std::span<Tensor> outs;
  Place place;
  uint64_t site = 0;  // where it is noted whether putting it off was worth it; 0: nowhere
};

// How many references to a storage belong to the entry.
uint32_t held_by(const Entry& entry, const Storage& storage);

class Batch {
 public:
  Batch() = default;
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;
  ~Batch();

  // Makes room for an entry with copies of the arguments.
  Entry& add(const OpDef& op, DType compute, std::span<const Arg> args);
  void set_outs(Entry& entry, std::span<const Tensor> outs);
  void clear();  // for other entries, in the same memory

  std::vector<Entry> entries;
  int64_t promised = 0;  // bytes of results

 private:
  template <class T>
  std::span<T> array(size_t n) {
    return {static_cast<T*>(arena_.allocate(n * sizeof(T), alignof(T))), n};
  }
  template <class T>
  const T* copy(const T* from, size_t n);
  static void drop(Entry& entry);

  alignas(64) char memory_[1 << 14];  // enough for a hundred entries
  std::pmr::monotonic_buffer_resource arena_{memory_, sizeof(memory_)};
};

}  // namespace wisp::lazy
