#include "transform/forward.h"

#include "autograd/engine.h"
#include "ops/ops.h"
#include "transform/arguments.h"
#include "transform/batch.h"

namespace wisp::transform {

namespace {

Tensor own_tangent(const TensorImpl& tensor, uint64_t level) {
  if (const Layers* layers = tensor.layers()) {
    for (const auto& entry : layers->tangents) {
      if (entry.level == level) return entry.value;
    }
  }
  return {};
}

// The part of a base's tangent that belongs to one of its views.
Tensor part_of(const Tensor& base_tangent, const TensorImpl& base, const Tensor& view) {
  return ops::as_strided(base_tangent, view.sizes(), view.strides(),
                         base_tangent->offset() + view->offset() - base.offset());
}

// Tangents lie in memory as their tensors do, so that views of one are views of the other.
Tensor laid_out_as(const Tensor& tensor, Tensor tangent) {
  const bool fits = tensor.numel() <= 1 || same(tensor.strides(), tangent.strides()) ||
                    !is_dense(tensor.sizes(), tensor.strides());
  return fits ? tangent : ops::restride(tangent, tensor.strides());
}

}  // namespace

Tensor tangent(const Tensor& tensor, uint64_t level) {
  Tensor own = own_tangent(*tensor.impl(), level);
  if (own.defined() || !tensor->base()) return own;
  const TensorImpl& base = *tensor->base();
  if (base.dtype() != tensor.dtype()) return {};
  const Tensor whole = own_tangent(base, level);
  if (!whole.defined()) return {};
  Below below(level);
  return part_of(whole, base, tensor);
}

void set_tangent(const Tensor& tensor, uint64_t level, Tensor value) {
  auto& list = tensor->make_layers().tangents;
  for (auto& entry : list) {
    if (entry.level == level) {
      entry.value = std::move(value);
      return;
    }
  }
  list.push_back({level, std::move(value)});
}

namespace {

// The layers of a tensor but for the tangent of one level.
void copy_layers(const Tensor& from, const Tensor& to, uint64_t without) {
  const Layers* layers = from->layers();
  if (!layers) return;
  auto copy = Ref<Layers>::adopt(new Layers);
  copy->batch_level = layers->batch_level;
  copy->batch = layers->batch;
  copy->batch_dim = layers->batch_dim;
  for (const auto& entry : layers->tangents) {
    if (entry.level != without) copy->tangents.push_back(entry);
  }
  to->set_layers(std::move(copy));
}

}  // namespace

Tensor primal(const Tensor& tensor, uint64_t level) {
  Below below(level);
  Tensor result = invoke<"alias">(tensor);
  copy_layers(tensor, result, level);
  return result;
}

Tensor make_dual(const Tensor& value, const Tensor& tangent, uint64_t level) {
  WISP_CHECK(is_differentiable(value.dtype()),
             "Expected primal to be floating point or complex, but got: ", name(value.dtype()));
  WISP_CHECK(is_differentiable(tangent.dtype()),
             "Expected tangent to be floating point or complex, but got: ", name(tangent.dtype()));
  WISP_CHECK(same(value.sizes(), tangent.sizes()), "Expected tangent of the shape of the primal, ",
             value.sizes(), ", but got ", tangent.sizes());
  WISP_CHECK(is_complex(value.dtype()) || !is_complex(tangent.dtype()),
             "Expected a real tangent for a real primal, but got ", name(tangent.dtype()));
  WISP_CHECK(!own_tangent(*value.impl(), level).defined(),
             "Making a dual Tensor based on a Tensor that already has a forward gradient at the ",
             "same level is not supported.");
  Tensor result = primal(value, level);
  Below below(level);
  const Tensor same_kind =
      tangent.dtype() == value.dtype() ? tangent : ops::to(tangent, value.dtype());
  set_tangent(result, level, laid_out_as(value, same_kind));
  return result;
}

bool tracked(const Tensor& t) {
  if (t.requires_grad()) return true;
  const Layers* layers = t->layers();
  return layers && layers->batch.defined() && tracked(layers->batch);
}

namespace {

// The same tensor with its tangents; neither it nor the batch that it stands for has a history.
Tensor without_history(const Tensor& t) {
  Tensor copy = t.alias();
  const Layers* layers = t->layers();
  if (!layers || !layers->batch.defined()) return copy;
  copy->set_layers({});
  copy_layers(t, copy, 0);
  copy->layers()->batch = without_history(layers->batch);
  return copy;
}

// An input that has a tangent.
struct Moving {
  int param, item;
  Tensor value, tangent;
};

class ForwardCall {
 public:
  ForwardCall(const OpDef& op, const Arg* args, const Level& level, TensorList& outs)
      : op_(op), args_(args), level_(level), outs_(outs) {}

