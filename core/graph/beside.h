// Parts of a program that need nothing of each other, run on the pool of threads. Each runs its
// kernels on one thread, in the pieces they are always cut into: the results are the same.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>

#include "base/trials.h"
#include "graph/aliases.h"
#include "graph/datum.h"

namespace wisp::graph {

// Whether a node may stand in a part that runs beside others: it computes its outputs, or raises an
// exception, and does nothing else, nobody writes what it reads or makes, and it needs no host.
bool can_run_beside(const Node& node, const Aliases& aliases);

// Whether a node makes text of tensors, which only the host knows how to show.
bool shows_tensor(const Node& node);

// Whether this thread may hand out work: there are others, and nobody watches the calls it makes.
bool may_run_beside();
// Whether nothing is recorded of calls with this value, a tensor or a list of some. Its sizes are
// mixed into the key.
bool is_unrecorded(const Datum& value, uint64_t& key);

struct BesideFailure {
  int64_t index;
  std::exception_ptr error;
};
// Calls f(0) ... f(count - 1) on the pool, in the modes of this thread, and waits for all of them.
// The host's lock is given away meanwhile. Gives the failure of the lowest index, if any.
std::optional<BesideFailure> run_beside(int64_t count, const std::function<void(int64_t)>& f);

// Whether parts run beside each other is found out by trial: what takes less is over before other
// threads are awake, and these may have work of their own.
constexpr Trials::Rules beside_rules{.least_time = 15'000, .clearly = 8};

}  // namespace wisp::graph
