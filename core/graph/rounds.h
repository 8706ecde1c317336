// Finds loops whose rounds the interpreter may do together: as they are for given tensors
// (specialised.h), their bodies are chains (chains.h) of what goes round, of slices or items that
// belong to the round, and of what stays.
#pragma once

#include <memory>
#include <vector>

#include "graph/specialised.h"
#include "ops/chain_plan.h"
#include "ops/rounds.h"

namespace wisp::graph {

// A value that the rounds need: a result of the code for what stays, or a parameter of the body
// (the number of the round is 0), or an item of one that is a tuple.
struct RoundRef {
  enum Kind : uint8_t { none, fixed, param } kind = none;
  int index = 0, item = -1;
  explicit operator bool() const { return kind != none; }
};

// An int that grows by the same number in every round: a parameter times a factor, and what is
// added.
struct RoundInt {
  int param = -1;  // none
  int64_t factor = 0, offset = 0;
  RoundRef plus = {};
};

// A condition that decides how the loop goes on: it has to be as `wanted`.
struct RoundTest {
  enum Kind : uint8_t { lt, le, gt, ge, eq, ne } kind;
  RoundInt left, right;
  bool wanted;
};

// A slice of a tensor, or an item of a list, that belongs to the round.
struct RoundItem {
  RoundRef owner = {};
  bool listed = false;
  int64_t dim = 0, length = 0;  // of slices; a length of 0 is a slice without that dimension
  RoundInt index = {};
};

// Where an input of the chain comes from: it is `value`; or, if there is an owner, the item; or the
// product of this with `value`.
struct RoundSource {
  RoundRef value = {};
  RoundItem item = {};
  RoundRef bias = {};   // of a product
  bool turned = false;  // `value` is transposed
  ops::ChainShape of_item = {};
};

// What a parameter of the body is in the next round.
struct RoundResult {
  int output = -1;              // of the chain; -1: as it was, or a tuple
  std::vector<int> items = {};  // outputs that are the items of the tuple; -1: as it was
  int64_t step = 0;             // of an int: what it grows by
};

// What a round does with an output, or a view of one, besides handing it on.
struct RoundAppend {
  RoundRef list;
  int output;
  std::shared_ptr<const ops::ChainView> view;  // null: all of it
};
struct RoundStore {
  RoundItem to;
  int output;
};

struct LoopRounds {
  std::vector<RoundSource> sources;
  std::vector<ops::ChainShape> shapes;  // of the chain's inputs
  std::vector<RoundResult> results;     // of parameters after the first
  std::vector<RoundAppend> appended;
  std::vector<RoundStore> stores;
  std::vector<RoundTest> tests;
  size_t branches = 0;  // so many of the tests are those of branches, the others the loop's own
  std::vector<std::pair<RoundRef, Datum>> premises;  // what has to be what it was
  std::unique_ptr<ops::Rounds> rounds;               // null if there are none
  std::unique_ptr<Graph> fixed;                      // computes what stays, of what is captured
};

// What is alike in rounds that begin alike: shapes of tensors, and what is none.
struct RoundForm {
  Tag tag;
  ops::ChainShape shape;
};
using RoundForms = std::vector<RoundForm>;
// Whether all tensors are small enough for rounds that are made together.
bool add_forms(const Datum& value, RoundForms& forms);
bool same_forms(const RoundForms& a, const RoundForms& b);

// The body of a loop with all calls inlined, as `specialised` takes it; null if its rounds can
// never be done together.
std::unique_ptr<Graph> rounds_body(const Graph& graph, const Block& body,
                                   std::vector<Value*>& captured);

LoopRounds rounds_of(Specialised body, size_t captured);

}  // namespace wisp::graph
