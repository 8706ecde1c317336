#include "lazy/sequence.h"

#include <algorithm>
#include <bit>

namespace wisp::lazy {

Sequence::Sequence(const Batch& given) : batch(given) {
  size_t tensors = 1;
  for (const Entry& entry : batch.entries) tensors += entry.tensors.size() + entry.outs.size();
  table_.assign(std::bit_ceil(2 * tensors), -1);
  entries.resize(batch.entries.size());
  for (size_t i = 0; i < batch.entries.size(); ++i) {
    const Entry& entry = batch.entries[i];
    for (const Tensor& t : entry.tensors) {
      const int cell = t.defined() ? cell_of(t) : -1;
      entries[i].in.push_back(cell);
      if (cell < 0) continue;
      Memory& memory = memories[cells[cell].storage];
      ++memory.held;
      memory.readers.push_back(static_cast<int>(i));
    }
    for (const Tensor& t : entry.outs) {
      const int cell = cell_of(t);
      entries[i].out.push_back(cell);
      const bool shared = std::any_of(entry.tensors.begin(), entry.tensors.end(),
                                      [&](const Tensor& other) { return other.is_same(t); });
      if (!shared) ++memories[cells[cell].storage].held;
    }
  }
  for (Memory& memory : memories) memory.wanted = memory.storage->use_count() > memory.held;
  write_key();
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

int Sequence::shape_of(IntSpan sizes) {
  for (size_t i = shapes_.size(); i-- > 0;) {
    if (same(shapes_[i], sizes)) return static_cast<int>(i);
  }
  shapes_.push_back(sizes);
  return static_cast<int>(shapes_.size()) - 1;
}

int Sequence::cell_of(const Tensor& tensor) {
  const int memory = memory_of(tensor->storage());
  for (int cell : memories[memory].cells) {
    const Tensor& other = *cells[cell].tensor;
    if (other->offset() == tensor->offset() && other.dtype() == tensor.dtype() &&
        same(other.sizes(), tensor.sizes()) && same(other.strides(), tensor.strides()))
      return cell;
  }
  cells.push_back({memory, shape_of(tensor.sizes()), &tensor});
  memories[memory].cells.push_back(static_cast<int>(cells.size()) - 1);
  return memories[memory].cells.back();
}

void Sequence::write_key() {
  key.reserve(batch.entries.size() * 32);
  for (size_t i = 0; i < batch.entries.size(); ++i) {
    const Entry& entry = batch.entries[i];
    put(static_cast<uint16_t>(entry.op->id));
    put(entry.pointwise ? static_cast<uint16_t>(entry.opcode) : uint16_t(0xffff));
    put(entry.compute);
    put(entry.folds ? static_cast<uint8_t>(entry.reduction) : uint8_t(0xff));
    for (const Arg& arg : entry.args) put(arg.kind);
    for (int cell : entries[i].in) put(cell);
    for (int cell : entries[i].out) put(cell);
  }
  for (const Cell& cell : cells) {
    put(cell.storage);
    put(cell.shape);
    put(cell.tensor->dtype());
  }
  for (const Memory& memory : memories) put(memory.wanted);
}

}  // namespace wisp::lazy
