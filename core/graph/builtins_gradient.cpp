// Gradients that programs ask for themselves: autograd.grad(), x.backward(), x.grad.
#include "dispatch/derivatives.h"
#include "dispatch/mode.h"
#include "graph/builtins_parts.h"
#include "graph/interpreter.h"

namespace wisp::graph {

namespace {

// Items that are None are undefined tensors.
std::vector<Tensor> tensors_of(const Datum& list) {
  std::vector<Tensor> found;
  for (const Datum& item : list.items()) found.push_back(item.is_none() ? Tensor() : item.tensor());
  return found;
}

Datum optional_tensor(Tensor tensor) {
  return tensor.defined() ? Datum(std::move(tensor)) : Datum();
}

Datum gradients(BuiltinArgs args) {
  const bool keep = args[0].boolean(), create = args[1].boolean(), allow_unused = args[2].boolean();
  const std::vector<Tensor> outputs = tensors_of(args[3]), inputs = tensors_of(args[4]),
                            weights = tensors_of(args[5]);
  WISP_CHECK_VALUE(!inputs.empty(), "grad requires non-empty inputs.");
  WISP_CHECK(weights.empty() || weights.size() == outputs.size(), "got ", outputs.size(),
             " tensors and ", weights.size(), " gradients");
  std::vector<Datum> result;
  for (Tensor& found : derivatives.gradients(outputs, weights, inputs, keep, create)) {
    WISP_CHECK(found.defined() || allow_unused,
               "One of the differentiated Tensors appears to not have been used in the graph. Set "
               "allow_unused=True if this is the desired behavior.");
    result.push_back(optional_tensor(std::move(found)));
  }
  return Datum::list(std::move(result));
}

Datum backward(BuiltinArgs args) {
  const std::vector<Tensor> outputs = tensors_of(args[2]), weights = tensors_of(args[3]);
  WISP_CHECK(weights.empty() || weights.size() == outputs.size(), "got ", outputs.size(),
             " tensors and ", weights.size(), " gradients");
  derivatives.backward(outputs, weights, args[0].boolean(), args[1].boolean());
  return {};
}

// Whether a function that has a backward of its own is to be called in the host: where gradients
// are recorded, and it is there.
Datum gradient_by_host(BuiltinArgs args) {
  if (!mode.grad || !graph_host.has || !graph_host.has(args[0].string())) return false;
  for (const Datum& input : args[1].items()) {
    if (input.tensor().requires_grad()) return true;
  }
  return false;
}

}  // namespace

// A first parameter that is no tensor: nothing is moved across such a call.
void add_gradient_builtins(std::vector<BuiltinRow>& table) {
  table.push_back(
      {"_gradients(bool keep, bool create, bool allow_unused, Tensor[] outputs, "
       "Tensor[] inputs, Tensor?[] weights) -> Tensor?[]",
       gradients, false});
  table.push_back({"_backward(bool keep, bool create, Tensor[] outputs, Tensor?[] weights) -> ()",
                   backward, false});
  table.push_back(
      {"_gradient_by_host(str function, Tensor[] inputs) -> bool", gradient_by_host, false});
  table.push_back(
      {"grad(Tensor self) -> Tensor?",
       [](BuiltinArgs a) { return optional_tensor(derivatives.gradient_of(a[0].tensor())); },
       false});
}

}  // namespace wisp::graph
