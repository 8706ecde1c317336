#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "graph/aliases.h"
#include "graph/link.h"
#include "graph/passes.h"
#include "graph/passes/tools.h"

namespace wisp::graph {

namespace {

using Objects = std::unordered_map<const Value*, ObjectData*>;

// What a node reads or writes of an object that is known; null if it does not.
const Datum* attribute_of(const Node& node, const Objects& objects) {
  if (!node.is(Prim::GetAttr) && !node.is(Prim::SetAttr)) return nullptr;
  const auto object = objects.find(node.inputs[0]);
  if (object == objects.end()) return nullptr;
  const int slot = object->second->cls->find(node.attributes.at("name").string());
  if (slot < 0 || static_cast<size_t>(slot) >= object->second->slots.size()) return nullptr;
  return &object->second->slots[static_cast<size_t>(slot)];
}

const Function* method_called(const Node& call, const ClassDef& cls) {
  const auto found = cls.methods.find(call.attributes.at("name").string());
  return found == cls.methods.end() ? nullptr : found->second;
}

// Whether a call by an interface is one of a method that the class has, as the class has it.
bool can_call(const Node& call, const ClassDef& cls) {
  const Function* function = method_called(call, cls);
  if (!function || call.inputs.size() > function->params.size() + 1) return false;
  for (size_t i = 0; i < function->params.size(); ++i) {
    const Parameter& param = function->params[i];
    const bool given = i + 1 < call.inputs.size();
    if (given ? !is_subtype(*call.inputs[i + 1]->type, *param.type) : !param.has_default)
      return false;
  }
  return is_subtype(*function->result, *call.output().type);
}

// Says of what class the value of an interface is, if all calls of its methods can be made.
bool narrow(Graph& graph, Value& value, ClassDef& cls) {
  std::vector<Node*> calls;
  for (Node* user : value.uses) {
    if (user && user->is(Prim::CallMethod) && user->inputs[0] == &value) calls.push_back(user);
  }
  if (!std::all_of(calls.begin(), calls.end(), [&](Node* call) { return can_call(*call, cls); }))
    return false;
  for (Node* call : calls) {
    const auto& params = method_called(*call, cls)->params;
    for (size_t i = call->inputs.size() - 1; i < params.size(); ++i)
      graph.add_input(*call, graph.constant(*call, params[i].fallback, params[i].type));
  }
  value.type = object_of(cls);
  return true;
}

// The names of attributes that are assigned, of whatever object.
void find_assigned(Graph& graph, std::unordered_set<std::string>& names) {
  for_each_node(graph.top(), [&](Node& node) {
    if (node.is(Prim::SetAttr)) names.insert(node.attributes.at("name").string());
  });
}

// Gives attributes that are only known by an interface the class of what they hold now, unless they
// are assigned. Says whether there were any.
bool narrow(Graph& graph, ObjectData& self) {
  std::unordered_set<std::string> assigned;
  find_assigned(graph, assigned);
  Objects objects = {{graph.top().params[0], &self}};
  bool changed = false;
  for_each_node(graph.top(), [&](Node& node) {
    const Datum* value = attribute_of(node, objects);
    if (!value || value->tag() != Tag::object || !node.is(Prim::GetAttr)) return;
    if (assigned.contains(node.attributes.at("name").string())) return;
    objects[&node.output()] = &value->object();
    const bool any = node.output().type->kind == Kind::any;
    changed = (any && narrow(graph, node.output(), *value->object().cls)) || changed;
  });
  return changed;
}

// Calls f with the address of all memory that a value has: of tensors, lists and dicts.
template <class F>
void for_each_memory(const Datum& value, F f) {
  if (value.is_tensor()) return f(&value.tensor()->storage());
  if (value.tag() == Tag::list || value.tag() == Tag::tuple) {
    f(&value.items());
    for (const Datum& item : value.items()) for_each_memory(item, f);
  } else if (value.tag() == Tag::dict) {
    f(&value.dict_data());
    for (const auto& entry : value.dict_data().entries) for_each_memory(entry.second, f);
  }
}

// Replaces what methods read of their object's attributes by constants.
class Freezing {
 public:
  Freezing(std::vector<std::unique_ptr<Graph>>& graphs, ObjectData& self,
           const std::vector<std::string>& kept)
      : graphs_(graphs), self_(self), kept_(kept) {}

