// A program as a graph: values, nodes that compute them, and blocks for control flow.
//
//   graph(%x : Tensor, %n : int):
//     %2 : int = prim::Constant[value=1]()
//     %3 : Tensor = aten::add(%x, %x, %2)  # file.py:12
//     return (%3)
//
// The vocabulary is the table of operators (aten::), a table of functions of plain Python values
// (aten:: too, builtins.h), and a few forms that need more than a function (prim::).
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dispatch/registry.h"
#include "graph/datum.h"
#include "graph/type.h"

namespace wisp::graph {

struct Builtin;
struct Block;
struct Node;
struct Function;
class Graph;
class Program;

// A file's text, or the part of it that was compiled. `first_line` is that of text[0].
struct Source {
  std::string file;
  int first_line = 1;
  std::string text;
};

// Where a node comes from: a range of characters of a source, or just a line if there is no text.
struct Span {
  std::shared_ptr<const Source> source;
  int begin = 0, end = 0;  // into source->text
  int line() const;        // counted from 1, in the file
};

// X(name): the forms that are no functions. Attributes are in brackets: prim::Constant[value=1].
#define WISP_FOR_EACH_PRIM(X)                                                             \
  X(Constant)       /* [value] () -> value */                                             \
  X(If)             /* (bool), two blocks -> their results */                             \
  X(Loop)           /* (int trips, bool condition, carried...), block (int i, carried...) \
                       -> (bool condition, carried...) -> carried */                      \
  X(ListConstruct)  /* (items...) -> T[] */                                               \
  X(TupleConstruct) /* (items...) -> (T...) */                                            \
  X(DictConstruct)  /* (key, value, key, value, ...) -> Dict(K, V) */                     \
  X(ListUnpack)     /* (T[]) -> T... ; fails unless it has that many items */             \
  X(TupleUnpack)    /* (tuple) -> items... */                                             \
  X(TupleIndex)     /* [index] (tuple) -> item */                                         \
  X(GetAttr)        /* [name] (object) -> T */                                            \
  X(SetAttr)        /* [name] (object, T) -> */                                           \
  X(CallFunction)   /* [name] (args...) -> T...: a function of the program */             \
  X(CallMethod)     /* [name] (object, args...) -> T */                                   \
  X(CreateObject)   /* [name] () -> object with empty attributes */                       \
  X(Uninitialized)  /* () -> T: never read */                                             \
  X(UncheckedCast)  /* (T?) -> T: known not to be None here */                            \
  X(RaiseException) /* (str message, str class) -> */                                     \
  X(Print)          /* (anything...) -> */                                                \
  X(HostCall)       /* [name] (args...) -> T: a function of the host (@jit.ignore) */     \
  X(Fork)           /* (), block of a call that may run beside others -> Future(T) */     \
  X(Wait)           /* (Future(T)) -> T */                                                \
  X(FusionGroup)    /* block of pointwise nodes run at once (inputs) -> outputs */        \
  X(Parallel)       /* () blocks that need nothing of each other -> all their results */

enum class Prim : uint8_t {
  none,  // the node calls an operator or a builtin
#define WISP_ENUMERATOR(name) name,
  WISP_FOR_EACH_PRIM(WISP_ENUMERATOR)
#undef WISP_ENUMERATOR
};
const char* name(Prim prim);  // "prim::If"

struct Value {
  TypeRef type;
  Node* node = nullptr;     // that computes it; null for a block's parameter
  Block* block = nullptr;   // whose parameter it is, or in which `node` stands
  int index = 0;            // among the outputs of the node or the parameters of the block
  std::string name;         // as printed behind %; unique in its graph
  std::vector<Node*> uses;  // once per use; a block's results are uses of the block's owner, which
                            // is null for the results of the graph
};

struct Node {
  Prim prim = Prim::none;
  const OpDef* op = nullptr;  // of the table ...
  bool in_place = false;      // ... in its form "name_"
  const Builtin* builtin = nullptr;
  std::map<std::string, Datum> attributes;
  std::vector<Value*> inputs;  // of an operator: one per parameter of its schema
  std::vector<Value*> outputs;
  std::vector<Block*> blocks;
  Span span;
  Block* block = nullptr;  // where it stands
  Node *previous = nullptr, *next = nullptr;

