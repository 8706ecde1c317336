// Turns operator calls into nodes, and keeps histories right under in-place writes.
#pragma once

#include <memory>

#include "autograd/meta.h"

namespace wisp::autograd {

// The node of a table operator: which operator, and what its rules declared to need.
class OpNode final : public Node {
 public:
  static OpNode* make(const OpDef& op, const Arg* args, const Tensor* outs, size_t count,
                      const Tensor& original);
  std::string name() const override { return op_->node_name; }
  void apply(TensorList& grads, TensorList& results) override;
  void release_saved() override;
  const OpDef& op() const { return *op_; }
  // A saved argument or result for inspection (grad_fn._saved_self); fails if it was freed.
  bool declares(std::string_view name) const;
  Arg saved(std::string_view name, std::vector<Tensor>& keep);

 private:
  struct Layout;
  struct PackedTensors;
  struct Unpacked;
  struct SavedOutput {
    Tensor tensor;  // without history: the history would be this node
    uint32_t version;
    uint32_t which;
  };
  OpNode(const OpDef& op, uint32_t outputs, const Layout& layout);
  ~OpNode() override;
  void free_memory() override;
  Arg* args() { return reinterpret_cast<Arg*>(reinterpret_cast<char*>(this) + args_at_); }
  SavedOutput* saved_outputs() {
    return reinterpret_cast<SavedOutput*>(reinterpret_cast<char*>(this) + outputs_at_);
  }

  void connect(const Arg* args, const Tensor* outs);
  void connect_list(const Arg& arg, Edge*& edge);
  void save(const Arg* args, const Tensor* outs, const Tensor& original, const Layout& layout);
  // What rules see: the saved arguments, and the saved results, with this node as their history if
  // the derivative is itself to be differentiated. Fails if any was overwritten. `kept` holds what
  // hooks give back.
  const Arg* unpack(TensorList& outs, std::unique_ptr<Unpacked>& kept);
  void unpack_output(TensorList& outs, uint32_t which, const Tensor& tensor);
  // The same of tensors that hooks have taken (autograd/saved_hooks.h), and giving them to hooks.
  const Arg* unpack_from_hooks(const PackedTensors& packed, TensorList& outs,
                               std::unique_ptr<Unpacked>& kept);
  void pack_saved();
  bool is_wanted(const Edge& edge) const;
  void apply_joint(const Backward& context, const Arg* args, TensorList& results);
  size_t apply_list(const Vjp& rule, const Backward& context, size_t at, TensorList& results);
  Tensor fit(Tensor grad, const Edge& edge, const Arg& arg) const;

  const OpDef* op_;
  uint32_t bytes_ = 0;
  uint32_t active_ = 0;  // bit per rule of op_->vjp that some edge wants
  uint8_t saved_output_count_ = 0;
  bool has_args_ = false;
  bool saves_tensors_ = false;
  bool released_ = false;
  uint32_t args_at_ = 0;
  uint32_t outputs_at_ = 0;
};

// Makes `write` the last thing that happened to a tensor written in place. For a view that is a
// matter of its base: the base's history is joined with the write. `self_edge` is the edge of
// `write` that leads to what the tensor held before, -1 if the write does not look at it.
void rebase(const Tensor& self, Node* write, int self_edge);
// Gives a view whose base was written in place a grad_fn that leads through the base.
void refresh_view(const Tensor& view);

// A copy in the other tensor's memory layout.
Tensor clone_like(const Tensor& source, const Tensor& layout);

// Refuses writes that would make gradients wrong; `op` names the call.
void check_write(const char* op, const Tensor& self);
// Counts a write, and notes where it happened if somebody saved the tensor.
void note_write(const OpDef& op, const Tensor& self);

// Says which tensor was overwritten, by what and where; for saved tensors of any kind of node.
void check_version(const TensorImpl& tensor, uint32_t version, const Node& saver);
// What a node saved was freed by an earlier backward.
[[noreturn]] void fail_released(const Node& saver);

// Fills dispatch's hooks; called once at start.
void install_hooks();

}  // namespace wisp::autograd