  // What is written may turn out to be so in a branch that is never taken.
  void run() {
    do {
      changed_ = false;
      written_.clear();
      memory_.clear();
      assigned_.clear();
      for (const auto& graph : graphs_) find_assigned(*graph, assigned_);
      find_objects();  // which finds those that are handed on,
      find_objects();  // and what is left without them
      for (const auto& graph : graphs_) find_written(*graph);
      for (const Datum* value : written_) {
        for_each_memory(*value, [&](const void* place) { memory_.insert(place); });
      }
      for (const auto& graph : graphs_) {
        for_each_node(graph->top(), [&](Node& node) { replace(*graph, node); });
        constant_folding(*graph);
        dead_code(*graph);
      }
    } while (changed_);
  }

 private:
  void find_objects() {
    objects_.clear();
    for (const auto& graph : graphs_) {
      objects_[graph->top().params[0]] = &self_;
      find_objects(graph->top());
    }
  }

  // Objects that are known: the method's own, and those among attributes of known ones.
  void find_objects(Block& block) {
    block.for_each([&](Node& node) {
      for (Block* inner : node.blocks) find_objects(*inner);
      const Datum* value = attribute(node);
      if (!value || value->tag() != Tag::object || !node.is(Prim::GetAttr)) return;
      if (assigned_.contains(node.attributes.at("name").string())) return;
      ObjectData& object = value->object();
      if (!object.cls->is_module && is_handed_on(node.output())) handed_on_.insert(&object);
      if (!handed_on_.contains(&object)) objects_[&node.output()] = &object;
    });
  }

  // Whether an object may be written by way of another value than this one.
  static bool is_handed_on(const Value& object) {
    return std::any_of(object.uses.begin(), object.uses.end(), [&](const Node* user) {
      const bool own = user && (user->is(Prim::GetAttr) || user->is(Prim::SetAttr));
      return !own || (user->is(Prim::SetAttr) && user->inputs[1] == &object);
    });
  }

  const Datum* attribute(const Node& node) const { return attribute_of(node, objects_); }

  // Attributes that are assigned, or whose contents are written: also by way of a list that they
  // are put into, or of a variable that holds now one and now the other.
  void find_written(Graph& graph) {
    std::unordered_set<const Value*> apart = {graph.top().params[0]};
    for_each_node(graph.top(), [&](Node& node) {
      if (attribute(node) && node.is(Prim::GetAttr)) apart.insert(&node.output());
    });
    const Aliases aliases(graph, std::move(apart));
    for_each_node(graph.top(), [&](Node& node) {
      const Datum* value = attribute(node);
      if (!value) return;
      const bool contents = node.is(Prim::GetAttr) && value->tag() != Tag::object &&
                            is_mutable(*node.output().type) && aliases.is_written(node.output());
      if (node.is(Prim::SetAttr) || contents) written_.insert(value);
    });
  }

  // Whether a written attribute has some of the memory that this one has.
  bool shares_written(const Datum& value) const {
    bool found = false;
    for_each_memory(value, [&](const void* place) { found = found || memory_.contains(place); });
    return found;
  }

  bool is_kept(const Node& node, const Datum* value) const {
    if (written_.contains(value) || shares_written(*value)) return true;
    const bool own = objects_.at(node.inputs[0]) == &self_;
    return own && std::find(kept_.begin(), kept_.end(), node.attributes.at("name").string()) !=
                      kept_.end();
  }

  void replace(Graph& graph, Node& node) {
    const Datum* value = attribute(node);
    if (!value || node.is(Prim::SetAttr) || value->tag() == Tag::object || is_kept(node, value))
      return;
    Datum constant = value->is_tensor() ? Datum(detached(value->tensor())) : *value;
    Value& made = graph.constant(node, std::move(constant), without_shapes(node.output().type));
    graph.replace_uses(node.output(), made);
    graph.remove(node);
    changed_ = true;
  }

  std::vector<std::unique_ptr<Graph>>& graphs_;
  ObjectData& self_;
  const std::vector<std::string>& kept_;
  Objects objects_;
  std::unordered_set<const Datum*> written_;
  std::unordered_set<const void*> memory_;  // of those
  std::unordered_set<std::string> assigned_;
  std::unordered_set<const ObjectData*> handed_on_;
  bool changed_ = false;
};

void forget_shapes(Block& block) {
  for (Value* param : block.params) param->type = without_shapes(param->type);
  block.for_each([](Node& node) {
    for (Value* output : node.outputs) output->type = without_shapes(output->type);
    for (Block* inner : node.blocks) forget_shapes(*inner);
  });
}

// Whether functions that could not be inlined are given objects other than the method's own.
bool passes_inner_objects(const Graph& graph) {
  bool found = false;
  for_each_node(const_cast<Graph&>(graph).top(), [&](Node& node) {
    const bool call = node.is(Prim::CallFunction) || node.is(Prim::CallMethod);
    for (const Value* input : node.inputs) {
      const bool inner = input->node && input->node->is(Prim::GetAttr);
      found = found || (call && inner && input->type->kind == Kind::object);
    }
  });
  return found;
}

// Whether a method is called of an object that is only known to have it.
bool calls_by_interface(const Graph& graph) {
  bool found = false;
  for_each_node(const_cast<Graph&>(graph).top(), [&](Node& node) {
    found = found || (node.is(Prim::CallMethod) && node.inputs[0]->type->kind == Kind::any);
  });
  return found;
}

// Makes the class, object and methods of a frozen module.
class FrozenModule {
 public:
  FrozenModule(ObjectData& from, const std::vector<std::string>& kept)
      : from_(from), kept_(kept), program_(Ref<Program>::adopt(new Program)), linker_(*program_) {}