  std::string kind() const;  // "aten::add", "aten::max.dim", "aten::add_", "prim::If"
  Value& output(int i = 0) const { return *outputs[i]; }
  Value& input(int i) const { return *inputs[i]; }
  bool is(Prim wanted) const { return prim == wanted; }
  // Whether it does more than compute its outputs from its inputs: prints, raises, writes, draws
  // random numbers, or holds a block that does.
  bool has_side_effects() const;
};

struct Block {
  Graph* graph = nullptr;
  Node* owner = nullptr;  // null for a graph's own block
  std::vector<Value*> params;
  std::vector<Value*> results;
  Node *first = nullptr, *last = nullptr;

  // In order; `node` may be removed in the loop's body.
  template <class F>
  void for_each(F f) {
    for (Node *node = first, *next; node; node = next) {
      next = node->next;
      f(*node);
    }
  }
};

// Owns its values, nodes and blocks until it dies; removed ones are only unlinked.
class Graph {
 public:
  Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  std::unique_ptr<Graph> clone() const;

  Block& top() { return *top_; }
  const Block& top() const { return *top_; }

  // --- Building
  Value& add_param(Block& block, TypeRef type, std::string name = "");
  // A node that stands nowhere yet.
  Node& make(Prim prim);
  Node& make(const OpDef& op, bool in_place = false);
  Node& make(const Builtin& builtin);
  Value& add_output(Node& node, TypeRef type, std::string name = "");
  void add_input(Node& node, Value& value);
  Block& add_block(Node& node);
  void add_result(Block& block, Value& value);
  void append(Block& block, Node& node);
  void insert_before(Node& place, Node& node);
  void insert_after(Node& place, Node& node);
  Value& constant(Node& before, Datum value, TypeRef type);

  // --- Changing
  void replace_input(Node& node, int i, Value& value);
  void replace_result(Block& block, int i, Value& value);
  void replace_uses(Value& old, Value& with);
  void remove_input(Node& node, int i);
  void remove(Node& node);  // whose outputs nobody uses any more, with its blocks
  void move_before(Node& place, Node& node);
  void move_to_end(Block& block, Node& node);
  // Copies a block's nodes in front of `place`, with its parameters replaced; returns its results.
  std::vector<Value*> inline_block(const Block& block, std::vector<Value*> arguments, Node& place);
  // The same at the end of another block.
  std::vector<Value*> inline_block(const Block& block, std::vector<Value*> arguments, Block& end);
  // A copy of a block as a graph of its own, whose parameters stand for what it captures: what it
  // reads from around it and is no constant.
  std::unique_ptr<Graph> extract(const Block& block, std::vector<Value*>& captured) const;
  void rename(Value& value, std::string name);
  void remove_output(Node& node, int i);  // which nobody uses
  void remove_result(Block& block, int i);
  void remove_param(Block& block, int i);  // which nobody uses
  // The same operation, attributes and place, without inputs, outputs and blocks.
  Node& make_like(const Node& node);

  Program* program = nullptr;  // which functions and classes its nodes name

 private:
  std::deque<Value> values_;
  std::deque<Node> nodes_;
  std::deque<Block> blocks_;
  Block* top_;
  std::map<std::string, int> names_;  // how often a name was wanted
  int next_ = 0;

