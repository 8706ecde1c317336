// What the planner knows about a sequence of kernels: which memory each of them reads and writes.
#pragma once

#include <string>
#include <vector>

#include "lazy/batch.h"

namespace wisp::lazy {

// A part of a storage, as a tensor with certain sizes, strides, offset and dtype.
struct Cell {
  int storage;
  int shape;  // number of the sizes among all that occur
  const Tensor* tensor;
};

struct Memory {
  const Storage* storage;
  uint32_t held = 0;              // references of the batch
  bool wanted = false;            // by somebody else, afterwards
  std::vector<int> cells = {};    // parts of it that occur
  std::vector<int> readers = {};  // entries, in order
};

struct EntryCells {
  std::vector<int> in;  // one per tensor; -1 for one that is not defined
  std::vector<int> out;
};

struct Sequence {
  explicit Sequence(const Batch& batch);

  const Batch& batch;
  std::vector<Cell> cells;
  std::vector<Memory> memories;
  std::vector<EntryCells> entries;
  // Two sequences with the same key have the same plan.
  std::string key;

 private:
  int memory_of(const Storage& storage);
  int cell_of(const Tensor& tensor);
  int shape_of(IntSpan sizes);
  void write_key();
  template <class T>
  void put(T value) {
    key.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }

  std::vector<int> table_;  // hashed by storage: index into memories, or -1
  std::vector<IntSpan> shapes_;
};

}  // namespace wisp::lazy
