#include "graph/link.h"

#include <algorithm>
#include <unordered_set>

namespace wisp::graph {

namespace {

template <class F>
std::string free_name(const std::string& wanted, F is_taken) {
  std::string name = wanted;
  for (int i = 1; is_taken(name); ++i) name = wanted + "_" + std::to_string(i);
  return name;
}

}  // namespace

std::string free_function_name(Program& program, const std::string& wanted) {
  return free_name(wanted, [&](const auto& name) { return program.find_function(name); });
}

std::string free_class_name(Program& program, const std::string& wanted) {
  return free_name(wanted, [&](const auto& name) { return program.find_class(name); });
}

Function& Linker::add(const Function& function) {
  Function*& made = functions_[&function];
  if (made) return *made;
  made = &to_.add_function(free_function_name(to_, function.name));
  Function& result = *made;  // adding others may move the entry
  result.graph = function.graph->clone();
  adopt(*result.graph);
  for (const Parameter& param : function.params) {
    result.params.push_back({param.name, adopted(param.type), param.has_default, param.fallback});
  }
  result.result = function.result ? adopted(function.result) : nullptr;
  return result;
}

ClassDef& Linker::add(const ClassDef& cls) {
  ClassDef*& made = classes_[&cls];
  if (made) return *made;
  made = &to_.add_class(free_class_name(to_, cls.name));
  ClassDef& result = *made;
  result.is_module = cls.is_module;
  for (const Attribute& attribute : cls.attributes) {
    result.attributes.push_back({attribute.name, adopted(attribute.type), attribute.role});
  }
  for (const auto& [name, function] : cls.methods) result.methods[name] = &add(*function);
  return result;
}

Ref<ObjectData> Linker::add(ObjectData& object, Ref<Program> to) {
  const auto found = objects_.find(&object);
  if (found != objects_.end()) return found->second;
  auto made = Ref<ObjectData>::adopt(new ObjectData(to, add(*object.cls)));
  objects_[&object] = made;
  for (size_t i = 0; i < object.slots.size(); ++i) {
    const Datum& value = object.slots[i];
    made->slots[i] = value.tag() == Tag::object ? Datum(add(value.object(), to)) : value;
  }
  return made;
}

namespace {

bool is_of_one_program(const ObjectData& object, std::unordered_set<const ObjectData*>& seen) {
  if (!seen.insert(&object).second) return true;
  return std::all_of(object.slots.begin(), object.slots.end(), [&](const Datum& value) {
    if (value.tag() != Tag::object) return true;
    return value.object().program == object.program && is_of_one_program(value.object(), seen);
  });
}

}  // namespace

Ref<ObjectData> united(ObjectData& object) {
  std::unordered_set<const ObjectData*> seen;
  if (is_of_one_program(object, seen)) return Ref<ObjectData>::share(&object);
  const auto program = Ref<Program>::adopt(new Program);
  return Linker(*program).add(object, program);
}

TypeRef Linker::adopted(const TypeRef& type) {
  if (type->kind == Kind::object) return object_of(add(*type->cls));
  if (type->items.empty()) return type;
  auto made = std::make_shared<Type>(*type);
  for (TypeRef& item : made->items) item = adopted(item);
  return made;
}

void Linker::adopt(Block& block, Program* from) {
  for (Value* param : block.params) param->type = adopted(param->type);
  block.for_each([&](Node& node) {
    if (node.is(Prim::CallFunction)) {
      Function* called = from ? from->find_function(node.attributes.at("name").string()) : nullptr;
      WISP_CHECK(called, "graph: a function is called that the program does not have");
      node.attributes["name"] = Datum(add(*called).name);
    }
    for (Value* output : node.outputs) output->type = adopted(output->type);
    if (node.is(Prim::CreateObject)) node.attributes["name"] = Datum(node.output().type->cls->name);
    for (Block* inner : node.blocks) adopt(*inner, from);
    if (!node.span.source) return;
    const auto& known = to_.sources;
    if (std::find(known.begin(), known.end(), node.span.source) == known.end())
      to_.sources.push_back(node.span.source);
  });
}

void Linker::adopt(Graph& graph) {
  Program* from = graph.program;
  graph.program = &to_;
  adopt(graph.top(), from);
}

}  // namespace wisp::graph
