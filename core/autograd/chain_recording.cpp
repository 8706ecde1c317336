#include "autograd/chain_recording.h"

#include <algorithm>

namespace wisp::autograd {

using ops::Chain;
using ops::ChainCall;

namespace {

// Ways to use a chain, or to go back through it, after these are not learned.
constexpr size_t most_known = 16;

void add_once(std::vector<int>& list, int item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
}

}  // namespace

ChainRecording::ChainRecording(const Chain& chain, uint32_t given)
    : wanted(given), inputs(chain.inputs()), outputs(chain.outputs()), calls(chain.calls()) {
  int count = inputs;
  for (const ChainCall& call : calls) {
    first_results.push_back(count);
    count += call.results;
  }
  values.resize(static_cast<size_t>(count));
  find_active();
  find_parts();
  find_uses();
  possible &= parts.size() <= max_parts;
  number_slots();
  if (possible) make_forward();
}

bool ChainRecording::is_output(int value) const {
  return std::find(outputs.begin(), outputs.end(), value) != outputs.end();
}

int ChainRecording::operand_of(const ChainCall& call, const Vjp& rule) {
  for (int i = 0; i < call.operand_count; ++i) {
    if (call.op->operands[i] == rule.index) return call.operands[i].value;
  }
  return -1;
}

// f(value, rule) of what gradients go to. Cuts have one rule, whichever operator they call.
template <class F>
void ChainRecording::for_active_operands(int at, F f) const {
  const ChainCall& call = calls[at];
  if (Chain::cuts(*call.op)) {
    if (values[call.operands[0].value].active) f(call.operands[0].value, 0);
    return;
  }
  for (size_t r = 0; r < call.op->vjp.size(); ++r) {
    const int value = operand_of(call, call.op->vjp[r]);
    if (value >= 0 && values[value].active) f(value, static_cast<int>(r));
  }
}

void ChainRecording::find_active() {
  for (int i = 0; i < inputs; ++i) values[i].active = wanted >> i & 1u;
  for (size_t c = 0; c < calls.size(); ++c) {
    bool any = false;
    for_active_operands(static_cast<int>(c), [&](int, int) { any = true; });
    for (int k = 0; k < calls[c].results; ++k) values[first_results[c] + k].active = any;
    for (const Vjp& rule : calls[c].op->vjp) possible &= rule.rule != nullptr;
    possible &= calls[c].op->joint_vjp == nullptr;
  }
}

void ChainRecording::find_parts() {
  bool begins = true;
  for (size_t c = 0; c < calls.size(); ++c) {
    const int first = first_results[c];
    if (!values[first].active) continue;
    if (begins) parts.emplace_back().kept_at.assign(values.size(), -1);
    begins = false;
    parts.back().calls.push_back(static_cast<int>(c));
    for (int k = 0; k < calls[c].results; ++k) {
      values[first + k].part = static_cast<int>(parts.size()) - 1;
      begins |= is_output(first + k);
    }
    find_kept(static_cast<int>(c));
  }
}

// What single nodes would save, and nothing else: somebody may write the rest.
void ChainRecording::find_kept(int c) {
  const ChainCall& call = calls[c];
  ChainPart& part = parts[values[first_results[c]].part];
  const auto keep = [&](int value) {
    if (value < 0 || part.kept_at[value] >= 0) return;
    part.kept_at[value] = static_cast<int>(part.kept.size());
    part.kept.push_back(value);
  };
  if (Chain::cuts(*call.op)) return;
  for_active_operands(c, [&](int, int r) {
    const Vjp& rule = call.op->vjp[r];
    for (int i = 0; i < call.operand_count; ++i) {
      if (rule.save_inputs >> call.op->operands[i] & 1u) keep(call.operands[i].value);
    }
    if (rule.save_outputs & 1u) keep(first_results[c]);
  });
}

void ChainRecording::find_uses() {
  for (size_t p = 0; p < parts.size(); ++p) {
    for (size_t i = parts[p].calls.size(); i-- > 0;) {
      const int call = parts[p].calls[i];
      for_active_operands(call, [&](int value, int rule) {
        if (values[value].part != static_cast<int>(p)) parts[p].uses.push_back({value, call, rule});
      });
    }
  }
}

void ChainRecording::number_slots() {
  const auto number = [&](int value) {
    Value& known = values[value];
    if (known.active && known.part >= 0 && known.slot < 0)
      known.slot = parts[known.part].slot_count++;
  };
  for (const int value : outputs) number(value);
  for (const ChainPart& part : parts) {
    for (const int value : part.kept) number(value);
    for (const ChainPart::Use& use : part.uses) number(use.value);
  }
  for (const ChainPart& part : parts) possible &= part.slot_count <= 64;
}

void ChainRecording::make_forward() {
  std::vector<int> owner(values.size());
  for (size_t i = 0; i < owner.size(); ++i) owner[i] = static_cast<int>(i);
  for (size_t c = 0; c < calls.size(); ++c) {
    if (!Chain::cuts(*calls[c].op)) continue;
    for (int k = 0; k < calls[c].results; ++k) {
      owner[first_results[c] + k] = owner[calls[c].operands[0].value];
    }
  }
  std::vector<int> made = outputs;
  for (const ChainPart& part : parts) {
    for (const int value : part.kept) {
      if (owner[value] >= inputs) add_once(made, owner[value]);
    }
  }
  possible = made.size() <= Chain::max_outputs;
  if (!possible) return;
  for (size_t i = 0; i < made.size(); ++i) values[made[i]].made_at = static_cast<int>(i);
  find_held(owner);
  const int hidden = static_cast<int>(made.size() - outputs.size());
  forward = std::make_unique<Chain>(inputs, calls, std::move(made), hidden);
}

void ChainRecording::find_held(const std::vector<int>& owner) {
  for (ChainPart& part : parts) {
    for (const int value : part.kept) {
      const int from = owner[value];
      const bool hidden = from >= inputs && !is_output(from);
      if (!hidden) add_once(part.held, from);
      const auto at = std::find(part.held.begin(), part.held.end(), from);
      part.held_at.push_back(hidden ? -1 : static_cast<int>(at - part.held.begin()));
    }
  }
}

const ChainGradient* ChainRecording::gradient(int part, const Plan& plan, uint64_t defined) const {
  const std::lock_guard lock(learning_);
  for (const auto& known : learned_) {
    if (known->part == part && known->plan == &plan && known->defined == defined)
      return &known->gradient;
  }
  return nullptr;
}

bool ChainRecording::learns_more() const {
  const std::lock_guard lock(learning_);
  return learned_.size() < 4 * most_known;
}

void ChainRecording::learn(int part, const Plan& plan, uint64_t defined, ChainGradient made) const {
  const std::lock_guard lock(learning_);
  learned_.push_back(std::make_unique<Learned>(Learned{part, &plan, defined, std::move(made)}));
}

namespace {

// Of one chain.
struct Recordings {
  std::mutex adding;
  std::vector<std::shared_ptr<const ChainRecording>> all;
};

std::shared_ptr<void> make_recordings() { return std::make_shared<Recordings>(); }

}  // namespace

std::shared_ptr<const ChainRecording> recording_of(const Chain& chain, uint32_t wanted) {
  auto& known = *static_cast<Recordings*>(chain.notes(make_recordings).get());
  const std::lock_guard lock(known.adding);
  for (const auto& recording : known.all) {
    if (recording->wanted == wanted) return recording;
  }
  if (known.all.size() >= most_known) return nullptr;
  known.all.push_back(std::make_shared<const ChainRecording>(chain, wanted));
  return known.all.back();
}

}  // namespace wisp::autograd
