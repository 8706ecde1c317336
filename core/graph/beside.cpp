#include "graph/beside.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "dispatch/mode.h"
#include "graph/effects.h"

namespace wisp::graph {

namespace {

// What can be looked through for tensors that somebody watches.
bool is_plain(const Type& type) {
  switch (type.kind) {
    case Kind::any:
    case Kind::object:
    case Kind::dict:
    case Kind::generator:
    case Kind::future:
      return false;
    default:
      return std::all_of(type.items.begin(), type.items.end(),
                         [](const TypeRef& item) { return is_plain(*item); });
  }
}

bool holds_tensor(const Type& type) {
  return type.kind == Kind::tensor || type.kind == Kind::any ||
         std::any_of(type.items.begin(), type.items.end(),
                     [](const TypeRef& item) { return holds_tensor(*item); });
}

}  // namespace

bool shows_tensor(const Node& node) {
  const auto is_text = [](const Value* value) { return value->type->kind == Kind::string; };
  return std::any_of(node.outputs.begin(), node.outputs.end(), is_text) &&
         std::any_of(node.inputs.begin(), node.inputs.end(),
                     [](const Value* value) { return holds_tensor(*value->type); });
}

namespace {

bool has_usable_values(const Node& node, const Aliases& aliases) {
  for (const auto* values : {&node.inputs, &node.outputs}) {
    for (const Value* value : *values) {
      if (!is_plain(*value->type)) return false;
      if (is_mutable(*value->type) && aliases.is_written(*value)) return false;
    }
  }
  return !shows_tensor(node);
}

bool only_computes(const Node& node) {
  if (node.op || node.builtin) return !node.has_side_effects();
  switch (node.prim) {
    case Prim::Constant:
    case Prim::If:
    case Prim::Loop:
    case Prim::FusionGroup:
    case Prim::ListConstruct:
    case Prim::TupleConstruct:
    case Prim::ListUnpack:
    case Prim::TupleUnpack:
    case Prim::TupleIndex:
    case Prim::UncheckedCast:
    case Prim::RaiseException:
    case Prim::Uninitialized:
      return true;
    default:
      return false;
  }
}

// The modes of the thread that hands out work, for a scope of the one that does it.
class Handed {
 public:
  Handed(const Mode& modes, std::vector<std::string>& warnings) : before_(mode) {
    mode = modes;
    mode.warnings = &warnings;
  }
  ~Handed() { mode = before_; }
  Handed(const Handed&) = delete;
  Handed& operator=(const Handed&) = delete;

 private:
  const Mode before_;
  const HostUnlock::Without lock_;
};

}  // namespace

bool can_run_beside(const Node& node, const Aliases& aliases) {
  if (!only_computes(node) || !has_usable_values(node, aliases)) return false;
  for (const Block* block : node.blocks) {
    for (const Node* inner = block->first; inner; inner = inner->next) {
      if (!can_run_beside(*inner, aliases)) return false;
    }
  }
  return true;
}

bool may_run_beside() {
  return !mode.interceptor && !mode.deferrer && mode.transforms == 0 && num_threads() > 1 &&
         !in_parallel_region() && !Storage::any_deferred();
}

bool is_unrecorded(const Datum& value, uint64_t& key) {
  if (value.is_tensor()) {
    for (const int64_t size : value.tensor().sizes()) {
      key = mixed(key, static_cast<uint64_t>(size));
    }
    return !differentiated(value.tensor());
  }
  if (value.tag() != Tag::list && value.tag() != Tag::tuple) return value.tag() < Tag::tensor;
  return std::all_of(value.items().begin(), value.items().end(),
                     [&](const Datum& item) { return is_unrecorded(item, key); });
}

std::optional<BesideFailure> run_beside(int64_t count, const std::function<void(int64_t)>& f) {
  const Mode modes = mode;
  std::vector<std::exception_ptr> errors(static_cast<size_t>(count));
  std::vector<std::vector<std::string>> warnings(static_cast<size_t>(count));
  {
    const HostUnlock unlock(true);
    parallel_for(count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Handed handed(modes, warnings[static_cast<size_t>(i)]);
        try {
          f(i);
        } catch (...) {
          errors[static_cast<size_t>(i)] = std::current_exception();
        }
      }
    });
  }
  for (int64_t i = 0; i < count; ++i) {
    for (const std::string& message : warnings[static_cast<size_t>(i)]) warn(message);
    if (errors[static_cast<size_t>(i)]) return BesideFailure{i, errors[static_cast<size_t>(i)]};
  }
  return std::nullopt;
}

}  // namespace wisp::graph
