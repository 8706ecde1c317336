#include "lazy/cuts.h"

#include <algorithm>

namespace wisp::lazy {

const std::vector<Cut>& Cutter::cut(const Sequence& sequence) {
  cuts_.clear();
  open_.clear();
  writers_.assign(sequence.memories.size(), -1);
  used_.assign(sequence.memories.size(), 0);
  written_.assign(sequence.memories.size(), 0);
  before_.clear();
  order_.clear();
  begin_ = joining_ = 0;
  piece_ = 1;
  next_ = 0;
  for (size_t i = 0; i < sequence.size(); ++i) {
    sequence.needed[i] ? add(sequence, i) : leave_out(sequence, i);
  }
  end_piece(sequence.size());
  if (std::is_sorted(order_.begin(), order_.end())) order_.clear();
  return cuts_;
}

// The planner decides what is joined; here it is enough to know what cannot be.
void Cutter::add(const Sequence& sequence, size_t i) {
  if (sequence.entries[i].pointwise) return add_pointwise(sequence, i);
  if (folds_into_open(sequence, i)) {
    ++joining_;
    return note(sequence, i);
  }
  close_for_single(sequence, i);
  if (open_.empty()) {
    end_piece(i);
    cuts_.push_back({i, i + 1, false});
    order_.push_back(static_cast<uint32_t>(i));
    begin_ = i + 1;
  } else if (may_come_before(sequence, i)) {
    before_.push_back(i);
  } else {
    note(sequence, i);
  }
}

// What nobody needs is no part of a piece, unless it writes what that uses.
void Cutter::leave_out(const Sequence& sequence, size_t i) {
  if (open_.empty()) {
    end_piece(i);
    order_.push_back(static_cast<uint32_t>(i));
    begin_ = i + 1;
  } else if (writes_elsewhere(sequence, i)) {
    before_.push_back(i);
  }
}

// It reads nothing that the piece writes, and writes nothing that the piece uses.
bool Cutter::may_come_before(const Sequence& sequence, size_t i) const {
  const EntryCells cells = sequence.entry(i);
  return std::none_of(cells.in.begin(), cells.in.end(),
                      [&](int cell) {
                        return cell >= 0 && written_[sequence.cells[cell].storage] == piece_;
                      }) &&
         writes_elsewhere(sequence, i);
}

bool Cutter::writes_elsewhere(const Sequence& sequence, size_t i) const {
  const std::span<const int> outs = sequence.entry(i).out;
  return std::none_of(outs.begin(), outs.end(),
                      [&](int cell) { return used_[sequence.cells[cell].storage] == piece_; });
}

void Cutter::note(const Sequence& sequence, size_t i) {
  for (int cell : sequence.entry(i).in) {
    if (cell >= 0) used_[sequence.cells[cell].storage] = piece_;
  }
  for (int cell : sequence.entry(i).out) {
    used_[sequence.cells[cell].storage] = written_[sequence.cells[cell].storage] = piece_;
  }
}

bool Cutter::is_open(int number) const {
  return std::any_of(open_.begin(), open_.end(),
                     [&](const Open& open) { return open.number == number; });
}

void Cutter::close(int number) {
  std::erase_if(open_, [&](const Open& open) { return open.number == number; });
}

// A reduction goes with what computes its operand; whoever uses the result comes after that.
bool Cutter::folds_into_open(const Sequence& sequence, size_t i) const {
  if (!sequence.entries[i].folds) return false;
  const int from = sequence.entry(i).in[0];
  return from >= 0 && is_open(writers_[sequence.cells[from].storage]);
}

void Cutter::add_pointwise(const Sequence& sequence, size_t i) {
  const int out = sequence.entry(i).out[0];
  const IntSpan sizes = sequence.cells[out].tensor->sizes();
  auto same_shape = std::find_if(open_.begin(), open_.end(),
                                 [&](const Open& open) { return same(open.sizes, sizes); });
  if (same_shape == open_.end())
    same_shape = open_.insert(open_.end(), {.sizes = sizes, .number = next_++});
  const int number = same_shape->number;
  for (int cell : sequence.entry(i).in) {
    const int memory = sequence.cells[cell].storage;
    if (writers_[memory] >= 0 && writers_[memory] != number) close(writers_[memory]);
  }
  writers_[sequence.cells[out].storage] = number;
  ++joining_;
  note(sequence, i);
}

// It runs after what computes its operands, and after everything that uses what it writes.
void Cutter::close_for_single(const Sequence& sequence, size_t i) {
  for (int cell : sequence.entry(i).in) {
    if (cell >= 0) close(writers_[sequence.cells[cell].storage]);
  }
  for (int cell : sequence.entry(i).out) {
    if (used_[sequence.cells[cell].storage] == piece_) open_.clear();
  }
}

void Cutter::end_piece(size_t end) {
  if (end > begin_) cuts_.push_back({begin_, end, joining_ > 1});
  for (const size_t i : before_) order_.push_back(static_cast<uint32_t>(i));
  for (size_t i = begin_; i < end; ++i) {
    if (!std::binary_search(before_.begin(), before_.end(), i))
      order_.push_back(static_cast<uint32_t>(i));
  }
  before_.clear();
  begin_ = end;
  joining_ = 0;
  open_.clear();
  ++piece_;
}

}  // namespace wisp::lazy