  std::string unique_name(std::string wanted);
  std::vector<Value*> copy_nodes(const Block& block, const std::vector<Value*>& arguments,
                                 Block& into, Node* place);
};

// What the blocks of a node read from around it, each once.
std::vector<Value*> captured_values(const Node& node);

// Fails with the first fault found: a value used before or outside of where it is computed, types
// that do not fit, wrong numbers of inputs, attributes missing, lists of uses that do not agree.
void verify(const Graph& graph);

// --- Text. parse() reads what to_text() prints; types are needed on all outputs.
struct TextOptions {
  bool places = true;  // "# file.py:12" behind the nodes
  bool spans = false;  // for files: "# @0 120 134": source 0 of the program, characters 120 to 134
  // Where tensors that are constants go: they are written as <tensor 3>. Without it, as <Tensor>,
  // which cannot be read back.
  std::vector<Tensor>* tensors = nullptr;
};
std::string to_text(const Graph& graph, TextOptions options = {});
std::unique_ptr<Graph> parse(std::string_view text, Program* program = nullptr);
// A constant as it stands in the text, and what it is as one of this type: a float may be written
// as an int, a device as a string.
std::string constant_text(const Datum& value, std::vector<Tensor>* tensors = nullptr);
Datum converted(const Datum& value, const Type& type);
// Whether a value is of a type: what constants, defaults and values from outside have to pass.
bool is_of_type(const Datum& value, const Type& type);
// As readable Python.
std::string to_python(const Graph& graph, std::string_view function_name = "forward");

// --- Functions, classes and what owns them
struct Parameter {
  std::string name;
  TypeRef type;
  bool has_default = false;
  Datum fallback;
};

class Code;  // the graph ready to be run; interpreter.h

struct Function {
  std::string name;               // unique in its program: "f", "Net.forward"
  std::vector<Parameter> params;  // of a method: without self, which is the graph's first parameter
  TypeRef result;
  std::unique_ptr<Graph> graph;
  // Arguments like those it was traced with, or called with first (see example.h); none if unknown.
  std::vector<Datum> example = {};
  // Made on the first call; reset when the graph changes.
  mutable std::shared_ptr<const Code> code;
  void set_signature();  // params (without defaults) and result, as the graph has them
};
std::string to_python(const Function& function, std::string_view name);
// "f(Tensor x, int n=1) -> Tensor"
std::string declaration(const Function& function);

struct Attribute {
  std::string name;
  TypeRef type;
  enum Role : uint8_t { plain, parameter, buffer, temporary_buffer, constant } role = plain;
};

// Of a module or of a user's class.
struct ClassDef {
  Program* program = nullptr;  // that it belongs to
  std::string name;            // "__wisp__.Net"
  bool is_module = false;
  std::vector<Attribute> attributes;
  std::map<std::string, Function*> methods;
  int find(std::string_view attribute) const;  // -1 if there is none of that name
};

// Everything compiled together: it lives as long as one of its objects or functions is in use.
class Program : public Object {
 public:
  Function& add_function(std::string name);
  ClassDef& add_class(std::string name);
  Function* find_function(std::string_view name);
  ClassDef* find_class(std::string_view name);
  // Adds what a text defines: sources, classes, functions (see graph/program.cpp for the form). All
  // of it, or after an error nothing.
  void parse(std::string_view text);
  // With `tensors`, the constants that the text names as <tensor 3> are added there; without, they
  // are looked up in, or named as if added to, those of this program.
  std::string to_text(std::vector<Tensor>* tensors = nullptr) const;

  std::vector<std::shared_ptr<const Source>> sources;
  std::vector<Tensor> tensors;  // constants that a text to be parsed names as <tensor 3>
  const std::deque<Function>& functions() const { return functions_; }
  const std::deque<ClassDef>& classes() const { return classes_; }

 private:
  std::deque<Function> functions_;
  std::deque<ClassDef> classes_;
  std::map<std::string, Function*, std::less<>> functions_by_name_;
  std::map<std::string, ClassDef*, std::less<>> classes_by_name_;
};

class ObjectData : public Object {
 public:
  ObjectData(Ref<Program> program, ClassDef& cls)
      : program(std::move(program)), cls(&cls), slots(cls.attributes.size()) {}
  const Ref<Program> program;
  ClassDef* const cls;
  std::vector<Datum> slots;  // one per attribute

 protected:
  void destroy() override;  // without a stack as deep as chains of objects are long
};

}  // namespace wisp::graph
