#include "graph/evaluate.h"

#include "dispatch/call.h"
#include "graph/builtins.h"
#include "graph/op_args.h"

namespace wisp::graph {

namespace {

Datum number_result(const Tensor& out, const Return& result) {
  const Scalar value = out.item();
  if (result.type == "bool") return Datum(value.truth());
  return result.type == "int" ? Datum(value.integer()) : Datum(value.real());
}

std::vector<Datum> run_op(const OpDef& op, const std::vector<Datum>& inputs) {
  Scratch scratch;
  std::vector<Arg> args(op.sig.params.size());
  for (size_t i = 0; i < args.size(); ++i) set_arg(inputs[i], op.sig.params[i], scratch, args[i]);
  TensorList outs;
  const GradMode no_grad(false);
  call(op, args.data(), outs);
  std::vector<Datum> results;
  if (op.sig.returns_list()) {
    std::vector<Datum> items(outs.begin(), outs.end());
    results.push_back(Datum::list(std::move(items)));
    return results;
  }
  for (size_t i = 0; i < op.sig.returns.size(); ++i) {
    const Return& result = op.sig.returns[i];
    results.push_back(i >= outs.size()    ? Datum()
                      : !result.is_tensor ? number_result(outs[i], result)
                                          : Datum(outs[i]));
  }
  return results;
}

Datum make_dict(const std::vector<Datum>& inputs) {
  Datum dict = Datum::dict();
  for (size_t i = 0; i + 1 < inputs.size(); i += 2) dict.dict_data().set(inputs[i], inputs[i + 1]);
  return dict;
}

std::optional<std::vector<Datum>> run_prim(const Node& node, std::vector<Datum> inputs) {
  using Results = std::vector<Datum>;
  switch (node.prim) {
    case Prim::ListConstruct:
      return Results{Datum::list(std::move(inputs))};
    case Prim::TupleConstruct:
      return Results{Datum::tuple(std::move(inputs))};
    case Prim::DictConstruct:
      return Results{make_dict(inputs)};
    case Prim::TupleIndex:
      return Results{inputs[0].items()[node.attributes.at("index").integer()]};
    case Prim::TupleUnpack:
    case Prim::ListUnpack:
      if (inputs[0].items().size() != node.outputs.size()) return {};
      return inputs[0].items();
    case Prim::UncheckedCast:
      if (!is_of_type(inputs[0], *node.output().type)) return {};
      return inputs;
    default:
      return {};
  }
}

}  // namespace

std::optional<std::vector<Datum>> evaluate(const Node& node, std::vector<Datum> inputs) {
  try {
    if (node.op && !node.in_place) return run_op(*node.op, inputs);
    if (!node.builtin) return run_prim(node, std::move(inputs));
    std::vector<Datum> results;
    Datum result = node.builtin->run(inputs);
    if (!node.outputs.empty()) results.push_back(std::move(result));
    return results;
  } catch (const std::exception&) {  // whoever runs the graph will see the error
    return {};
  }
}

}  // namespace wisp::graph
