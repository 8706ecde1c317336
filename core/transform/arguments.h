// The tensors among the arguments of a call, one by one, and a copy in which they can be exchanged.
#pragma once

#include <deque>

#include "dispatch/call.h"

namespace wisp::transform {

// Calls f(parameter, place in its list or -1, tensor) for every tensor given.
template <class F>
void each_tensor(const OpDef& op, const Arg* args, F&& f) {
  for (size_t p = 0; p < op.sig.params.size(); ++p) {
    if (args[p].kind == ArgKind::tensor) {
      f(static_cast<int>(p), -1, args[p].tensor());
    } else if (args[p].kind == ArgKind::tensors) {
      int item = 0;
      for (const Tensor& t : args[p].tensors()) {
        if (t.defined()) f(static_cast<int>(p), item, t);
        ++item;
      }
    }
  }
}

class ArgsCopy {
 public:
  ArgsCopy(const OpDef& op, const Arg* args) : args_(args, args + op.sig.params.size()) {}
  const Arg* data() const { return args_.data(); }
  Arg& operator[](int param) { return args_[static_cast<size_t>(param)]; }

  void set(int param, int item, Tensor value) {
    Arg& arg = args_[static_cast<size_t>(param)];
    if (item < 0) {
      arg = Arg(tensors_.emplace_back(std::move(value)));
      return;
    }
    list_of(param)[static_cast<size_t>(item)] = std::move(value);
  }
  void set(int param, Dims value) {
    args_[static_cast<size_t>(param)] = Arg(IntSpan(dims_.emplace_back(std::move(value))));
  }

 private:
  std::vector<Tensor>& list_of(int param) {
    for (auto& [owner, list] : lists_) {
      if (owner == param) return list;
    }
    const auto given = args_[static_cast<size_t>(param)].tensors();
    auto& made = lists_.emplace_back(param, std::vector<Tensor>(given.begin(), given.end())).second;
    args_[static_cast<size_t>(param)] = Arg(std::span<const Tensor>(made));
    return made;
  }

  std::vector<Arg> args_;
  std::deque<Tensor> tensors_;  // addresses stay valid
  std::deque<Dims> dims_;
  std::deque<std::pair<int, std::vector<Tensor>>> lists_;
};

}  // namespace wisp::transform
