// The graph that backward walks: a node per recorded call, edges towards the inputs.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dispatch/call.h"
#include "tensor/tensor_list.h"

namespace wisp::autograd {

class Node;
class Task;

// Owns a node. The node of a leaf (AccumulateGrad) lives inside its tensor: owning it owns the
// tensor.
class NodeRef {
 public:
  NodeRef() = default;
  explicit NodeRef(Node* node);
  NodeRef(const NodeRef& other) : NodeRef(other.node_) {}
  NodeRef(NodeRef&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  NodeRef& operator=(NodeRef other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~NodeRef();
  Node* get() const { return node_; }
  Node* operator->() const { return node_; }
  explicit operator bool() const { return node_ != nullptr; }
  Node* detach() { return std::exchange(node_, nullptr); }

 private:
  Node* node_ = nullptr;
};

// Where a gradient goes: output `output` of `node`, or nowhere.
struct Edge {
  NodeRef node;
  uint32_t output = 0;
  DType dtype = DType::float32;  // of the tensor the gradient belongs to
  bool broadcast = false;        // the forward call expanded it: the gradient is summed back
};

// What the engine keeps on a node while it runs.
struct Exec {
  uint32_t pending = 0;  // consumers that have not delivered yet
  bool seen = false;
  bool needed = true;
  Tensor first;                                 // gradient of output 0
  std::unique_ptr<std::vector<Tensor>> others;  // of outputs 1, 2, ...
  void reset() {
    pending = 0;
    seen = false;
    needed = true;
    first.reset();
    if (WISP_UNLIKELY(others != nullptr)) others.reset();
  }
};

using TensorHook = std::function<Tensor(const Tensor&)>;
using NodePreHook = std::function<void(std::vector<Tensor>& grads)>;
using NodePostHook =
    std::function<void(std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs)>;

struct AutogradMeta;

// Rarely used parts of a node.
struct NodeExtras {
  struct OnTensor {
    uint64_t id;
    uint32_t output;
    TensorHook hook;
  };
  std::vector<OnTensor> tensor_hooks;
  std::vector<std::pair<uint64_t, NodePreHook>> pre_hooks;
  std::vector<std::pair<uint64_t, NodePostHook>> post_hooks;
  std::vector<std::pair<uint32_t, AutogradMeta*>> retained;  // outputs whose .grad is wanted
  std::string trace;   // anomaly mode: the host's full stack of the forward call
  Ref<Object> packed;  // saved tensors that hooks have taken
};

class Node : public Object {
 public:
  explicit Node(uint32_t outputs) : outputs_(outputs) {}
  ~Node() override;

  virtual std::string name() const = 0;
  // Gradients of the inputs (one per edge) from those of the outputs. Undefined stands for zero.
  virtual void apply(TensorList& grads, TensorList& results) = 0;
  // Lets go of whatever apply() needs; called when the graph is not kept.
  virtual void release_saved() {}

  size_t edge_count() const { return edge_count_; }
  Edge& edge(size_t i) { return edges_[i]; }
  std::span<Edge> edges() { return {edges_, edge_count_}; }
  uint32_t outputs() const { return outputs_; }
  uint64_t sequence() const { return sequence_; }
  TensorImpl* leaf() const { return leaf_; }
  const Place& place() const { return place_; }
  NodeExtras& extras();
  NodeExtras* extras_if_any() const { return extras_.get(); }

  Exec exec;
  union {
    std::atomic<Task*> owner{nullptr};  // the running task that uses `exec`
    Node* next_dead_;                   // once nobody refers to the node any more
  };

 protected:
  void destroy() override;
  virtual void free_memory() { delete this; }
  // To be called once the edges are set: notes the line of the call and numbers the node, higher
  // than all the nodes it leads to, across threads too.
  void finish();

  uint32_t outputs_;
  uint32_t edge_count_ = 0;
  Edge* edges_ = nullptr;  // owned by the subclass
  uint64_t sequence_ = 0;
  TensorImpl* leaf_ = nullptr;
  Place place_;

 private:
  std::unique_ptr<NodeExtras> extras_;
};

// Anomaly mode: check every gradient for NaN, and keep full forward stacks.
struct AnomalyMode {
  bool enabled = false;
  bool check_nan = true;
};
extern constinit WISP_THREAD_LOCAL AnomalyMode anomaly;
extern std::string (*capture_trace)();

uint64_t next_hook_id();

inline NodeRef::NodeRef(Node* node) : node_(node) {
  if (!node) return;
  if (TensorImpl* leaf = node->leaf()) {
    leaf->retain();
  } else {
    node->retain();
  }
}

inline NodeRef::~NodeRef() {
  if (!node_) return;
  if (TensorImpl* leaf = node_->leaf()) {
    leaf->release();
  } else {
    node_->release();
  }
}

}  // namespace wisp::autograd
