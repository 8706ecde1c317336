// How a sequence of kernels is run: which of them together, and what has to be written. A plan
// depends on the structure of the sequence alone, not on sizes, so that it serves again for the
// same program on other sequence lengths or batch sizes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/trials.h"
#include "lazy/batch.h"

namespace wisp::lazy {

// Names a tensor of an entry: an argument's, or a result.
struct TensorPlace {
  uint32_t entry;
  uint16_t index;
  bool is_out;
};
inline const Tensor& tensor_at(std::span<const Entry> entries, const TensorPlace& place) {
  const Entry& entry = entries[place.entry];
  return place.is_out ? entry.outs[place.index] : entry.tensors[place.index];
}

struct GroupStep {
  uint32_t entry;
  cpu::FusedSource in[3];
  uint8_t tile;
  int8_t store;
};
struct NumberPlace {
  uint32_t entry;
  uint16_t arg;
};

// A reduction of what a step computes.
struct GroupFold {
  uint32_t entry;
  int step;
};

// Pointwise kernels that run as one, with reductions of what they compute.
struct Group {
  std::vector<GroupStep> steps = {};
  std::vector<TensorPlace> operands = {};  // in memory; those that are written come first
  std::vector<NumberPlace> numbers = {};
  std::vector<GroupFold> folds = {};
};

struct Stage {
  bool fused = false;
  uint32_t entry = 0;  // if not fused
  Group group = {};
  // Whether the group takes longer as one than kernel by kernel, which is the other way.
  std::shared_ptr<Trials> trials = {};
};

struct Plan {
  std::vector<Stage> stages;
  std::vector<uint32_t> dropped;  // kernels whose results nobody wants
};

// Kernels that follow each other, from `first` on, with a plan; or one that runs alone.
struct Piece {
  uint32_t first, count;
  std::shared_ptr<const Plan> plan;
  const char* why_new = nullptr;  // why it had to be made; null: it was known
};

// That of one kernel for pieces without.
const Plan& plan_of(const Piece& piece);

// How a batch is run: piece after piece. What can be joined with nothing needs no plan, and plans
// do not depend on what stands around their piece.
struct Schedule {
  std::vector<Piece> pieces;
  std::vector<uint32_t> dropped;  // kernels whose results nobody wants
  // Per entry, a bit per result: nothing is written to its memory afterwards.
  std::vector<uint8_t> finished;
  int64_t new_plans = 0;
};

// The plans that were made so far. For one thread at a time.
class Plans {
 public:
  Plans();
  ~Plans();
  Plans(const Plans&) = delete;
  Plans& operator=(const Plans&) = delete;

  // Holds until the next call. The entries may be brought into another order.
  const Schedule& schedule_for(std::vector<Entry>& entries);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Runs the batch; afterwards none of its results is pending. Throws the first error at the end.
// Marks the entries that it was worth it to put off.
void run(Batch& batch, const Schedule& schedule, std::vector<bool>& gained);

}  // namespace wisp::lazy
