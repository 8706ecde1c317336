// Function transforms: forward derivatives (jvp) and batching (vmap), nested in any order. Each use
// of one is a level; levels are numbered from the outside in, and a call is handled by the
// innermost level that one of its tensors belongs to. What that level calls to do its work belongs
// to the levels around it.
#pragma once

#include "dispatch/call.h"
#include "dispatch/recording.h"

namespace wisp::transform {

enum class Kind : uint8_t { jvp, vmap };
// What operators that draw random numbers do inside vmap.
enum class Randomness : uint8_t { error, different, same };

struct Level {
  uint64_t id;
  Kind kind;
  int64_t batch = 0;  // vmap: how many samples
  Randomness randomness = Randomness::error;
};

// Starts a level on this thread; leave() ends the innermost one, which has to be that.
uint64_t enter(Kind kind, int64_t batch = 0, Randomness randomness = Randomness::error);
void leave(uint64_t id);
// Makes calls pass autocast and the levels, whichever there are.
void renew_interceptor();
// Makes a recorder see the calls of this thread, after autocast and the levels; null: none does.
void set_recorder(CallRecorder* recorder);
// The level of that number if it is running on this thread and not hidden.
const Level* find_level(uint64_t id);
// The number of the innermost level that a tensor belongs to and that is not hidden, or 0.
uint64_t level_of(const TensorImpl& tensor);
// The innermost vmap that is not hidden.
const Level* innermost_vmap();

// Hides a level and those inside it for a scope.
class Below {
 public:
  explicit Below(uint64_t level);
  ~Below();
  Below(const Below&) = delete;
  Below& operator=(const Below&) = delete;

 private:
  uint64_t ceiling_;
  Interceptor* interceptor_;
};

}  // namespace wisp::transform
