#include "transform/levels.h"

#include <atomic>

#include "transform/arguments.h"
#include "transform/autocast.h"
#include "transform/batch.h"
#include "transform/forward.h"

namespace wisp::transform {

namespace {

std::atomic<uint64_t> last_id{0};
thread_local std::vector<Level> levels;
thread_local uint64_t ceiling = UINT64_MAX;
thread_local CallRecorder* recorder = nullptr;  // behind everybody else

}  // namespace

uint64_t level_of(const TensorImpl& tensor) {
  uint64_t highest = 0;
  auto look = [&](const TensorImpl& t, bool batched) {
    const Layers* layers = t.layers();
    if (!layers) return;
    for (const auto& entry : layers->tangents) {
      if (entry.level > highest && find_level(entry.level)) highest = entry.level;
    }
    if (!batched || layers->batch_level == 0 || layers->batch_level > ceiling) return;
    WISP_CHECK(find_level(layers->batch_level),
               "a tensor that was made inside vmap is used after that vmap has ended. Return it ",
               "from the function instead of storing it elsewhere.");
    highest = std::max(highest, layers->batch_level);
  };
  look(tensor, true);
  if (const TensorImpl* base = tensor.base()) look(*base, false);
  return highest;
}

namespace {

uint64_t innermost_level(const OpDef& op, const Arg* args) {
  uint64_t highest = 0;
  each_tensor(op, args,
              [&](int, int, const Tensor& t) { highest = std::max(highest, level_of(*t.impl())); });
  return highest;
}

// squeeze_ and the like: self becomes the view, with all that belongs to it.
void become(const OpDef& op, const Arg* args) {
  const Tensor& self = args[0].tensor();
  autograd_hooks.check_write(op, self, mode.grad);
  TensorList made;
  call(op, args, made);
  const Tensor& view = made[0];
  self->set_geometry(view.sizes(), view.strides(), view->offset());
  self->set_layers(Ref<Layers>::share(view->layers()));
  autograd_hooks.wrote(op, self);
  if (!view.requires_grad()) return;
  self->autograd().grad_fn = view->autograd().grad_fn;
  self->autograd().output = view->autograd().output;
  self->autograd().view_version = self->version();
  self->set_requires_grad(true);
}

bool any_tracked(const OpDef& op, const Arg* args) {
  bool found = false;
  each_tensor(op, args, [&](int, int, const Tensor& t) { found |= tracked(t); });
  return found;
}

// In place: computed aside, then written.
void write(const OpDef& op, const Arg* args, const Level& level) {
  if (op.view) return become(op, args);
  const Tensor& self = args[0].tensor();
  TensorList made;
  ArgsCopy kept(op, args);
  // What the call saves of self must outlive the write.
  if (mode.grad && any_tracked(op, args)) kept.set(0, -1, invoke<"clone">(self));
  call(op, kept.data(), made);
  WISP_CHECK(same(made[0].sizes(), self.sizes()), op.shown, "_(): output with shape ", self.sizes(),
             " doesn't match the broadcast shape ", made[0].sizes());
  WISP_CHECK(can_cast(made[0].dtype(), self.dtype()), "result type ", legacy_name(made[0].dtype()),
             " can't be cast to the desired output type ", legacy_name(self.dtype()));
  if (level.kind == Kind::vmap) return write_batch(op, self, made[0], level);
  {
    Below below(level.id);
    invoke_in_place<"copy">(self, made[0]);
  }
  write_tangent(self, made[0], level);
}

class Transforms final : public Interceptor {
 public:
  bool intercept(const OpDef& op, const Arg* args, Form form, TensorList& outs) override {
    const uint64_t id = innermost_level(op, args);
    if (id == 0) {
      const Level* vmap = op.has(trait::random) && !op.body ? innermost_vmap() : nullptr;
      if (vmap && form == Form::functional && draw(op, args, Level(*vmap), outs)) return true;
      return recorder && recorder->intercept(op, args, form, outs);
    }
    const Level level = *find_level(id);
    // What a composite calls is seen one by one.
    if (op.body && (level.kind == Kind::jvp || op.batch == Batch::unset)) return false;
    mode.interceptor = this;  // until intercept() returns
    if (form == Form::in_place) {
      write(op, args, level);
    } else if (level.kind == Kind::jvp) {
      forward(op, args, level, outs);
    } else {
      batch(op, args, level, outs);
    }
    return true;
  }
};

thread_local Transforms transforms;

// The levels that are not hidden, or who comes after them.
Interceptor* behind_levels() {
  if (levels.empty() || levels.front().id > ceiling) return recorder;
  return &transforms;
}

}  // namespace

void renew_interceptor() {
  mode.interceptor = behind_autocast(behind_levels());
  if (recorder) recorder->alone = mode.interceptor == recorder;
}

void set_recorder(CallRecorder* wanted) {
  recorder = wanted;
  renew_interceptor();
}

uint64_t enter(Kind kind, int64_t batch, Randomness randomness) {
  levels.push_back({++last_id, kind, batch, randomness});
  ++mode.transforms;
  renew_interceptor();
  return levels.back().id;
}

void leave(uint64_t id) {
  WISP_CHECK(!levels.empty() && levels.back().id == id,
             "function transforms must end in the opposite order in which they began");
  levels.pop_back();
  --mode.transforms;
  renew_interceptor();
}

const Level* find_level(uint64_t id) {
  if (id > ceiling) return nullptr;
  for (const Level& level : levels) {
    if (level.id == id) return &level;
  }
  return nullptr;
}

const Level* innermost_vmap() {
  for (size_t i = levels.size(); i-- > 0;) {
    if (levels[i].kind == Kind::vmap && levels[i].id <= ceiling) return &levels[i];
  }
  return nullptr;
}

Below::Below(uint64_t level) : ceiling_(ceiling), interceptor_(mode.interceptor) {
  ceiling = std::min(ceiling, level - 1);
  mode.interceptor = behind_levels();
}

Below::~Below() {
  ceiling = ceiling_;
  mode.interceptor = interceptor_;
}

}  // namespace wisp::transform
