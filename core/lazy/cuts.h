// Cuts a sequence of kernels where nothing is joined across: into pieces that have plans of their
// own, and kernels that run alone.
#pragma once

#include "lazy/sequence.h"

namespace wisp::lazy {

struct Cut {
  size_t begin, end;
  bool joins;  // two of its kernels or more may be joined
};

class Cutter {
 public:
  // All of the sequence, in order.
  const std::vector<Cut>& cut(const Sequence& sequence);
  // After that: the entries in an order in which those that have nothing to do with a piece, but
  // stand in it, come before it; empty if they do already. Whether such a kernel was put off or run
  // at once, which is a question of its size, makes no difference to plans then.
  const std::vector<uint32_t>& order() const { return order_; }

 private:
  // Pointwise kernels on one shape that more may join.
  struct Open {
    IntSpan sizes;
    int number;
  };
  void add(const Sequence& sequence, size_t i);
  bool folds_into_open(const Sequence& sequence, size_t i) const;
  void add_pointwise(const Sequence& sequence, size_t i);
  void close_for_single(const Sequence& sequence, size_t i);
  void leave_out(const Sequence& sequence, size_t i);
  bool may_come_before(const Sequence& sequence, size_t i) const;
  bool writes_elsewhere(const Sequence& sequence, size_t i) const;
  void note(const Sequence& sequence, size_t i);
  void close(int number);
  bool is_open(int number) const;
  void end_piece(size_t end);

  std::vector<Cut> cuts_;
  std::vector<Open> open_;
  std::vector<int> writers_;  // of each memory: the open kernels that write it, or -1
  // Of each memory: the piece whose kernels use it, and that whose kernels write it, from 1 on.
  std::vector<size_t> used_, written_;
  std::vector<size_t> before_;  // entries that come before the piece in which they stand
  std::vector<uint32_t> order_;
  size_t begin_ = 0, joining_ = 0, piece_ = 1;
  int next_ = 0;
};

}  // namespace wisp::lazy
