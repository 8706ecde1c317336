// Weights of 3x3 at the points of Winograd's method, and back.
#pragma once

#include <span>
#include <vector>

#include "base/refcount.h"
#include "cpu/winograd_planes.h"

namespace wisp::cpu::winograd {

// (to, from, 3, 3) for the forward direction, or, with the channels last, (to, 3, 3, from).
// Backwards both exchange roles and the window is turned around.
struct Weight {
  const float* data;
  int64_t from, to;  // channels of the image that is read, and of the one that is made
  bool backwards, last;
  std::span<const float> scale;  // of the channels that are made, unless it is empty
};

// The planes of a weight, of this call alone or kept for the next ones.
class WeightPlanes {
 public:
  WeightPlanes(const Method& method, const Weight& w, Ref<Object>* kept, Work& work);
  Planes get() const { return {memory_->data(), from_, to_, panel_}; }

 private:
  class Kept final : public Object {
   public:
    Kept(const Method& method, const Weight& w)
        : tile_(method.tile),
          from_(w.from),
          backwards_(w.backwards),
          last_(w.last),
          scale_(w.scale.begin(), w.scale.end()),
          memory_(method.planes() * Planes::step_of(w.from, w.to)) {}
    float* data() const { return memory_.data(); }
    bool suits(const Method& method, const Weight& w) const {
      return method.tile == tile_ && w.from == from_ && w.backwards == backwards_ &&
             w.last == last_ && std::ranges::equal(w.scale, scale_);
    }

   private:
    int64_t tile_, from_;
    bool backwards_, last_;
    std::vector<float> scale_;
    Scratch<float> memory_;
  };

  int64_t from_, to_, panel_;
  Ref<const Kept> memory_;
};

// From planes, whose rows are the channels of x and whose columns are those of y, to a weight.
void take_weight(const Method& method, const Planes& sums, float* weight, bool last, Work& work);

}  // namespace wisp::cpu::winograd