  void run() {
    find_moving();
    if (op_.jvp == Jvp::none || moving_.empty()) {
      Below below(level_.id);
      return call(op_, args_, outs_);
    }
    std::vector<Tensor> tangents;
    {
      Below below(level_.id);
      switch (op_.jvp) {
        case Jvp::linear:
          tangents = linear();
          break;
        case Jvp::bilinear:
          tangents = bilinear();
          break;
        default:
          tangents = recorded();
      }
    }
    attach(tangents);
  }

 private:
  bool differentiable(int param) const { return (op_.differentiable >> param) & 1; }

  void find_moving() {
    each_tensor(op_, args_, [&](int param, int item, const Tensor& t) {
      if (!differentiable(param)) return;
      Tensor found = tangent(t, level_.id);
      inputs_require_grad_ |= t.requires_grad();
      records_ |= tracked(t);
      if (!found.defined()) return;
      records_ |= tracked(found);
      moving_.push_back({param, item, t, std::move(found)});
    });
    inputs_require_grad_ &= mode.grad;
    records_ &= mode.grad;
  }

  Tensor tangent_or_zero(int param, int item, const Tensor& t) const {
    for (const Moving& input : moving_) {
      if (input.param == param && input.item == item) return input.tangent;
    }
    return ops::zeros_like(t);
  }

  // The operator itself, on tangents instead of values.
  std::vector<Tensor> linear() {
    call(op_, args_, outs_);
    ArgsCopy changed(op_, args_);
    each_tensor(op_, args_, [&](int param, int item, const Tensor& t) {
      if (differentiable(param)) changed.set(param, item, tangent_or_zero(param, item, t));
    });
    for (size_t p = 0; p < op_.sig.params.size(); ++p) {
      const bool number = differentiable(static_cast<int>(p)) && args_[p].is_scalar();
      if (number) changed[static_cast<int>(p)] = Arg(0);
    }
    if (&op_ == &op_def<"_as_strided">()) shift_to(changed, moving_[0].tangent);
    TensorList results;
    call(op_, changed.data(), results);
    return {results.begin(), results.end()};
  }

  // The offset is one in the storage, and the tangent has a storage of its own.
  static void shift_to(ArgsCopy& as_strided, const Tensor& tangent) {
    const int64_t shift = tangent->offset() - as_strided[6].as.integer;
    as_strided[3].as.integer += shift;
    as_strided[6].as.integer += shift;
  }

  // The operator on one tangent at a time, the other inputs as they are.
  std::vector<Tensor> bilinear() {
    call(op_, args_, outs_);
    std::vector<Tensor> sums;
    for (const Moving& input : moving_) {
      ArgsCopy changed(op_, args_);
      changed.set(input.param, input.item, input.tangent);
      TensorList parts;
      call(op_, changed.data(), parts);
      sums.resize(parts.size());
      for (size_t i = 0; i < parts.size(); ++i) {
        sums[i] = sums[i].defined() ? ops::add(sums[i], parts[i]) : parts[i];
      }
    }
    return sums;
  }

  // From the derivative rules of reverse mode, by recording the call.
  std::vector<Tensor> recorded() {
    std::vector<Tensor> points, tangents;
    {
      GradMode on(true);
      ArgsCopy changed(op_, args_);
      for (const Moving& input : moving_) {
        points.push_back(point_for(input.value));
        changed.set(input.param, input.item, points.back());
      }
      call(op_, changed.data(), outs_);
      tangents =
          op_.jvp == Jvp::elementwise && place_by_place() ? scaled(points) : transposed(points);
    }
    if (!inputs_require_grad_) forget_history();
    return tangents;
  }

  // A stand-in for an input that the recorded call can be differentiated by.
  Tensor point_for(const Tensor& input) const {
    if (inputs_require_grad_ && input.requires_grad()) {
      // What the call saves keeps its tangent: gradients computed later depend on it.
      Tensor joint = invoke<"alias">(input);
      copy_layers(input, joint, 0);
      return one_of_samples(std::move(joint));
    }
    Tensor leaf = one_of_samples(input.alias());
    leaf->set_inference(false);
    leaf->set_requires_grad(true);
    return leaf;
  }

  // In a vmap around this level, what is the same in all samples would be a constant of a call that
  // is recorded for single ones.
  static Tensor one_of_samples(Tensor point) {
    const Level* vmap = innermost_vmap();
    const Layers* layers = point->layers();
    if (!vmap || (layers && layers->batch_level == vmap->id)) return point;
    Tensor sample = sample_of(point, -1, vmap->id);
    if (point.requires_grad()) sample->set_requires_grad(true);
    return sample;
  }

  bool place_by_place() const {
    if (outs_.size() != 1 || is_complex(outs_[0].dtype())) return false;
    for (const Moving& input : moving_) {
      if (!same(input.tangent.sizes(), outs_[0].sizes()) || is_complex(input.tangent.dtype()))
        return false;
    }
    return true;
  }

