// Finds shapes and dtypes by running operators on tensors of the device "meta", which have nothing
// else. Sizes that are not known are tried out: what comes out the same whatever they are is known.
#include <algorithm>
#include <unordered_map>

#include "graph/builtins.h"
#include "graph/evaluate.h"
#include "graph/passes.h"
#include "graph/passes/tools.h"

namespace wisp::graph {

namespace {

// Small ones, where slices and windows behave differently. A large one is added to them.
constexpr int64_t small_probes[] = {1, 2, 3, 7, 64};

// Whether no size of a tensor, or of the tensors in a list, has to be guessed.
bool is_fully_known(const Value& value) {
  if (value.type->kind == Kind::tensor) return value.type->dtype && known_sizes(value);
  if (!value.node || !value.node->is(Prim::ListConstruct)) return true;
  for (const Value* item : value.node->inputs) {
    if (!is_fully_known(*item)) return false;
  }
  return true;
}

// As large as tensors can be in which it stands for so many sizes.
int64_t large_probe(const Node& node) {
  int64_t open = 0;
  for (const Value* input : node.inputs) {
    if (input->type->kind != Kind::tensor || !input->type->sizes) continue;
    const std::vector<int64_t>& sizes = *input->type->sizes;
    open = std::max<int64_t>(open, std::count(sizes.begin(), sizes.end(), -1));
  }
  return open <= 2 ? 100003 : 1009;
}

// None if several unknown sizes make it larger than any tensor.
std::optional<Datum> meta_tensor(const Type& type, int64_t unknown) {
  constexpr double most = int64_t(1) << 48;
  std::vector<int64_t> sizes = *type.sizes;
  double elements = 1;
  for (int64_t& size : sizes) {
    size = size < 0 ? unknown : size;
    elements *= static_cast<double>(size);
  }
  if (elements > most) return {};
  return Datum(Tensor::empty(IntSpan(sizes), *type.dtype, {DeviceType::meta}));
}

// What is known of a value, as a value: a constant, a tensor without contents, or a number that
// stands for others where only its type matters.
std::optional<Datum> stand_in(const Value& value, int64_t unknown, bool any_number) {
  const Type& type = *value.type;
  if (type.kind == Kind::tensor) {
    if (!type.dtype || !type.sizes) return {};
    return meta_tensor(type, unknown);
  }
  if (const Datum* constant = constant_of(value)) return *constant;
  if (value.node && value.node->is(Prim::ListConstruct)) {
    std::vector<Datum> items;
    for (const Value* input : value.node->inputs) {
      auto item = stand_in(*input, unknown, any_number);
      if (!item) return {};
      items.push_back(std::move(*item));
    }
    return Datum::list(std::move(items));
  }
  if (!any_number) return {};
  if (type.kind == Kind::integer) return Datum(int64_t(1));
  if (type.kind == Kind::boolean) return Datum(true);
  return type.kind == Kind::real ? std::optional(Datum(1.0)) : std::nullopt;
}

TypeRef type_of(const Datum& value) {
  if (!value.is_tensor()) return nullptr;
  const Tensor& tensor = value.tensor();
  return tensor_of(tensor.dtype(),
                   std::vector<int64_t>(tensor.sizes().begin(), tensor.sizes().end()));
}

// The types of all outputs; of an operator that returns a list, of its items. Empty if unknown.
using Types = std::vector<TypeRef>;

class Propagator {
 public:
  explicit Propagator(Graph& graph) : graph_(graph) {}

  bool run() {
    visit(graph_.top());
    for (const auto& [value, before] : before_) {
      if (!same(*value->type, *before)) return true;
    }
    return false;
  }

 private:
  void set_type(Value& value, const TypeRef& type) {
    if (!type) return;
    before_.emplace(&value, value.type);
    value.type = type;
  }

  void visit(Block& block) {
    block.for_each([&](Node& node) { visit(node); });
  }

