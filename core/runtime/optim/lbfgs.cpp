#include "runtime/optim/lbfgs.h"

#include <algorithm>
#include <cmath>

#include "runtime/bridge.h"
#include "runtime/modes.h"
#include "runtime/operators.h"

namespace wisp::api::optim {

LBFGSOptions::LBFGSOptions(double lr) {
  set("lr", lr);
  set("max_iter", 20);
  set("max_eval", Value());
  set("tolerance_grad", 1e-7);
  set("tolerance_change", 1e-9);
  set("history_size", 100);
  set("line_search_fn", Value());
}

namespace {

LBFGSOptions complete(LBFGSOptions options) {
  WISP_CHECK_VALUE(options.lr() >= 0, "Invalid learning rate: ", options.lr());
  if (options.get("max_eval").is_none()) options.max_eval(options.max_iter() * 5 / 4);
  return options;
}

double largest(const Tensor& t) { return t.abs().max().item<double>(); }
double product(const Tensor& a, const Tensor& b) { return a.dot(b).item<double>(); }
Tensor as_real(const Tensor& t) { return t.is_complex() ? view_as_real(t) : t; }

// All elements one after the other.
Tensor vector_of(const Tensors& tensors) {
  Tensors parts;
  for (const Tensor& t : tensors) parts.push_back(as_real(t).reshape({-1}));
  return cat(parts);
}

Tensors tensors_of(const Value::List& values) {
  Tensors tensors;
  for (const Value& value : values) tensors.push_back(value.to_tensor());
  return tensors;
}

// Sets a value of the state, whether it is there or not.
void put(OrderedDict<Value>& state, const std::string& name, Value value) {
  if (Value* found = state.find(name)) {
    *found = std::move(value);
  } else {
    state.insert(name, std::move(value));
  }
}

}  // namespace

LBFGS::LBFGS(Tensors params, LBFGSOptions options)
    : Optimizer({OptimizerParamGroup(std::move(params))}, complete(std::move(options))) {}

// --- all parameters as one vector

Tensor LBFGS::gradient() const {
  Tensors grads;
  for (const Tensor& param : parameters()) {
    const Tensor grad = param.grad();
    grads.push_back(grad.defined() ? grad : zeros_like(param));
  }
  return vector_of(grads);
}

void LBFGS::move(double t, const Tensor& direction, const Tensor& origin) const {
  static const OpDef& op = entry("_lbfgs_move");
  Tensors targets;
  for (const Tensor& param : parameters()) targets.push_back(as_real(param));
  run<void>(op, {direction, targets, t, origin});
}

LBFGS::Point LBFGS::evaluate(const LossClosure& closure) const {
  const AutoGradMode recorded(true);
  const double loss = closure().item<double>();
  return {0, loss, gradient(), 0};
}

// --- the line search

// Looks along a direction for a step that lowers the loss enough and the slope as well (strong
// Wolfe conditions).
class LBFGS::LineSearch {
 public:
  using Evaluate = std::function<Point(double)>;
  LineSearch(Evaluate evaluate, Point start, double size, double tolerance)
      : evaluate_at_(std::move(evaluate)),
        start_(std::move(start)),
        size_(size),
        tolerance_(tolerance) {}

  // The point to go to, when t is the first to try.
  Point run(double t) {
    Point low, high;
    if (!bracket(t, low, high)) return low;
    if (low.loss > high.loss) std::swap(low, high);
    return zoom(low, high);
  }
  int64_t evaluations = 0;

 private:
  static constexpr double enough_loss = 1e-4, enough_slope = 0.9;
  static constexpr int max_steps = 25;

  Point evaluate(double t) {
    ++evaluations;
    return evaluate_at_(t);
  }
  bool is_too_high(const Point& p) const {
    return p.loss > start_.loss + enough_loss * p.t * start_.slope;
  }
  bool is_flat(const Point& p) const { return std::abs(p.slope) <= -enough_slope * start_.slope; }

  // Where the cubic through both points with their slopes has its minimum, within limits; their
  // middle if nowhere.
  static double cubic_minimum(const Point& first, const Point& second, double low, double high) {
    const bool ordered = first.t <= second.t;
    const Point &a = ordered ? first : second, &b = ordered ? second : first;
    const double d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t);
    const double square = d1 * d1 - a.slope * b.slope;
    if (square < 0) return (low + high) / 2;
    const double d2 = std::sqrt(square);
    const double best = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2));
    return std::min(std::max(best, low), high);
  }

  // Finds two points with a good one between them, or a good one (`low`): then returns false.
  bool bracket(double t, Point& low, Point& high) {
    Point last = start_, point = evaluate(t);
    while (steps_ < max_steps) {
      const bool passed = is_too_high(point) || (steps_ > 1 && point.loss >= last.loss);
      if (!passed && is_flat(point)) {
        low = point;
        return false;
      }
      if (passed || point.slope >= 0) {
        low = last, high = point;
        return true;
      }
      t = cubic_minimum(last, point, point.t + 0.01 * (point.t - last.t), point.t * 10);
      last = point;
      point = evaluate(t);
      ++steps_;
    }
    low = start_, high = point;
    return true;
  }

  // Where to look next inside a bracket: not too close to its ends twice in a row.
  double next_try(const Point& low, const Point& high) {
    const double left = std::min(low.t, high.t), right = std::max(low.t, high.t);
    const double margin = 0.1 * (right - left);
    double t = cubic_minimum(low, high, left, right);
    bool close = std::min(right - t, t - left) < margin;
    if (close && (crept_ || t >= right || t <= left)) {
      t = std::abs(t - right) < std::abs(t - left) ? right - margin : left + margin;
      close = false;
    }
    crept_ = close;
    return t;
  }

  // Narrows a bracket down; `low` is its end with the lower loss.
  Point zoom(Point low, Point high) {
    while (steps_ < max_steps && std::abs(high.t - low.t) * size_ >= tolerance_) {
      const Point point = evaluate(next_try(low, high));
      ++steps_;
      if (is_too_high(point) || point.loss >= low.loss) {
        high = point;
        if (low.loss > high.loss) std::swap(low, high);
        continue;
      }
      if (is_flat(point)) return point;
      if (point.slope * (high.t - low.t) >= 0) high = low;
      low = point;
    }
    return low;
  }

  Evaluate evaluate_at_;
  Point start_;
  double size_, tolerance_;
  int steps_ = 0;
  bool crept_ = false;  // the last try was close to an end of the bracket
};

