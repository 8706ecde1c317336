// Objects whose `with` block a script is in. An error that leaves the block calls their __exit__.
#pragma once

#include <cstddef>

namespace wisp::graph {

// The contexts that are entered while this object lives are left with it, at the latest: those of
// blocks that an error ended by leave_all(), which is called while the error is in flight.
class Contexts {
 public:
  Contexts();
  ~Contexts();
  Contexts(const Contexts&) = delete;
  Contexts& operator=(const Contexts&) = delete;
  // Calls __exit__ of each, the last one first. If one of them fails, the others are called still,
  // and its error is thrown.
  void leave_all();

 private:
  size_t before_;
};

}  // namespace wisp::graph
