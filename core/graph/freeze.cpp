#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "graph/link.h"
#include "graph/passes.h"
#include "graph/passes/tools.h"

namespace wisp::graph {

namespace {

// Replaces what a method reads of its object's attributes by constants.
class Freezing {
 public:
  Freezing(Graph& graph, ObjectData& self, const std::vector<std::string>& kept)
      : graph_(graph), self_(self), kept_(kept) {}

  // What is written may turn out to be so in a branch that is never taken.
  void run() {
    do {
      changed_ = false;
      objects_ = {{graph_.top().params[0], &self_}};
      written_.clear();
      find_objects(graph_.top());
      find_written();
      for_each_node(graph_.top(), [&](Node& node) { replace(node); });
      constant_folding(graph_);
      dead_code(graph_);
    } while (changed_);
  }

 private:
  // Objects that are known: the method's own, and those among attributes of known ones.
  void find_objects(Block& block) {
    block.for_each([&](Node& node) {
      for (Block* inner : node.blocks) find_objects(*inner);
      const Datum* value = attribute(node);
      if (value && value->tag() == Tag::object) objects_[&node.output()] = &value->object();
    });
  }

  const Datum* attribute(const Node& node) const {
    if (!node.is(Prim::GetAttr) && !node.is(Prim::SetAttr)) return nullptr;
    const auto object = objects_.find(node.inputs[0]);
    if (object == objects_.end()) return nullptr;
    const int slot = object->second->cls->find(node.attributes.at("name").string());
    if (slot < 0 || static_cast<size_t>(slot) >= object->second->slots.size()) return nullptr;
    return &object->second->slots[static_cast<size_t>(slot)];
  }

  void find_written() {
    for_each_node(graph_.top(), [&](Node& node) {
      const Datum* value = attribute(node);
      if (!value) return;
      if (node.is(Prim::SetAttr) || writes_into(node.output())) written_.insert(value);
    });
  }

  // Whether a node writes in place into this value or a view of it.
  static bool writes_into(const Value& value) {
    for (const Node* user : value.uses) {
      if (!user) continue;
      const bool first = !user->inputs.empty() && user->inputs[0] == &value;
      if (user->in_place && first) return true;
      const bool view = user->op && first && user->op->has(trait::view);
      if (view && writes_into(user->output())) return true;
    }
    return false;
  }

  bool is_kept(const Node& node, const Datum* value) const {
    if (written_.contains(value)) return true;
    const bool own = objects_.at(node.inputs[0]) == &self_;
    return own && std::find(kept_.begin(), kept_.end(), node.attributes.at("name").string()) !=
                      kept_.end();
  }

  void replace(Node& node) {
    const Datum* value = attribute(node);
    if (!value || node.is(Prim::SetAttr) || value->tag() == Tag::object || is_kept(node, value))
      return;
    Datum constant = value->is_tensor() ? Datum(detached(value->tensor())) : *value;
    Value& made = graph_.constant(node, std::move(constant), without_shapes(node.output().type));
    graph_.replace_uses(node.output(), made);
    graph_.remove(node);
    changed_ = true;
  }

  Graph& graph_;
  ObjectData& self_;
  const std::vector<std::string>& kept_;
  std::unordered_map<const Value*, ObjectData*> objects_;
  std::unordered_set<const Datum*> written_;
  bool changed_ = false;
};

void forget_shapes(Block& block) {
  for (Value* param : block.params) param->type = without_shapes(param->type);
  block.for_each([](Node& node) {
    for (Value* output : node.outputs) output->type = without_shapes(output->type);
    for (Block* inner : node.blocks) forget_shapes(*inner);
  });
}

// Whether objects other than the method's own are still read.
bool names_inner_objects(const Graph& graph) {
  bool found = false;
  for_each_node(const_cast<Graph&>(graph).top(), [&](Node& node) {
    for (const Value* output : node.outputs) {
      found = found || (node.is(Prim::GetAttr) && output->type->kind == Kind::object);
    }
  });
  return found;
}

// Makes the class, object and methods of a frozen module.
class FrozenModule {
 public:
  FrozenModule(ObjectData& from, const std::vector<std::string>& kept)
      : from_(from), kept_(kept), program_(Ref<Program>::adopt(new Program)), linker_(*program_) {}

  Ref<ObjectData> make(const std::vector<std::string>& methods) {
    for (const std::string& name : methods) graphs_.push_back(frozen_graph(name));
    ClassDef& cls = program_->add_class(from_.cls->name);
    cls.is_module = true;
    linker_.replace(*from_.cls, cls);
    auto made = Ref<ObjectData>::adopt(new ObjectData(program_, cls));
    add_attributes(*made);
    for (size_t i = 0; i < methods.size(); ++i) add_method(cls, methods[i], std::move(graphs_[i]));
    return made;
  }

 private:
  const Function& method(const std::string& name) const {
    const auto found = from_.cls->methods.find(name);
    WISP_CHECK(found != from_.cls->methods.end(), from_.cls->name, " has no method '", name, "'");
    return *found->second;
  }

  std::unique_ptr<Graph> frozen_graph(const std::string& name) {
    std::unique_ptr<Graph> graph = method(name).graph->clone();
    inlining(*graph);
    forget_shapes(graph->top());
    Freezing(*graph, from_, kept_).run();
    WISP_CHECK(!names_inner_objects(*graph), "freeze: '", name, "' writes attributes of a ",
               "submodule, or passes one to a function that calls itself");
    return graph;
  }

  // Those that a method still names.
  void add_attributes(ObjectData& made) {
    std::unordered_set<std::string> named(kept_.begin(), kept_.end());
    named.insert("training");
    for (const auto& graph : graphs_) {
      for_each_node(graph->top(), [&](Node& node) {
        if (node.is(Prim::GetAttr) || node.is(Prim::SetAttr))
          named.insert(node.attributes.at("name").string());
      });
    }
    for (size_t i = 0; i < from_.cls->attributes.size(); ++i) {
      const Attribute& attribute = from_.cls->attributes[i];
      if (!named.contains(attribute.name) || attribute.type->kind == Kind::object) continue;
      made.cls->attributes.push_back(attribute);
      made.slots.push_back(i < from_.slots.size() ? from_.slots[i] : Datum());
    }
  }

  void add_method(ClassDef& cls, const std::string& name, std::unique_ptr<Graph> graph) {
    const Function& old = method(name);
    Function& function = program_->add_function(old.name);
    function.graph = std::move(graph);
    linker_.adopt(*function.graph);
    function.set_signature();
    for (size_t i = 0; i < old.params.size(); ++i) {
      function.params[i].has_default = old.params[i].has_default;
      function.params[i].fallback = old.params[i].fallback;
    }
    function.example = old.example;
    cls.methods[name] = &function;
  }

  ObjectData& from_;
  const std::vector<std::string>& kept_;
  const Ref<Program> program_;
  Linker linker_;
  std::vector<std::unique_ptr<Graph>> graphs_;
};

}  // namespace

Ref<ObjectData> freeze(ObjectData& object, const std::vector<std::string>& methods,
                       const std::vector<std::string>& kept) {
  return FrozenModule(object, kept).make(methods);
}

}  // namespace wisp::graph