  void visit(Node& node) {
    if (node.op) return visit_op(node);
    switch (node.prim) {
      case Prim::Constant:
        return set_type(node.output(), type_of(*constant_of(node.output())));
      case Prim::If:
        return visit_if(node);
      case Prim::Loop:
        return visit_loop(node);
      case Prim::TupleConstruct:
        return visit_tuple(node);
      case Prim::TupleUnpack:
        for (size_t i = 0; i < node.outputs.size(); ++i) {
          refine(*node.outputs[i], node.input(0).type->items[i]);
        }
        return;
      case Prim::TupleIndex:
        return refine(node.output(),
                      node.input(0).type->items[node.attributes.at("index").integer()]);
      case Prim::ListUnpack:
        return visit_list_unpack(node);
      case Prim::UncheckedCast:
        return visit_cast(node);
      case Prim::Parallel:
        return visit_parallel(node);
      default:
        for (Block* block : node.blocks) visit(*block);
    }
  }

  // Of a value that is another one under a new name.
  void refine(Value& value, const TypeRef& type) {
    if (is_subtype(*type, *value.type)) set_type(value, type);
  }

  // --- Operators

  void visit_op(Node& node) {
    if (node.in_place) return refine(node.output(), node.input(0).type);
    const Types types = infer(node);
    if (node.op->sig.returns_list()) {
      items_[&node] = types;
      return;
    }
    for (size_t i = 0; i < types.size() && i < node.outputs.size(); ++i) {
      if (types[i]) set_type(*node.outputs[i], types[i]);
    }
  }

  Types infer(const Node& node) const {
    bool known = true;
    for (const Value* input : node.inputs) known &= is_fully_known(*input);
    if (known) return try_out(node, 1);
    if (node.op->has(trait::pointwise)) return infer_pointwise(node);
    return infer_by_probing(node);
  }

  // With all unknown sizes being that number.
  Types try_out(const Node& node, int64_t unknown) const {
    std::vector<Datum> inputs;
    bool any_tensor = false;
    for (const Value* input : node.inputs) {
      auto value = stand_in(*input, unknown, node.op->has(trait::pointwise));
      if (!value) return {};
      any_tensor |= value->is_tensor() || value->tag() == Tag::list;
      inputs.push_back(std::move(*value));
    }
    if (!any_tensor) return {};  // it would really run
    const auto results = evaluate(node, std::move(inputs));
    if (!results) return {};
    const bool list = node.op->sig.returns_list();
    Types types;
    for (const Datum& result : list ? (*results)[0].items() : *results) {
      types.push_back(type_of(result));
    }
    return types;
  }

  Types infer_by_probing(const Node& node) const {
    Types all;
    std::vector<int64_t> fitting;
    std::vector<int64_t> probes(std::begin(small_probes), std::end(small_probes));
    probes.push_back(large_probe(node));
    for (const int64_t probe : probes) {
      const Types types = try_out(node, probe);
      if (types.empty()) continue;  // it would fail, or nothing is known at all
      fitting.push_back(probe);
      if (all.empty()) {
        all = types;
        continue;
      }
      if (all.size() != types.size()) return {};
      for (size_t i = 0; i < all.size(); ++i) {
        all[i] = all[i] && types[i] ? unify(all[i], types[i]) : nullptr;
      }
    }
    // If a single number fits, a size that equals it may be that number or just happen to be so.
    for (TypeRef& type : all) {
      if (fitting.size() != 1 || !type || type->kind != Kind::tensor || !type->sizes) continue;
      std::vector<int64_t> sizes = *type->sizes;
      std::replace(sizes.begin(), sizes.end(), fitting[0], int64_t(-1));
      type = tensor_of(type->dtype, std::move(sizes));
    }
    return all;
  }

