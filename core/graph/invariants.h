// What a loop computes anew in every round though it is the same each time, or could be computed
// for all rounds at once.
#pragma once

#include <vector>

#include "graph/aliases.h"

namespace wisp::graph {

// Calls of operators in the body of a loop whose results are the same in every round: they read
// what comes from outside of the loop, or results of such calls, and nobody writes to any of it.
// Nobody outside of the graph sees the results, who could tell one tensor from several.
std::vector<const Node*> unchanging_calls(const Block& body, const Aliases& aliases);

// A product of the slice that belongs to the round with a matrix that does not change.
struct SlicedProduct {
  const Node *select, *product;
};

// All of a loop that goes on for as long as it may. `unchanging` are calls as above.
std::vector<SlicedProduct> sliced_products(const Block& body, const Aliases& aliases,
                                           const std::vector<const Node*>& unchanging);

}  // namespace wisp::graph