// --- one step

Tensor LBFGS::step(const LossClosure& closure) {
  WISP_CHECK_TYPE(closure, "LBFGS.step() missing 1 required argument: 'closure'");
  const NoGradGuard unrecorded;
  const OptimizerOptions& options = settings();
  State& state = state_of(parameters()[0]);
  for (const char* count : {"func_evals", "n_iter"}) {
    if (!state.contains(count)) state.insert(count, 0);
  }
  Tensor first;
  const auto noting = [&] { return first = closure(); };
  Point now = evaluate(noting);
  const int64_t most = static_cast<int64_t>(options.number("max_iter"));
  int64_t evaluations = 1;
  bool converged = largest(now.grad) <= options.number("tolerance_grad");
  for (int64_t i = 1; i <= most && !converged; ++i) {
    put(state, "n_iter", state["n_iter"].to_int() + 1);
    const Tensor along = direction(state, now.grad);
    put(state, "prev_flat_grad", now.grad.clone());
    put(state, "prev_loss", now.loss);
    put(state, "d", along);
    put(state, "t", first_length(state, now.grad));
    now.slope = product(now.grad, along);
    if (now.slope > -options.number("tolerance_change")) break;
    const int64_t before = evaluations;
    now = go(closure, now, i == most, evaluations);
    converged = evaluations > before && largest(now.grad) <= options.number("tolerance_grad");
    if (evaluations >= static_cast<int64_t>(options.number("max_eval")) ||
        stands_still(state, now.loss)) {
      break;
    }
  }
  put(state, "func_evals", state["func_evals"].to_int() + evaluations);
  return first;
}

bool LBFGS::stands_still(State& state, double loss) const {
  const double limit = settings().number("tolerance_change");
  const Tensor moved = state["d"].to_tensor() * state["t"].to_double();
  return largest(moved) <= limit || std::abs(loss - state["prev_loss"].to_double()) < limit;
}

double LBFGS::first_length(State& state, const Tensor& grad) const {
  const double lr = settings().number("lr");
  if (state["n_iter"].to_int() > 1) return lr;
  return std::min(1.0, 1.0 / grad.abs().sum().item<double>()) * lr;
}

// Makes a step along the direction: the loss and gradient after it.
LBFGS::Point LBFGS::go(const LossClosure& closure, const Point& start, bool last,
                       int64_t& evaluations) {
  State& state = state_of(parameters()[0]);
  const Tensor along = state["d"].to_tensor();
  const double t = state["t"].to_double();
  const Value& search_name = settings().get("line_search_fn");
  if (search_name.is_none()) {
    move(t, along, {});
    if (last) return start;  // nobody wants to know
    ++evaluations;
    return evaluate(closure);
  }
  WISP_CHECK(search_name.to_text() == "strong_wolfe", "only 'strong_wolfe' is supported");
  const Tensor origin = vector_of(parameters());
  auto at = [&](double distance) {
    move(distance, along, origin);
    Point point = evaluate(closure);
    point.t = distance;
    point.slope = product(point.grad, along);
    return point;
  };
  LineSearch search(at, start, largest(along), settings().number("tolerance_change"));
  const Point found = search.run(t);
  put(state, "t", found.t);
  move(found.t, along, origin);
  evaluations += search.evaluations;
  return found;
}

// The gradient times an estimate of the inverse Hessian, negated.
Tensor LBFGS::direction(State& state, const Tensor& grad) {
  if (state["n_iter"].to_int() == 1) {
    for (const char* name : {"old_dirs", "old_stps", "ro"}) put(state, name, Value::List());
    put(state, "H_diag", 1.0);
    return grad.neg();
  }
  Value::List& changes = state.find("old_dirs")->to_list();
  Value::List& steps = state.find("old_stps")->to_list();
  Value::List& ro = state.find("ro")->to_list();
  static const OpDef& change_op = entry("_lbfgs_change");
  const auto [change, step, curvature, square] = run<std::tuple<Tensor, Tensor, Tensor, Tensor>>(
      change_op,
      {grad, state["prev_flat_grad"].to_tensor(), state["d"].to_tensor(), state["t"].to_double()});
  if (curvature.item<double>() > 1e-10) {
    if (static_cast<double>(changes.size()) == settings().number("history_size")) {
      for (Value::List* kept : {&changes, &steps, &ro}) kept->erase(kept->begin());
    }
    changes.emplace_back(change);
    steps.emplace_back(step);
    ro.emplace_back(1.0 / curvature);
    put(state, "H_diag", curvature / square);
  }
  static const OpDef& direction_op = entry("_lbfgs_direction");
  return std::get<0>(run<std::tuple<Tensor, Tensor>>(
      direction_op,
      {grad, tensors_of(changes), tensors_of(steps), tensors_of(ro), state["H_diag"].to_double()}));
}

}  // namespace wisp::api::optim
