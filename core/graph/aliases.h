// Which values may share memory, and which memory is written: what passes ask before they move,
// merge or drop nodes.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/graph.h"

namespace wisp::graph {

// Values that may share memory, directly or as items of a list or attributes of an object, are of
// one class. What comes from outside, or is visible there, may all be the same. Tensors that are
// constants are taken to be nobody else's. Of values that were made since nothing good is assumed.
class Aliases {
 public:
  // `apart`: objects, and what is read of their attributes, that are known to share memory with
  // nothing but what is made of them here.
  explicit Aliases(const Graph& graph, std::unordered_set<const Value*> apart = {});

  bool may_share(const Value& a, const Value& b) const { return find(a) == find(b); }
  // Whether some node of the graph writes where this value is. Elements of a tensor stay the same
  // when only a list or an object that may hold it is changed.
  bool is_written(const Value& value) const {
    const auto& written = value.type->kind == Kind::tensor ? stored_ : written_;
    return find(value) == unknown || written.contains(find(value));
  }
  // Whether what it holds is seen outside of the graph: parameters, results, attributes, and
  // everything that may share memory with them.
  bool escapes(const Value& value) const;
  // Whether it may share memory with a constant.
  bool is_constant(const Value& value) const { return constants_.contains(find(value)); }
  // How many values of types that can be changed are of its class.
  int class_size(const Value& value) const;

  // Whether the node could compute the same at any place where its inputs are known: it does
  // nothing else, and nobody writes into its inputs or outputs.
  bool is_movable(const Node& node) const;
  // Whether all outputs have memory that no input has.
  bool makes_new(const Node& node) const;
  // Whether `value` may be replaced by `other`, which holds the same but maybe elsewhere.
  bool may_replace(const Value& value, const Value& other) const;
  // That has happened: `other` is now seen wherever `value` was.
  void replaced(const Value& value, const Value& other);

 private:
  static constexpr int unknown = -1;
  void visit(const Block& block);
  void visit(const Node& node);
  void visit_op(const Node& node);
  void visit_blocks(const Node& node);
  void visit_parallel(const Node& node);
  void visit_constant(const Value& value, const Datum& datum);
  void find_writes(const Block& block);
  void join(const Value* a, const Value* b);
  void join_all(const Node& node);
  void join_outside(const Node& node);
  int find(const Value& value) const { return find(&value); }
  int find(const Value* value) const;
  int root(int at) const;

  std::unordered_set<const Value*> apart_;
  std::unordered_map<const Value*, int> index_;
  mutable std::vector<int> parents_;
  std::unordered_set<int> written_, escaping_, constants_;
  std::unordered_set<int> stored_;  // of what is written: where elements of tensors may be
  std::unordered_map<int, int> sizes_;
  std::unordered_map<const Storage*, const Value*> storages_;  // of constants
};

}  // namespace wisp::graph
