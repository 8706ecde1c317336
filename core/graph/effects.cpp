#include "graph/effects.h"

#include "graph/builtins.h"

namespace wisp::graph {

const Datum* constant_of(const Value& value) {
  if (!value.node || !value.node->is(Prim::Constant)) return nullptr;
  return &value.node->attributes.at("value");
}

const Value* argument(const Node& node, std::string_view param) {
  const int index = node.op->sig.find(param);
  return index < 0 ? nullptr : node.inputs[index];
}

bool is_off(const Value* argument) {
  const Datum* value = argument ? constant_of(*argument) : nullptr;
  if (!value) return false;
  switch (value->tag()) {
    case Tag::none:
      return true;
    case Tag::boolean:
    case Tag::integer:
      return value->integer() == 0;
    case Tag::real:
      return value->real() == 0;
    default:
      return false;
  }
}

namespace {

// Whether it has a parameter of that name which may be on.
bool may_be_on(const Node& node, std::string_view param) {
  const Value* value = argument(node, param);
  return value && !is_off(value);
}

// The words that say that a module is being trained.
constexpr std::string_view training_words[] = {"training", "train", "use_input_stats"};

bool may_train(const Node& node) {
  for (const std::string_view word : training_words) {
    if (may_be_on(node, word)) return true;
  }
  return false;
}
bool cannot_train(const Node& node) {
  for (const std::string_view word : training_words) {
    if (is_off(argument(node, word))) return true;
  }
  return false;
}

bool is_of_random_kind(const Node& node) {
  return node.op->has(trait::random) || argument(node, "dropout_p") || argument(node, "dropout");
}

}  // namespace

bool may_draw(const Node& node) {
  if (node.op->has(trait::random)) return !cannot_train(node);
  // Layers that drop elements between or inside of them draw only if they are to drop any.
  if (argument(node, "dropout_p")) return may_be_on(node, "dropout_p");
  return may_be_on(node, "dropout") && !cannot_train(node);
}

bool op_has_effects(const Node& node) {
  return node.in_place || node.op->sig.returns.empty() ||
         (is_of_random_kind(node) ? may_draw(node) : may_train(node)) ||
         may_be_on(node, "inplace") || may_be_on(node, "max_norm");
}

bool is_mutable(const Type& type) {
  switch (type.kind) {
    case Kind::any:
    case Kind::tensor:
    case Kind::list:
    case Kind::dict:
    case Kind::object:
      return true;
    case Kind::optional:
    case Kind::tuple:
    case Kind::future:
      for (const TypeRef& item : type.items) {
        if (is_mutable(*item)) return true;
      }
      return false;
    default:
      return false;
  }
}

std::vector<Value*> written_inputs(const Node& node) {
  std::vector<Value*> written;
  const auto add = [&](std::string_view param) {
    const int index = node.op->sig.find(param);
    if (index >= 0) written.push_back(node.inputs[index]);
  };
  const bool all = is_barrier(node) || (node.op && node.op->sig.returns.empty());
  if (all) {
    for (Value* input : node.inputs) {
      if (is_mutable(*input->type)) written.push_back(input);
    }
  } else if (node.op) {
    if (node.in_place || may_be_on(node, "inplace")) written.push_back(node.inputs[0]);
    if (may_be_on(node, "max_norm")) add("weight");
    if (may_train(node)) {
      add("running_mean");
      add("running_var");
    }
  } else if ((node.builtin && !node.builtin->pure) || node.is(Prim::SetAttr)) {
    if (!node.inputs.empty() && is_mutable(*node.input(0).type)) written.push_back(node.inputs[0]);
  }
  return written;
}

bool is_barrier(const Node& node) {
  if (node.builtin && !node.builtin->pure) {
    return node.inputs.empty() || !is_mutable(*node.input(0).type);
  }
  return node.is(Prim::CallFunction) || node.is(Prim::CallMethod) || node.is(Prim::HostCall);
}

bool holds_barrier(const Node& node) {
  if (is_barrier(node)) return true;
  for (const Block* block : node.blocks) {
    for (const Node* inner = block->first; inner; inner = inner->next) {
      if (holds_barrier(*inner)) return true;
    }
  }
  return false;
}

}  // namespace wisp::graph