  // Where every result element depends on one element of an input, its rule scales a tangent just
  // as it scales a gradient.
  std::vector<Tensor> scaled(const std::vector<Tensor>& points) const {
    std::vector<Tensor> sum(1);
    if (!outs_[0].requires_grad()) return sum;
    for (size_t i = 0; i < points.size(); ++i) {
      const autograd::Point from[] = {outs_[0]}, to[] = {points[i]};
      Tensor part = autograd::gradients(from, {&moving_[i].tangent, 1}, to,
                                        {.keep_graph = true, .create_graph = records_})[0];
      if (!part.defined()) continue;
      sum[0] = sum[0].defined() ? ops::add(sum[0], part) : part;
    }
    return sum;
  }

  // A rule maps gradients of the results linearly to gradients of the inputs; the derivative of
  // that map maps tangents of the inputs to tangents of the results.
  std::vector<Tensor> transposed(const std::vector<Tensor>& points) const {
    std::vector<Tensor> tangents(outs_.size()), weights, heads_tangents;
    std::vector<size_t> which;
    std::vector<autograd::Point> from, by(points.begin(), points.end()), heads, to;
    for (size_t i = 0; i < outs_.size(); ++i) {
      if (!outs_[i].defined() || !outs_[i].requires_grad()) continue;
      Tensor weight = ops::zeros_like(outs_[i]);
      weight->set_requires_grad(true);
      which.push_back(i);
      from.emplace_back(outs_[i]);
      to.emplace_back(weight);
      weights.push_back(std::move(weight));
    }
    if (from.empty()) return tangents;
    const auto pulled = autograd::gradients(from, weights, by, {true, true});
    for (size_t i = 0; i < pulled.size(); ++i) {
      if (!pulled[i].defined() || !pulled[i].requires_grad()) continue;
      heads.emplace_back(pulled[i]);
      heads_tangents.push_back(moving_[i].tangent);
    }
    if (heads.empty()) return tangents;
    auto pushed = autograd::gradients(heads, heads_tangents, to, {true, records_});
    for (size_t i = 0; i < which.size(); ++i) tangents[which[i]] = std::move(pushed[i]);
    return tangents;
  }

  void forget_history() {
    for (const Tensor& out : outs_) {
      if (!out.defined()) continue;
      out->autograd().grad_fn.reset();
      out->set_requires_grad(false);
      if (!records_) forget_tangent_histories(*out.impl());
    }
  }
  // Levels around this one have seen the recorded call.
  static void forget_tangent_histories(const TensorImpl& out) {
    if (!out.layers()) return;
    for (auto& entry : out.layers()->tangents) {
      if (tracked(entry.value)) entry.value = without_history(entry.value);
    }
  }

  void attach(std::vector<Tensor>& tangents) {
    for (size_t i = 0; i < tangents.size() && i < outs_.size(); ++i) {
      Tensor& found = tangents[i];
      if (!found.defined() || !outs_[i].defined() || !is_differentiable(outs_[i].dtype())) continue;
      // A rule may hand on the very tensor it was given; a write to one must not reach the other.
      const bool shared = !op_.has(trait::view) && is_tangent_of_input(found);
      Below below(level_.id);
      Tensor own = shared ? ops::clone(found) : std::move(found);
      set_tangent(outs_[i], level_.id, laid_out_as(outs_[i], std::move(own)));
    }
  }
  bool is_tangent_of_input(const Tensor& t) const {
    for (const Moving& input : moving_) {
      if (&input.tangent->storage() == &t->storage()) return true;
    }
    return false;
  }

  const OpDef& op_;
  const Arg* args_;
  const Level& level_;
  TensorList& outs_;
  bool inputs_require_grad_ = false;
  bool records_ = false;  // whether the derivative is itself to be differentiated
  std::vector<Moving> moving_;
};

// The tangent of self to write into; made, of zeros, if it has none yet.
Tensor writable_tangent(const Tensor& self, uint64_t level) {
  Tensor found = tangent(self, level);
  if (found.defined()) return found;
  const bool is_view = self->base() && self->base()->dtype() == self.dtype();
  const Tensor whole = is_view ? Tensor::share(self->base()) : self;
  Below below(level);
  set_tangent(whole, level, laid_out_as(whole, ops::zeros_like(whole)));
  return is_view ? part_of(own_tangent(*whole.impl(), level), *whole.impl(), self)
                 : own_tangent(*whole.impl(), level);
}

}  // namespace

void forward(const OpDef& op, const Arg* args, const Level& level, TensorList& outs) {
  ForwardCall(op, args, level, outs).run();
}

void write_tangent(const Tensor& self, const Tensor& value, const Level& level) {
  const Tensor source = tangent(value, level.id);
  if (!source.defined() && !tangent(self, level.id).defined()) return;
  const Tensor target = writable_tangent(self, level.id);
  Below below(level.id);
  if (source.defined()) {
    ops::copy_(target, source);
  } else {
    ops::zero_(target);
  }
}

}  // namespace wisp::transform
