#include "autograd/node.h"

#include "autograd/meta.h"

namespace wisp::autograd {

constinit WISP_THREAD_LOCAL AnomalyMode anomaly;
std::string (*capture_trace)() = nullptr;

namespace {

WISP_THREAD_LOCAL uint64_t sequence_counter = 0;

// Nodes whose count reached zero, linked through `next_dead_`. Destroying one may drop the next: a
// list instead of recursion lets a chain of a million nodes go without a deep stack.
constinit WISP_THREAD_LOCAL Node* dead_nodes = nullptr;
constinit WISP_THREAD_LOCAL bool burying = false;

}  // namespace

uint64_t next_hook_id() {
  static std::atomic<uint64_t> counter{1};
  return counter++;
}

Node::~Node() {
  if (extras_) {
    for (auto& [output, meta] : extras_->retained) meta->retained_by = nullptr;
  }
  if (place_.code) host.drop(place_);
}

void Node::destroy() {
  if (burying) {
    next_dead_ = dead_nodes;
    dead_nodes = this;
    return;
  }
  burying = true;
  free_memory();
  while (Node* node = dead_nodes) {
    dead_nodes = node->next_dead_;
    node->free_memory();
  }
  burying = false;
}

void Node::finish() {
  uint64_t number = sequence_counter;
  for (const Edge& edge : edges()) {
    const Node* next = edge.node.get();
    if (next && next->sequence_ >= number) number = next->sequence_ + 1;
  }
  sequence_ = number;
  sequence_counter = number + 1;
  if (host.here) place_ = host.here();
  if (WISP_UNLIKELY(anomaly.enabled) && capture_trace) extras().trace = capture_trace();
}

NodeExtras& Node::extras() {
  if (!extras_) extras_ = std::make_unique<NodeExtras>();
  return *extras_;
}

}  // namespace wisp::autograd
