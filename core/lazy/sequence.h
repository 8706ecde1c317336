// What the planner knows about a sequence of kernels: which memory each of them reads and writes.
#pragma once

#include <string>
#include <vector>

#include "lazy/batch.h"

namespace wisp::lazy {

// A part of a storage, as a tensor with certain sizes, strides, offset and dtype.
struct Cell {
  int storage;
  int next;  // another part of the same storage, or -1
  const Tensor* tensor;
};

struct Memory {
  const Storage* storage;
  uint32_t held = 0;      // references of the entries
  bool wanted = false;    // by somebody else, afterwards
  uint32_t uses_end = 0;  // the last entry that is needed and uses it, and one
  int first_cell = -1;    // of the parts of it that occur
};

struct EntryCells {
  std::span<const int> in;  // one per tensor; -1 for one that is not defined
  std::span<const int> out;
};

// It is kept from one batch to the next for the memory that it has.
class Sequence {
 public:
  void read(std::span<const Entry> all);
  // Some entries of a sequence, as one of their own: what later entries use is wanted. Writes the
  // key.
  void take(const Sequence& whole, size_t begin, size_t end);

  std::span<const Entry> entries;
  std::vector<Cell> cells;
  std::vector<Memory> memories;
  // Per entry: whether it computes something for others, or for entries that do.
  std::vector<bool> needed;
  // Sequences with the same key have the same plan, if the kernels of each of its groups work on
  // one shape. So it tells of shapes only whether an operand of a pointwise kernel has that of the
  // result: whether two kernels that have nothing to do with each other work on the same shape is
  // often a coincidence of sizes.
  std::u32string key;

  size_t size() const { return starts_.size(); }
  EntryCells entry(size_t i) const {
    const Entry& entry = entries[i];
    const int* const first = places_.data() + starts_[i];
    return {{first, entry.tensors.size()}, {first + entry.tensors.size(), entry.outs.size()}};
  }

 private:
  int memory_of(const Storage& storage);
  int cell_of(const Tensor& tensor);
  void read_entry(const Entry& entry);
  void find_needed();
  int taken(const Sequence& whole, int cell);
  void write_key();

  std::vector<int> table_;   // hashed by storage: index into memories, or -1
  std::vector<int> places_;  // cells of the tensors of all entries
  std::vector<int> taken_;   // of each cell of the whole: the one here, or -1
  std::vector<uint32_t> starts_;
};

}  // namespace wisp::lazy
