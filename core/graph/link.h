// Brings functions and classes of one program into another, and makes programs of frozen modules.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"

namespace wisp::graph {

// The name, or the name with a number if a function or class of the program has it already.
std::string free_function_name(Program& program, const std::string& wanted);
std::string free_class_name(Program& program, const std::string& wanted);

// Copies functions and classes into a program, with all that they name. A name that is taken there
// gets a number.
class Linker {
 public:
  explicit Linker(Program& to) : to_(to) {}
  Function& add(const Function& function);
  ClassDef& add(const ClassDef& cls);
  // An object of a class of the program with the same attributes; tensors are shared.
  Ref<ObjectData> add(ObjectData& object, Ref<Program> to);
  // From now on `cls` is called for by the name of `instead`, a class of the program.
  void replace(const ClassDef& cls, ClassDef& instead) { classes_[&cls] = &instead; }
  // Makes a graph, which names what other programs have, one of the program.
  void adopt(Graph& graph);

 private:
  TypeRef adopted(const TypeRef& type);
  void adopt(Block& block, Program* from);

  Program& to_;
  std::unordered_map<const Function*, Function*> functions_;
  std::unordered_map<const ClassDef*, ClassDef*> classes_;
  std::unordered_map<const ObjectData*, Ref<ObjectData>> objects_;
};

// The object, or one like it of a new program if some of the objects in it are of other programs.
Ref<ObjectData> united(ObjectData& object);

// An object of a new program that does what these methods of `object` do with the attributes as
// they are now: they become constants, except those named in `kept` and those that the methods
// write, of objects among the attributes too.
Ref<ObjectData> freeze(ObjectData& object, const std::vector<std::string>& methods,
                       const std::vector<std::string>& kept);

}  // namespace wisp::graph
