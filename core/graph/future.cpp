#include "graph/future.h"

#include <algorithm>
#include <unordered_set>

#include "dispatch/mode.h"
#include "graph/beside.h"
#include "graph/builtins.h"
#include "graph/effects.h"
#include "graph/error.h"

namespace wisp::graph {

bool FutureData::is_unrecorded() const {
  uint64_t key = 0;
  return std::all_of(arguments_.begin(), arguments_.end(), [&](const Datum& value) {
    if (value.tag() == Tag::object) return !mode.grad;
    return value.tag() == Tag::string || graph::is_unrecorded(value, key);
  });
}

// Arguments stay: they may be the last to hold something of the host's, which another thread must
// not drop.
void FutureData::run() {
  done_ = true;
  try {
    std::vector<Datum> results = graph::run(*code_, arguments_);
    result_ = std::move(results[0]);
  } catch (const Error&) {
    error_ = std::current_exception();
  }
}

void FutureData::forget() {
  code_.reset();
  arguments_.clear();
  waiting_.reset();
}

void FutureData::put_off(const std::shared_ptr<Waiting>& waiting) {
  waiting_ = waiting;
  waiting->futures.push_back(Ref<FutureData>::share(this));
}

void FutureData::run_all(std::vector<Ref<FutureData>> futures) {
  if (futures.size() > 1 && may_run_beside()) {
    const auto failure = run_beside(static_cast<int64_t>(futures.size()),
                                    [&](int64_t i) { futures[static_cast<size_t>(i)]->run(); });
    if (failure) std::rethrow_exception(failure->error);
  } else {
    for (const auto& future : futures) future->run();
  }
  for (const auto& future : futures) future->forget();
}

Datum FutureData::wait() {
  if (!done_ && waiting_) run_all(std::exchange(waiting_->futures, {}));
  if (!done_) run();
  forget();
  if (!error_) return result_;
  try {
    std::rethrow_exception(error_);
  } catch (const ScriptError& error) {
    throw ScriptError(error);  // a copy: those who wait add their own places
  }
}

// --- Which may wait

namespace {

bool holds(const Type& type, Kind kind) {
  return type.kind == kind || std::any_of(type.items.begin(), type.items.end(),
                                          [&](const auto& item) { return holds(*item, kind); });
}

class Quiet {
 public:
  // Whether a block computes its results and does nothing else, whatever it calls.
  bool holds_for(const Block& block) {
    for (const Node* node = block.first; node; node = node->next) {
      if (!holds_for(*node)) return false;
    }
    return true;
  }

  bool holds_for(const Node& node) {
    if (shows_tensor(node)) return false;
    if (node.op || node.builtin) return !node.has_side_effects();
    if (const Function* function = called_by(node)) {
      // A function that calls itself does what it does.
      const bool fresh = seen_.insert(function).second;
      return !fresh || (function->graph && holds_for(function->graph->top()));
    }
    for (const Block* block : node.blocks) {
      if (!holds_for(*block)) return false;
    }
    constexpr Prim loud[] = {Prim::SetAttr,  Prim::CallFunction, Prim::CallMethod,
                             Prim::HostCall, Prim::Print,        Prim::CreateObject};
    return std::find(std::begin(loud), std::end(loud), node.prim) == std::end(loud);
  }

  const std::unordered_set<const Function*>& called() const { return seen_; }

 private:
  static const Function* called_by(const Node& node) {
    const bool method = node.is(Prim::CallMethod);
    if (!method && !node.is(Prim::CallFunction)) return nullptr;
    const std::string& name = node.attributes.at("name").string();
    if (!method) {
      Program* program = node.block->graph->program;
      return program ? program->find_function(name) : nullptr;
    }
    const Type& type = *node.input(0).type;
    if (type.kind != Kind::object || !type.cls) return nullptr;
    const auto found = type.cls->methods.find(name);
    return found == type.cls->methods.end() ? nullptr : found->second;
  }

  std::unordered_set<const Function*> seen_;
};

bool stands_in_fork(const Node& node) {
  const Node* at = &node;
  while (at && !at->is(Prim::Fork)) at = at->block->owner;
  return at != nullptr;
}

// A list or dict that no fork can read: it is only asked and changed, or given to operators.
bool is_private(const Value& value) {
  if (!value.node || (!value.node->is(Prim::ListConstruct) && !value.node->is(Prim::DictConstruct)))
    return false;
  return std::all_of(value.uses.begin(), value.uses.end(), [&](const Node* user) {
    if (!user) return true;  // a result of the graph
    const bool subject = user->builtin && user->inputs[0] == &value &&
                         std::count(user->inputs.begin(), user->inputs.end(), &value) == 1;
    return (user->op || subject) && !stands_in_fork(*user);
  });
}

enum class Change { none, containers, anything };

// What a node outside of forks changes that a fork might read.
Change change_of(const Node& node, Quiet& quiet) {
  if (!node.blocks.empty() && !node.is(Prim::Fork)) return Change::none;  // those in its blocks do
  if (quiet.holds_for(node) || node.is(Prim::Print)) return Change::none;
  if (node.op) return written_inputs(node).empty() ? Change::none : Change::anything;
  if (!node.builtin || is_barrier(node)) return Change::anything;
  const Value& changed = node.input(0);
  const bool harmless = holds(*changed.type, Kind::future) || is_private(changed);
  return harmless ? Change::none : Change::containers;
}

template <class F>
void each_node_around(const Block& block, const F& f) {
  for (const Node* node = block.first; node; node = node->next) {
    f(*node);
    if (node->is(Prim::Fork)) continue;
    for (const Block* inner : node->blocks) each_node_around(*inner, f);
  }
}

}  // namespace

Forks::Forks(const Graph& graph) {
  Quiet quiet;
  each_node_around(graph.top(), [&](const Node& node) {
    const Change change = change_of(node, quiet);
    calm_ = calm_ && change != Change::anything;
    changes_containers_ = changes_containers_ || change == Change::containers;
  });
  for (const Value* result : graph.top().results) {
    calm_ = calm_ && !holds(*result->type, Kind::future);
  }
}

bool Forks::may_wait(const Node& fork, std::vector<const Function*>& calls) const {
  Quiet quiet;
  if (!calm_ || !quiet.holds_for(*fork.blocks[0])) return false;
  calls.assign(quiet.called().begin(), quiet.called().end());
  for (const Value* value : captured_values(fork)) {
    const Type& type = *value->type;
    if (holds(type, Kind::future) || holds(type, Kind::generator) || holds(type, Kind::any))
      return false;
    if (changes_containers_ &&
        (holds(type, Kind::list) || holds(type, Kind::dict) || holds(type, Kind::object)))
      return false;
  }
  return true;
}

}  // namespace wisp::graph
