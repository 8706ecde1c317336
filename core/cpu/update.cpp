#include "cpu/update.h"

#include <vector>

#include "base/parallel.h"
#include "cpu/isa.h"
#include "cpu/kernels/kernels.h"

namespace wisp::cpu {

#define WISP_DECLARE(isa)                \
  namespace isa {                        \
  void fill_updates(UpdateTable& table); \
  }
WISP_FOR_EACH_ISA(WISP_DECLARE)
#undef WISP_DECLARE

namespace {

constexpr int64_t grain = 1 << 12;  // elements a thread takes at once

template <class T>
void run(UpdateFn<T> rule, const Update& job, int64_t begin, int64_t end) {
  auto at = [&](char* data) { return data ? reinterpret_cast<T*>(data) + begin : nullptr; };
  rule(at(job.param), reinterpret_cast<const T*>(job.grad) + begin, at(job.state[0]),
       at(job.state[1]), at(job.state[2]), end - begin, job.numbers);
}

struct Piece {
  const Update* job;
  int64_t begin, end;
};

template <class T>
void update_all(UpdateFn<T> rule, std::span<const Update> updates) {
  int64_t total = 0;
  for (const Update& job : updates) total += job.count;
  if (total <= 4 * grain) {
    for (const Update& job : updates) run(rule, job, 0, job.count);
    return;
  }
  // Large parameters are cut, so that threads have equal shares.
  std::vector<Piece> pieces;
  for (const Update& job : updates) {
    for (int64_t at = 0; at < job.count; at += grain)
      pieces.push_back({&job, at, std::min(at + grain, job.count)});
  }
  parallel_for(static_cast<int64_t>(pieces.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Piece& piece = pieces[static_cast<size_t>(i)];
      run(rule, *piece.job, piece.begin, piece.end);
    }
  });
}

}  // namespace

const UpdateTable& update_table() {
  static const UpdateTable filled = [] {
    UpdateTable made;
    WISP_FILL_FOR_ISA(fill_updates, made);
    return made;
  }();
  return filled;
}

void update(UpdateRule rule, DType dtype, std::span<const Update> updates) {
  if (dtype == DType::float32) {
    update_all(update_kernel<float>(rule), updates);
  } else {
    update_all(update_kernel<double>(rule), updates);
  }
}

}  // namespace wisp::cpu
