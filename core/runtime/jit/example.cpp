// Inputs to try a method with.
#include "graph/example.h"

#include <chrono>

#include "runtime/bridge.h"
#include "runtime/creation.h"
#include "runtime/internal/datums.h"
#include "runtime/internal/guess.h"
#include "runtime/internal/jit_module.h"
#include "runtime/modes.h"

namespace wisp::api::jit {

using graph::Datum;
using graph::Function;

namespace {

// Of all tensors drawn for a call together: more is asked for by damaged files only.
constexpr int64_t most_bytes = int64_t(1) << 32;

// Values for an example as files have them: random numbers between 0 and 1, integers up to what is
// known to be allowed.
class Drawing {
 public:
  Value draw(const Value& like) {
    if (like.is_tensor()) return draw(like.to_tensor());
    if (like.is_list()) {
      Value::List items;
      for (const Value& item : like.to_list()) items.push_back(draw(item));
      return like.kind() == Value::Kind::tuple ? Value::tuple(std::move(items)) : Value(items);
    }
    if (!like.is_dict()) return like;
    Value::Dict items;
    for (const auto& [key, item] : like.to_dict()) items.emplace_back(key, draw(item));
    return items;
  }

 private:
  Tensor draw(const Tensor& like) {
    bytes_ += like.numel() * static_cast<int64_t>(item_size(like.dtype()));
    WISP_CHECK(bytes_ <= most_bytes, "the inputs that the file asks for take more than ",
               most_bytes >> 30, " GB");
    const std::vector<int64_t> sizes = like.sizes().vec();
    if (!contains(dtypes::bits, like.dtype())) return rand(sizes).to(like.dtype());
    if (!graph::is_uniform(core(like))) return like.clone();
    const int64_t greatest = core(like).alias({}, {}, 0).item().integer();
    if (greatest < 0) return like.contiguous();
    return randint(greatest + 1, sizes).to(like.dtype());
  }

  int64_t bytes_ = 0;
};

Example drawn(const Function& function, const std::vector<Datum>& values,
              const std::vector<std::string>& reasons) {
  Example made;
  Drawing drawing;
  for (size_t i = 0; i < values.size(); ++i)
    made.inputs.push_back({function.params[i].name, drawing.draw(to_value(values[i])), reasons[i]});
  return made;
}

// Tries what the graph lets one guess, one after the other.
class Trial {
 public:
  Trial(const Function& function, graph::ObjectData* self)
      : function_(function), self_(self), guesses_(guesses(function, self)) {
    while (!guesses_.empty() && function.params[guesses_.size() - 1].has_default)
      guesses_.pop_back();
  }

  Example run() {
    bool possible = std::none_of(guesses_.begin(), guesses_.end(),
                                 [](const auto& some) { return some.empty(); });
    std::vector<size_t> at(guesses_.size(), 0);
    for (int tries = 0; possible && tries < most_tries && !is_late(); ++tries) {
      Example example = example_at(at);
      if (accepts(example)) return example;
      possible = next(at);
    }
    fail_unknown();
  }

 private:
  static constexpr int most_tries = 1000;
  static constexpr std::chrono::seconds most_time{30};

  bool is_late() const { return std::chrono::steady_clock::now() - start_ > most_time; }

  Example example_at(const std::vector<size_t>& at) const {
    std::vector<Datum> values;
    std::vector<std::string> reasons;
    for (size_t i = 0; i < at.size(); ++i) {
      values.push_back(guesses_[i][at[i]].value);
      reasons.push_back(guesses_[i][at[i]].reason);
    }
    return drawn(function_, values, reasons);
  }

  bool accepts(const Example& example) {
    try {
      const NoGradGuard unrecorded;
      call(function_, self_, example.values());
      return true;
    } catch (const Error& error) {
      if (error_.empty()) error_ = error.what();
      return false;
    }
  }

  // To the next combination; the last input goes through all of its guesses first.
  bool next(std::vector<size_t>& at) const {
    for (size_t i = at.size(); i-- > 0;) {
      if (++at[i] < guesses_[i].size()) return true;
      at[i] = 0;
    }
    return false;
  }

  [[noreturn]] void fail_unknown() const {
    std::string why = error_.substr(0, error_.find('\n'));
    if (why.empty()) why = "there is nothing to try for one of them";
    fail(ErrorKind::runtime, "the file does not say what the inputs of ",
         graph::declaration(function_), " are, and those that were tried are not accepted: ", why);
  }

  const Function& function_;
  graph::ObjectData* self_;
  std::vector<std::vector<Guess>> guesses_;
  std::string error_;  // the first
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

Example Module::saved_example(const std::string& method) const {
  const Function& function = impl().get(method);
  const std::vector<std::string> reasons(function.example.size(), "as the file says");
  return drawn(function, function.example, reasons);
}

Example Module::example(const std::string& method) const {
  const Function& function = impl().get(method);
  if (!function.example.empty() || function.params.empty()) return saved_example(method);
  return Trial(function, impl().what.module.get()).run();
}

}  // namespace wisp::api::jit