  // Shapes by the rule of broadcasting, which knows more than trying out could; the dtype by trying
  // out on numbers.
  Types infer_pointwise(const Node& node) const {
    std::vector<int64_t> sizes;
    for (const Value* input : node.inputs) {
      if (input->type->kind != Kind::tensor) continue;
      if (!input->type->sizes) return {};
      broadcast(sizes, *input->type->sizes);
    }
    const Types types = try_out(node, 1);
    if (types.size() != 1 || !types[0]) return {};
    return {tensor_of(types[0]->dtype, sizes)};
  }

  static void broadcast(std::vector<int64_t>& sizes, const std::vector<int64_t>& more) {
    if (more.size() > sizes.size()) sizes.insert(sizes.begin(), more.size() - sizes.size(), 1);
    const size_t offset = sizes.size() - more.size();
    for (size_t i = 0; i < more.size(); ++i) {
      int64_t& size = sizes[offset + i];
      if (size == 1 || (size < 0 && more[i] > 1)) size = more[i];
    }
  }

  // --- Containers and control flow

  void visit_tuple(Node& node) {
    Type type = *node.output().type;
    for (size_t i = 0; i < type.items.size(); ++i) {
      if (is_subtype(*node.inputs[i]->type, *type.items[i])) type.items[i] = node.inputs[i]->type;
    }
    set_type(node.output(), std::make_shared<const Type>(std::move(type)));
  }

  void visit_list_unpack(Node& node) {
    const auto found = items_.find(node.input(0).node);
    if (found == items_.end() || found->second.size() != node.outputs.size()) return;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (found->second[i]) refine(*node.outputs[i], found->second[i]);
    }
  }

  void visit_cast(Node& node) {
    const TypeRef& type = node.input(0).type;
    refine(node.output(), type->kind == Kind::optional ? type->items[0] : type);
  }

  void visit_if(Node& node) {
    for (Block* block : node.blocks) visit(*block);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const TypeRef both =
          unify(node.blocks[0]->results[i]->type, node.blocks[1]->results[i]->type);
      if (both && both->kind == node.outputs[i]->type->kind) set_type(*node.outputs[i], both);
    }
  }

  void visit_parallel(Node& node) {
    size_t output = 0;
    for (Block* block : node.blocks) {
      visit(*block);
      for (const Value* result : block->results) refine(*node.outputs[output++], result->type);
    }
  }

  // What is carried is what enters, as far as a round leaves it so.
  void visit_loop(Node& node) {
    Block& body = *node.blocks[0];
    for (size_t i = 1; i < body.params.size(); ++i) {
      if (carries_tensor(*body.params[i])) set_type(*body.params[i], node.inputs[i + 1]->type);
    }
    visit(body);
    while (widen(body)) visit(body);
    for (size_t i = 1; i < body.params.size(); ++i) {
      if (carries_tensor(*body.params[i])) set_type(*node.outputs[i - 1], body.params[i]->type);
    }
  }
  static bool carries_tensor(const Value& value) { return value.type->kind == Kind::tensor; }

  // True if a round ends with less known than it began with. Each time something is forgotten, so
  // that comes to an end.
  bool widen(Block& body) {
    bool widened = false;
    for (size_t i = 1; i < body.params.size(); ++i) {
      Value& param = *body.params[i];
      if (!carries_tensor(param)) continue;
      const TypeRef both = unify(param.type, body.results[i]->type);
      if (same(*both, *param.type)) continue;
      set_type(param, both);
      widened = true;
    }
    if (widened) forget(body);
    return widened;
  }

  // What was found out from types that turned out not to hold.
  void forget(Block& block) {
    for_each_node(block, [&](Node& node) {
      for (Value* output : node.outputs) set_type(*output, without_shapes(output->type));
      for (Block* inner : node.blocks) {
        for (Value* param : inner->params) set_type(*param, without_shapes(param->type));
      }
    });
  }

  Graph& graph_;
  std::unordered_map<const Node*, Types> items_;      // of operators that return lists
  std::unordered_map<const Value*, TypeRef> before_;  // of values whose types were set
};

}  // namespace

bool shape_propagation(Graph& graph) { return Propagator(graph).run(); }

}  // namespace wisp::graph
