// Reads types, constants and graphs out of a program's text. The text may come from anywhere: what
// is wrong with it is an error, and nesting is bounded.
#pragma once

#include <map>
#include <unordered_map>

#include "graph/graph.h"
#include "graph/scanner.h"

namespace wisp::graph {

class Reader {
 public:
  Reader(std::string_view text, Program* program) : in(text), program_(program) {}

  TypeRef type() {
    return nested<TypeRef>([this] { return read_type(); });
  }
  Datum constant() {
    return nested<Datum>([this] { return read_constant(); });
  }
  // From "graph(" to the end of its return. Not yet verified.
  std::unique_ptr<Graph> graph();

  Scanner in;
  std::vector<std::shared_ptr<const Source>> sources;  // that places name by number

 private:
  static constexpr int max_depth = 64;         // of types and constants
  static constexpr int max_block_depth = 400;  // a long chain of elif is nested that deeply
  struct Output {
    std::string name;
    TypeRef type;
  };

  template <class T, class F>
  T nested(F read) {
    if (++depth_ > max_depth) in.bad("nested too deeply");
    T result = read();
    --depth_;
    return result;
  }

  TypeRef read_type();
  TypeRef base_type();
  TypeRef tuple_type();
  TypeRef tensor_type(std::optional<DType> dtype);
  TypeRef named_tuple(std::string_view name);
  bool at_fields();
  int64_t size();

  Datum read_constant();
  Datum word_constant();
  Datum wisp_constant(std::string_view word);
  Datum number_constant();
  Datum tensor_constant();
  Datum dict_constant();
  std::vector<Datum> items(std::string_view end);
  double real();

  void nodes(Block& block, std::string_view end);
  void node(Block& block);
  void inputs(Node& node);
  void blocks(Node& node);
  void params(Block& block);
  void results(Block& block);
  Node& named_node(std::string_view space, std::string_view name);
  std::vector<Output> outputs();
  void attributes(Node& node);
  std::string value_name();
  Value& value();
  void define(Value& value, const std::string& name);
  Span place(std::string_view comment);
  Span numbered_place(std::string_view comment);

  Program* program_;
  Graph* graph_ = nullptr;  // being read
  int depth_ = 0, block_depth_ = 0;
  std::unordered_map<std::string, Value*> values_;
  std::map<std::pair<std::string, int>, std::shared_ptr<const Source>> lines_;
};

}  // namespace wisp::graph
