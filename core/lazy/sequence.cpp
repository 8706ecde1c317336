#include "lazy/sequence.h"

#include <algorithm>
#include <bit>

namespace wisp::lazy {

void Sequence::read(std::span<const Entry> all) {
  entries = all;
  cells.clear();
  memories.clear();
  places_.clear();
  starts_.clear();
  size_t tensors = 1;
  for (const Entry& entry : entries) tensors += entry.tensors.size() + entry.outs.size();
  table_.assign(std::bit_ceil(2 * tensors), -1);
  for (const Entry& entry : entries) read_entry(entry);
  for (Memory& memory : memories) memory.wanted = memory.storage->use_count() > memory.held;
  find_needed();
}

void Sequence::find_needed() {
  needed.assign(size(), false);
  std::vector<bool> used(memories.size());
  for (size_t m = 0; m < used.size(); ++m) used[m] = memories[m].wanted;
  for (size_t i = size(); i-- > 0;) {
    for (int cell : entry(i).out) needed[i] = needed[i] || used[cells[cell].storage];
    if (!needed[i]) continue;
    const auto note = [&](int cell) {
      uint32_t& end = memories[cells[cell].storage].uses_end;
      end = std::max(end, static_cast<uint32_t>(i + 1));
    };
    for (int cell : entry(i).out) note(cell);
    for (int cell : entry(i).in) {
      if (cell < 0) continue;
      used[cells[cell].storage] = true;
      note(cell);
    }
  }
}

// Cells and memories are numbered in the order in which they occur.
int Sequence::taken(const Sequence& whole, int cell) {
  if (cell < 0) return -1;
  if (taken_[cell] >= 0) return taken_[cell];
  const Cell& given = whole.cells[cell];
  const Memory& memory = whole.memories[given.storage];
  int storage = -1;
  for (int other = memory.first_cell; other >= 0 && storage < 0; other = whole.cells[other].next) {
    if (taken_[other] >= 0) storage = cells[taken_[other]].storage;
  }
  if (storage < 0) {
    storage = static_cast<int>(memories.size());
    memories.push_back({.storage = memory.storage, .wanted = memory.wanted});
  }
  cells.push_back({storage, memories[storage].first_cell, given.tensor});
  return taken_[cell] = memories[storage].first_cell = static_cast<int>(cells.size()) - 1;
}

void Sequence::take(const Sequence& whole, size_t begin, size_t end) {
  entries = whole.entries.subspan(begin, end - begin);
  cells.clear();
  memories.clear();
  places_.clear();
  starts_.clear();
  taken_.assign(whole.cells.size(), -1);
  for (size_t i = begin; i < end; ++i) {
    starts_.push_back(static_cast<uint32_t>(places_.size()));
    for (int cell : whole.entry(i).in) places_.push_back(taken(whole, cell));
    for (int cell : whole.entry(i).out) places_.push_back(taken(whole, cell));
  }
  for (size_t cell = 0; cell < taken_.size(); ++cell) {
    if (taken_[cell] < 0) continue;
    const Memory& memory = whole.memories[whole.cells[cell].storage];
    memories[cells[taken_[cell]].storage].wanted = memory.wanted || memory.uses_end > end;
  }
  find_needed();
  write_key();
}

void Sequence::read_entry(const Entry& entry) {
  starts_.push_back(static_cast<uint32_t>(places_.size()));
  for (const Tensor& t : entry.tensors) {
    const int cell = t.defined() ? cell_of(t) : -1;
    places_.push_back(cell);
    if (cell >= 0) ++memories[cells[cell].storage].held;
  }
  for (const Tensor& t : entry.outs) {
    const int cell = cell_of(t);
    places_.push_back(cell);
    const bool shared = std::any_of(entry.tensors.begin(), entry.tensors.end(),
                                    [&](const Tensor& other) { return other.is_same(t); });
    if (!shared) ++memories[cells[cell].storage].held;
  }
}

int Sequence::memory_of(const Storage& storage) {
  const size_t mask = table_.size() - 1;
  size_t at = (reinterpret_cast<uintptr_t>(&storage) >> 6) * 0x9E3779B97F4A7C15ull >> 20 & mask;
  while (table_[at] >= 0 && memories[table_[at]].storage != &storage) at = (at + 1) & mask;
  if (table_[at] < 0) {
    table_[at] = static_cast<int>(memories.size());
    memories.push_back({.storage = &storage});
  }
  return table_[at];
}

int Sequence::cell_of(const Tensor& tensor) {
  const int memory = memory_of(tensor->storage());
  for (int cell = memories[memory].first_cell; cell >= 0; cell = cells[cell].next) {
    const Tensor& other = *cells[cell].tensor;
    if (other->offset() == tensor->offset() && other.dtype() == tensor.dtype() &&
        same(other.sizes(), tensor.sizes()) && same(other.strides(), tensor.strides()))
      return cell;
  }
  cells.push_back({memory, memories[memory].first_cell, &tensor});
  return memories[memory].first_cell = static_cast<int>(cells.size()) - 1;
}

namespace {

// What tells kernels of one operator apart.
char32_t kind_of(const Entry& entry) {
  uint32_t kind = entry.pointwise ? 1 + static_cast<uint32_t>(entry.opcode) : 0;
  kind = kind << 8 | static_cast<uint32_t>(entry.compute);
  return kind << 8 | (entry.folds ? static_cast<uint32_t>(entry.reduction) : 0xffu);
}

// Which arguments of a pointwise kernel are tensors, and which of these are of its shape.
char32_t operands_of(const Entry& entry) {
  uint32_t bits = 1;
  for (const Arg& arg : entry.args) {
    bits = bits << 2 | (arg.is_tensor() ? 2u : 0u);
    if (arg.is_tensor() && same(arg.as.tensor->sizes(), entry.outs[0].sizes())) bits |= 1u;
  }
  return bits;
}

}  // namespace

void Sequence::write_key() {
  key.clear();
  for (size_t i = 0; i < size(); ++i) {
    const Entry& entry = entries[i];
    key.push_back(static_cast<char32_t>(entry.op->id) << 8 |
                  static_cast<char32_t>(entry.outs.size()));
    key.push_back(static_cast<char32_t>(entry.tensors.size()));
    key.push_back(kind_of(entry));
    if (entry.pointwise) key.push_back(operands_of(entry));
  }
  for (int cell : places_) key.push_back(static_cast<char32_t>(cell));
  for (const Cell& cell : cells) {
    key.push_back(static_cast<char32_t>(cell.storage) << 8 |
                  static_cast<char32_t>(cell.tensor->dtype()));
  }
  for (const Memory& memory : memories) key.push_back(memory.wanted);
}

}  // namespace wisp::lazy