  Ref<ObjectData> make(const std::vector<std::string>& methods) {
    for (const std::string& name : methods) graphs_.push_back(inlined_graph(name));
    Freezing(graphs_, from_, kept_).run();
    for (const auto& graph : graphs_) {
      WISP_CHECK(!passes_inner_objects(*graph), "freeze: a submodule is passed to a function that ",
                 "calls itself");
      WISP_CHECK(!calls_by_interface(*graph), "Freezing does not support SetAttr on an interface ",
                 "type, nor modules that are looked up in a container when the program runs");
    }
    ClassDef& cls = program_->add_class(from_.cls->name);
    cls.is_module = true;
    linker_.replace(*from_.cls, cls);
    auto made = Ref<ObjectData>::adopt(new ObjectData(program_, cls));
    find_named();
    add_attributes(from_, *made);
    for (size_t i = 0; i < methods.size(); ++i) add_method(cls, methods[i], std::move(graphs_[i]));
    return made;
  }

 private:
  const Function& method(const std::string& name) const {
    const auto found = from_.cls->methods.find(name);
    WISP_CHECK(found != from_.cls->methods.end(), from_.cls->name, " has no method '", name, "'");
    return *found->second;
  }

  std::unique_ptr<Graph> inlined_graph(const std::string& name) {
    std::unique_ptr<Graph> graph = method(name).graph->clone();
    do {
      inlining(*graph);
      host_gradients(*graph);
    } while (narrow(*graph, from_));
    forget_shapes(graph->top());
    return graph;
  }

  void find_named() {
    named_.insert(kept_.begin(), kept_.end());
    named_.insert("training");
    for (const auto& graph : graphs_) {
      for_each_node(graph->top(), [&](Node& node) {
        if (!node.is(Prim::GetAttr) && !node.is(Prim::SetAttr)) return;
        named_.insert(node.attributes.at("name").string());
        inner_ = inner_ || node.inputs[0]->node;  // not the method's own object
      });
    }
  }

  // Those of the attributes that a method still names.
  void add_attributes(const ObjectData& from, ObjectData& made) {
    for (size_t i = 0; i < from.cls->attributes.size(); ++i) {
      Attribute attribute = from.cls->attributes[i];
      if (!named_.contains(attribute.name)) continue;
      Datum value = i < from.slots.size() ? from.slots[i] : Datum();
      if (value.tag() == Tag::object) {
        if (!inner_) continue;
        value = Datum(reduced(value.object()));
        attribute.type = object_of(*value.object().cls);
      }
      if (made.cls->find(attribute.name) < 0) made.cls->attributes.push_back(attribute);
      made.slots.resize(made.cls->attributes.size());
      made.slots[static_cast<size_t>(made.cls->find(attribute.name))] = std::move(value);
    }
  }

  // An object among the attributes, with what methods name of it.
  Ref<ObjectData> reduced(ObjectData& object) {
    if (const auto known = objects_.find(&object); known != objects_.end()) return known->second;
    ClassDef*& cls = classes_[object.cls];
    if (!cls) {
      cls = &program_->add_class(free_class_name(*program_, object.cls->name));
      cls->is_module = object.cls->is_module;
      linker_.replace(*object.cls, *cls);
    }
    auto made = Ref<ObjectData>::adopt(new ObjectData(program_, *cls));
    objects_[&object] = made;
    add_attributes(object, *made);
    return made;
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
  std::unordered_set<std::string> named_;
  bool inner_ = false;  // whether methods name attributes of other objects than their own
  std::unordered_map<const ObjectData*, Ref<ObjectData>> objects_;
  std::unordered_map<const ClassDef*, ClassDef*> classes_;
};

}  // namespace

Ref<ObjectData> freeze(ObjectData& object, const std::vector<std::string>& methods,
                       const std::vector<std::string>& kept) {
  const Ref<ObjectData> from = united(object);
  return FrozenModule(*from, kept).make(methods);
}

}  // namespace wisp::graph
