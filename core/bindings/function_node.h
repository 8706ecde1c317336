// User-defined autograd functions: a node whose derivative is a Python method.
#pragma once

#include "autograd/node.h"
#include "bindings/python.h"

namespace wisp::python {

class FunctionNode final : public autograd::Node {
 public:
  // Shape and dtype of a tensor argument, to check the gradient that comes back for it.
  struct Input {
    bool is_tensor = false;
    Dims sizes;
    DType dtype = DType::float32;
  };

  FunctionNode(PyObject* context, std::string name, std::vector<autograd::Edge> edges,
               std::vector<Input> inputs);
  ~FunctionNode() override;
  std::string name() const override { return name_; }
  void apply(TensorList& grads, TensorList& results) override;
  void release_saved() override;
  PyObject* context() const { return context_; }
  void set_outputs(const std::vector<Tensor>& outputs);

 private:
  Tensor fit(PyObject* value, size_t input, size_t edge);

  PyObject* context_;  // owned
  std::string name_;
  std::vector<autograd::Edge> own_edges_;  // one per tensor argument
  std::vector<Input> inputs_;              // one per argument
  std::vector<Input> output_metas_;        // for gradients that are to be zeros
};

// The node of a ctx; null if the object is something else.
FunctionNode* function_node_from(PyObject* object);

void add_function_context_type(PyObject* module);

}  // namespace wisp::python
