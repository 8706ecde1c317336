#include "autograd/node.h"

#include "autograd/meta.h"

namespace wisp::autograd {

thread_local AnomalyMode anomaly;
std::string (*capture_trace)() = nullptr;

namespace {

WISP_THREAD_LOCAL uint64_t sequence_counter = 0;

// Nodes whose count reached zero. Destroying one may drop the next: a list instead of recursion lets
// a chain of a million nodes go without a deep stack.
struct Graveyard {
  std::vector<Node*> dead;
  bool digging = false;
};
thread_local Graveyard graveyard;

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
  graveyard.dead.push_back(this);
  if (graveyard.digging) return;
  graveyard.digging = true;
  while (!graveyard.dead.empty()) {
    Node* node = graveyard.dead.back();
    graveyard.dead.pop_back();
    node->free_memory();
  }
  graveyard.digging = false;
}

void Node::finish() {
  uint64_t number = sequence_counter;
  for (size_t i = 0; i < edge_count(); ++i) {
    const Node* next = edge(i).node.get();
    if (next && next->sequence_ >= number) number = next->sequence_ + 1;
  }
  sequence_ = number;
  sequence_counter = number + 1;
}

void Node::note_place() {
  if (host.here) place_ = host.here();
  if (WISP_UNLIKELY(anomaly.enabled) && capture_trace) extras().trace = capture_trace();
}

NodeExtras& Node::extras() {
  if (!extras_) extras_ = std::make_unique<NodeExtras>();
  return *extras_;
}

}  // namespace wisp::autograd
