#include "graph/graph.h"

#include <algorithm>
#include <unordered_map>

#include "graph/builtins.h"
#include "graph/effects.h"

namespace wisp::graph {

namespace {

void drop_use(Value& value, Node* user) {
  const auto found = std::find(value.uses.begin(), value.uses.end(), user);
  if (found != value.uses.end()) value.uses.erase(found);
}

void unlink(Node& node) {
  (node.previous ? node.previous->next : node.block->first) = node.next;
  (node.next ? node.next->previous : node.block->last) = node.previous;
  node.previous = node.next = nullptr;
}

void link_before(Block& block, Node* place, Node& node) {
  node.block = &block;
  for (Value* output : node.outputs) output->block = &block;
  node.next = place;
  node.previous = place ? place->previous : block.last;
  (node.previous ? node.previous->next : block.first) = &node;
  (place ? place->previous : block.last) = &node;
}

template <class T>
void renumber(std::vector<T*>& values) {
  for (size_t i = 0; i < values.size(); ++i) values[i]->index = static_cast<int>(i);
}

// Copies nodes between blocks, of one graph or of two, keeping track of which value stands for
// which.
class Copier {
 public:
  explicit Copier(Graph& to) : to_(to) {}
  void map(const Value& old, Value& copy) { values_[&old] = &copy; }
  // What is computed outside of what is copied stands for itself.
  Value& copy_of(Value& old) const {
    const auto found = values_.find(&old);
    return found == values_.end() ? old : *found->second;
  }

  void copy_block(const Block& from, Block& to) {
    for (const Value* param : from.params) map(*param, to_.add_param(to, param->type, param->name));
    for (const Node* node = from.first; node; node = node->next) to_.append(to, copy(*node));
    for (Value* result : from.results) to_.add_result(to, copy_of(*result));
  }

  Node& copy(const Node& node) {
    Node& made = to_.make_like(node);
    for (Value* input : node.inputs) to_.add_input(made, copy_of(*input));
    for (const Block* block : node.blocks) copy_block(*block, to_.add_block(made));
    for (const Value* output : node.outputs) {
      map(*output, to_.add_output(made, output->type, output->name));
    }
    return made;
  }

 private:
  Graph& to_;
  std::unordered_map<const Value*, Value*> values_;
};

bool prim_has_side_effects(Prim prim) {
  switch (prim) {
    case Prim::SetAttr:
    case Prim::CallFunction:
    case Prim::CallMethod:
    case Prim::RaiseException:
    case Prim::Print:
    case Prim::HostCall:
    case Prim::Fork:
    case Prim::Wait:
      return true;
    default:
      return false;
  }
}

}  // namespace

int Span::line() const {
  if (!source) return 0;
  const auto end = source->text.begin() + std::min<size_t>(begin, source->text.size());
  return source->first_line + static_cast<int>(std::count(source->text.begin(), end, '\n'));
}

const char* name(Prim prim) {
  constexpr const char* names[] = {"",
#define WISP_NAME(name) "prim::" #name,
                                   WISP_FOR_EACH_PRIM(WISP_NAME)
#undef WISP_NAME
  };
  return names[static_cast<int>(prim)];
}

std::string Node::kind() const {
  if (builtin) return "aten::" + builtin->full_name();
  if (!op) return name(prim);
  if (!in_place) return "aten::" + op->sig.name;
  return "aten::" + op->sig.base + "_" + op->sig.name.substr(op->sig.base.size());
}

bool Node::has_side_effects() const {
  if (op ? op_has_effects(*this) : builtin ? !builtin->pure : prim_has_side_effects(prim)) {
    return true;
  }
  for (const Block* block : blocks) {
    for (const Node* node = block->first; node; node = node->next) {
      if (node->has_side_effects()) return true;
    }
  }
  return false;
}

// --- Building

Graph::Graph() : top_(&blocks_.emplace_back()) { top_->graph = this; }

std::unique_ptr<Graph> Graph::clone() const {
  auto copy = std::make_unique<Graph>();
  copy->program = program;
  Copier(*copy).copy_block(*top_, *copy->top_);
  return copy;
}

// "x", then "x.1", "x.2": values that came from one variable look alike.
std::string Graph::unique_name(std::string wanted) {
  if (wanted.empty()) {
    do {
      wanted = std::to_string(next_++);
    } while (!names_.emplace(wanted, 1).second);
    return wanted;
  }
  if (names_.emplace(wanted, 1).second) return wanted;
  const size_t dot = wanted.rfind('.');
  const bool numbered = dot != std::string::npos && dot + 1 < wanted.size() &&
                        wanted.find_first_not_of("0123456789", dot + 1) == std::string::npos;
  if (numbered) wanted.resize(dot);
  int& count = names_.emplace(wanted, 1).first->second;
  for (;;) {
    std::string candidate = wanted + "." + std::to_string(count++);
    if (names_.emplace(candidate, 1).second) return candidate;
  }
}

Value& Graph::add_param(Block& block, TypeRef type, std::string name) {
  Value& value = values_.emplace_back();
  value.type = std::move(type);
  value.block = &block;
  value.index = static_cast<int>(block.params.size());
  value.name = unique_name(std::move(name));
  block.params.push_back(&value);
  return value;
}

Node& Graph::make(Prim prim) {
  Node& node = nodes_.emplace_back();
  node.prim = prim;
  return node;
}

Node& Graph::make(const OpDef& op, bool in_place) {
  Node& node = nodes_.emplace_back();
  node.op = &op;
  node.in_place = in_place;
  return node;
}

Node& Graph::make(const Builtin& builtin) {
  Node& node = nodes_.emplace_back();
  node.builtin = &builtin;
  return node;
}

Node& Graph::make_like(const Node& node) {
  Node& made = make(node.prim);
  made.op = node.op;
  made.in_place = node.in_place;
  made.builtin = node.builtin;
  made.attributes = node.attributes;
  made.span = node.span;
  return made;
}

Value& Graph::add_output(Node& node, TypeRef type, std::string name) {
  Value& value = values_.emplace_back();
  value.type = std::move(type);
  value.node = &node;
  value.block = node.block;
  value.index = static_cast<int>(node.outputs.size());
  value.name = unique_name(std::move(name));
  node.outputs.push_back(&value);
  return value;
}

void Graph::add_input(Node& node, Value& value) {
  node.inputs.push_back(&value);
  value.uses.push_back(&node);
}

Block& Graph::add_block(Node& node) {
  Block& block = blocks_.emplace_back();
  block.graph = this;
  block.owner = &node;
  node.blocks.push_back(&block);
  return block;
}

void Graph::add_result(Block& block, Value& value) {
  block.results.push_back(&value);
  value.uses.push_back(block.owner);
}

void Graph::append(Block& block, Node& node) { link_before(block, nullptr, node); }

void Graph::insert_before(Node& place, Node& node) { link_before(*place.block, &place, node); }

void Graph::insert_after(Node& place, Node& node) { link_before(*place.block, place.next, node); }

Value& Graph::constant(Node& before, Datum value, TypeRef type) {
  Node& node = make(Prim::Constant);
  node.attributes.emplace("value", std::move(value));
  node.span = before.span;
  insert_before(before, node);
  return add_output(node, std::move(type));
}

// --- Changing

void Graph::replace_input(Node& node, int i, Value& value) {
  drop_use(*node.inputs[i], &node);
  node.inputs[i] = &value;
  value.uses.push_back(&node);
}

void Graph::replace_result(Block& block, int i, Value& value) {
  drop_use(*block.results[i], block.owner);
  block.results[i] = &value;
  value.uses.push_back(block.owner);
}

void Graph::replace_uses(Value& old, Value& with) {
  if (&old == &with) return;
  const auto replace_in = [&](std::vector<Value*>& values) {
    std::replace(values.begin(), values.end(), &old, &with);
  };
  for (Node* user : old.uses) {
    if (!user) {
      replace_in(top_->results);
      continue;
    }
    replace_in(user->inputs);
    for (Block* block : user->blocks) replace_in(block->results);
  }
  with.uses.insert(with.uses.end(), old.uses.begin(), old.uses.end());
  old.uses.clear();
}

void Graph::remove_input(Node& node, int i) {
  drop_use(*node.inputs[i], &node);
  node.inputs.erase(node.inputs.begin() + i);
}

void Graph::remove_output(Node& node, int i) {
  node.outputs.erase(node.outputs.begin() + i);
  renumber(node.outputs);
}

void Graph::remove_result(Block& block, int i) {
  drop_use(*block.results[i], block.owner);
  block.results.erase(block.results.begin() + i);
}

void Graph::remove_param(Block& block, int i) {
  block.params.erase(block.params.begin() + i);
  renumber(block.params);
}

void Graph::remove(Node& node) {
  for (Block* block : node.blocks) {
    for (Value* result : block->results) drop_use(*result, &node);
    block->results.clear();
    while (block->last) remove(*block->last);
  }
  for (Value* input : node.inputs) drop_use(*input, &node);
  node.inputs.clear();
  unlink(node);
}

void Graph::move_before(Node& place, Node& node) {
  if (&place == &node) return;
  unlink(node);
  link_before(*place.block, &place, node);
}

void Graph::move_to_end(Block& block, Node& node) {
  unlink(node);
  link_before(block, nullptr, node);
}

std::vector<Value*> Graph::copy_nodes(const Block& block, const std::vector<Value*>& arguments,
                                      Block& into, Node* place) {
  Copier copier(*this);
  for (size_t i = 0; i < arguments.size(); ++i) copier.map(*block.params[i], *arguments[i]);
  for (const Node* node = block.first; node; node = node->next) {
    link_before(into, place, copier.copy(*node));
  }
  std::vector<Value*> results;
  for (Value* result : block.results) results.push_back(&copier.copy_of(*result));
  return results;
}

std::vector<Value*> Graph::inline_block(const Block& block, std::vector<Value*> arguments,
                                        Node& place) {
  return copy_nodes(block, arguments, *place.block, &place);
}

std::vector<Value*> Graph::inline_block(const Block& block, std::vector<Value*> arguments,
                                        Block& end) {
  return copy_nodes(block, arguments, end, nullptr);
}

namespace {

bool is_inside(const Value& value, const Node& node) {
  for (const Block* block = value.block; block && block->owner; block = block->owner->block) {
    if (block->owner == &node) return true;
  }
  return false;
}

void add_captured(const Block& block, const Node& around, std::vector<Value*>& found) {
  const auto add = [&](Value* value) {
    const bool known = std::find(found.begin(), found.end(), value) != found.end();
    if (!known && !is_inside(*value, around)) found.push_back(value);
  };
  for (const Node* node = block.first; node; node = node->next) {
    for (Value* input : node->inputs) add(input);
    for (const Block* inner : node->blocks) add_captured(*inner, around, found);
  }
  for (Value* result : block.results) add(result);
}

}  // namespace

std::vector<Value*> captured_values(const Node& node) {
  std::vector<Value*> found;
  for (const Block* block : node.blocks) add_captured(*block, node, found);
  return found;
}

std::unique_ptr<Graph> Graph::extract(const Block& block, std::vector<Value*>& captured) const {
  auto made = std::make_unique<Graph>();
  made->program = program;
  Copier copier(*made);
  for (Value* value : captured_values(*block.owner)) {
    if (value->node && value->node->is(Prim::Constant)) {
      made->append(*made->top_, copier.copy(*value->node));
      continue;
    }
    copier.map(*value, made->add_param(*made->top_, value->type, value->name));
    captured.push_back(value);
  }
  copier.copy_block(block, *made->top_);
  return made;
}

void Graph::rename(Value& value, std::string name) { value.name = unique_name(std::move(name)); }

}  // namespace wisp::graph
