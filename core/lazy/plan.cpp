#include "lazy/plan.h"

#include <algorithm>
#include <list>
#include <unordered_map>
#include <unordered_set>

#include "lazy/cuts.h"
#include "lazy/sequence.h"

namespace wisp::lazy {

namespace {

constexpr size_t most_open = 8;    // groups that wait for more members
constexpr size_t most_reads = 14;  // different operands in memory while a group grows

// A group that is still growing.
struct Open {
  IntSpan sizes;  // on which they work
  std::vector<uint32_t> entries = {};
  std::vector<int> reads = {}, writes = {};  // cells
  size_t numbers = 0;
  std::vector<uint32_t> folds = {};  // reductions of what it writes ...
  std::vector<int> folded = {};      // ... these cells
  std::vector<int> fold_outs = {};   // ... into these, which are there when the loop is over
};

class Planner {
 public:
  Planner(const Sequence& sequence, Plan& plan) : sequence_(sequence), plan_(plan) {}

  void run() {
    find_readers();
    for (uint32_t i = 0; i < sequence_.size(); ++i) {
      const Entry& entry = sequence_.entries[i];
      if (!sequence_.needed[i]) {
        plan_.dropped.push_back(i);
      } else if (entry.pointwise) {
        add_pointwise(i);
      } else if (!entry.folds || !add_fold(i)) {
        add_single(i);
      }
    }
    while (!open_.empty()) close(open_.begin());
  }

 private:
  void find_readers() {
    readers_.resize(sequence_.memories.size());
    for (size_t i = 0; i < sequence_.size(); ++i) {
      for (int cell : sequence_.entry(i).in) {
        if (cell >= 0) readers_[storage(cell)].push_back(static_cast<int>(i));
      }
    }
  }

  using Place = std::list<Open>::iterator;

  EntryCells cells(uint32_t i) const { return sequence_.entry(i); }
  IntSpan sizes(int cell) const { return sequence_.cells[cell].tensor->sizes(); }
  int storage(int cell) const { return sequence_.cells[cell].storage; }

  bool touches(const std::vector<int>& of, int cell) const {
    return std::any_of(of.begin(), of.end(),
                       [&](int other) { return storage(other) == storage(cell); });
  }
  // The same storage, but other elements of it or in another order.
  bool differs(const std::vector<int>& of, int cell) const {
    return std::any_of(of.begin(), of.end(),
                       [&](int other) { return storage(other) == storage(cell) && other != cell; });
  }

  bool uses_fold(uint32_t i, const Open& group) const {
    const auto used = [&](int cell) { return cell >= 0 && touches(group.fold_outs, cell); };
    return std::any_of(cells(i).in.begin(), cells(i).in.end(), used) ||
           std::any_of(cells(i).out.begin(), cells(i).out.end(), used);
  }

  // Whether an entry has to come after a group.
  bool follows(uint32_t i, const Open& group) const {
    if (uses_fold(i, group)) return true;
    for (int cell : cells(i).in) {
      if (cell >= 0 && touches(group.writes, cell)) return true;
    }
    for (int cell : cells(i).out) {
      if (touches(group.writes, cell) || touches(group.reads, cell)) return true;
    }
    return false;
  }

  // Whether it may run in one loop with the group: what both use, they use element by element.
  bool fits(uint32_t i, const Open& group) const {
    if (!same(sizes(cells(i).out[0]), group.sizes)) return false;
    if (group.entries.size() >= cpu::max_fused_steps) return false;
    if (group.reads.size() + cells(i).in.size() > most_reads) return false;
    if (group.numbers + 3 > cpu::max_fused_numbers || uses_fold(i, group)) return false;
    for (int cell : cells(i).in) {
      if (differs(group.writes, cell)) return false;
    }
    const int out = cells(i).out[0];
    if (std::count(group.folded.begin(), group.folded.end(), out)) return false;
    return !differs(group.writes, out) && !differs(group.reads, out);
  }

  void close_before(uint32_t i, Place except) {
    for (auto at = open_.begin(); at != open_.end();) {
      const auto next = std::next(at);
      if (at != except && follows(i, *at)) close(at);
      at = next;
    }
  }

  void add_single(uint32_t i) {
    close_before(i, open_.end());
    plan_.stages.push_back({.entry = i});
  }

  void add_pointwise(uint32_t i) {
    auto found = open_.end();
    for (auto at = open_.begin(); at != open_.end(); ++at) {
      if (fits(i, *at)) found = at;
    }
    close_before(i, found);
    if (found == open_.end()) {
      if (open_.size() == most_open) close(open_.begin());
      found = open_.insert(open_.end(), Open{.sizes = sizes(cells(i).out[0])});
    }
    join(i, *found);
  }

  // Whether a reduction touches more of a group than what it reduces.
  bool follows_beyond(uint32_t i, const Open& group) const {
    const int out = cells(i).out[0];
    return uses_fold(i, group) || touches(group.writes, out) || touches(group.reads, out) ||
           differs(group.writes, cells(i).in[0]);
  }

  // Lets a reduction join the group that computes what it reduces. Returns false if there is none.
  bool add_fold(uint32_t i) {
    const int in = cells(i).in[0];
    for (auto at = open_.begin(); at != open_.end(); ++at) {
      if (!std::count(at->writes.begin(), at->writes.end(), in)) continue;
      if (!same(sizes(in), at->sizes) || at->folds.size() == cpu::max_fused_folds ||
          follows_beyond(i, *at))
        break;
      close_before(i, at);
      at->folds.push_back(i);
      at->folded.push_back(in);
      at->fold_outs.push_back(cells(i).out[0]);
      return true;
    }
    return false;
  }

  void join(uint32_t i, Open& group) {
    group.entries.push_back(i);
    for (int cell : cells(i).in) {
      const bool known = std::count(group.reads.begin(), group.reads.end(), cell) ||
                         std::count(group.writes.begin(), group.writes.end(), cell);
      if (!known) group.reads.push_back(cell);
    }
    group.writes.push_back(cells(i).out[0]);
    for (const Arg& arg : sequence_.entries[i].args) group.numbers += !arg.is_tensor();
  }

  void close(Place at) {
    emit(at->entries, at->folds);
    open_.erase(at);
  }

  // --- A closed group becomes steps over registers.

  using Members = std::vector<uint32_t>;

  static bool contains(const Members& members, int entry) {
    return std::binary_search(members.begin(), members.end(), static_cast<uint32_t>(entry));
  }

  bool is_wanted_after(int cell, uint32_t writer, const Members& members,
                       const Members& folds) const {
    if (sequence_.memories[storage(cell)].wanted) return true;
    const std::vector<int>& readers = readers_[storage(cell)];
    return std::any_of(readers.begin(), readers.end(), [&](int reader) {
      return reader > static_cast<int>(writer) && !contains(members, reader) &&
             !contains(folds, reader);
    });
  }

  // Marks which members compute something that is needed, and which of these are to be stored.
  void find_needed(const Members& members, const Members& folds, std::vector<bool>& needed,
                   std::vector<bool>& stored) const {
    const size_t n = members.size();
    needed.assign(n, false);
    stored.assign(n, false);
    std::vector<int> used;  // cells that later members read, going backwards
    for (uint32_t fold : folds) used.push_back(cells(fold).in[0]);
    for (size_t k = n; k-- > 0;) {
      const int out = cells(members[k]).out[0];
      bool overwritten = false;
      for (size_t later = k + 1; later < n; ++later) {
        overwritten |= cells(members[later]).out[0] == out;
      }
      stored[k] = !overwritten && is_wanted_after(out, members[k], members, folds);
      needed[k] = stored[k] || std::count(used.begin(), used.end(), out) > 0;
      if (!needed[k]) continue;
      std::erase(used, out);
      for (int cell : cells(members[k]).in) used.push_back(cell);
    }
  }

  void emit(const Members& members, const Members& folds) {
    std::vector<bool> needed, stored;
    find_needed(members, folds, needed, stored);
    Members kept;
    std::vector<bool> kept_stored;
    for (size_t k = 0; k < members.size(); ++k) {
      (needed[k] ? kept : plan_.dropped).push_back(members[k]);
      if (needed[k]) kept_stored.push_back(stored[k]);
    }
    if (kept.empty()) return;
    if (kept.size() == 1 && folds.empty()) {
      plan_.stages.push_back({.entry = kept[0]});
      return;
    }
    Stage stage{.fused = true, .trials = std::make_shared<Trials>(Trials::Rules{})};
    if (Builder(sequence_, kept, kept_stored, folds, stage.group).run()) {
      plan_.stages.push_back(std::move(stage));
    } else {
      emit_halves(kept, folds);
    }
  }

  // For what is too much for the registers. A reduction goes with what it reduces.
  void emit_halves(const Members& members, const Members& folds) {
    const auto middle = members.begin() + static_cast<std::ptrdiff_t>(members.size() / 2);
    Members first_folds, second_folds;
    for (uint32_t fold : folds) {
      const bool second = std::any_of(middle, members.end(), [&](uint32_t member) {
        return cells(member).out[0] == cells(fold).in[0];
      });
      (second ? second_folds : first_folds).push_back(fold);
    }
    emit({members.begin(), middle}, first_folds);
    emit({middle, members.end()}, second_folds);
  }

  class Builder {
   public:
    Builder(const Sequence& sequence, const Members& members, const std::vector<bool>& stored,
            const Members& folds, Group& group)
        : sequence_(sequence), members_(members), stored_(stored), folds_(folds), group_(group) {}

    bool run() {
      for (size_t k = 0; k < members_.size(); ++k) {
        if (stored_[k]) add_operand(k, 0, true);  // what is written comes first
      }
      find_last_uses();
      for (size_t k = 0; k < members_.size(); ++k) {
        if (!add_step(k)) return false;
      }
      for (uint32_t fold : folds_) {
        group_.folds.push_back({fold, writer(sequence_.entry(fold).in[0], members_.size())});
      }
      return group_.operands.size() <= cpu::max_fused_operands &&
             group_.numbers.size() <= cpu::max_fused_numbers;
    }

   private:
    int cell_in(size_t k, size_t i) const { return sequence_.entry(members_[k]).in[i]; }
    int cell_out(size_t k) const { return sequence_.entry(members_[k]).out[0]; }

    int add_operand(size_t k, size_t index, bool is_out) {
      const int cell = is_out ? cell_out(k) : cell_in(k, index);
      for (size_t i = 0; i < operand_cells_.size(); ++i) {
        if (operand_cells_[i] == cell) return static_cast<int>(i);
      }
      operand_cells_.push_back(cell);
      group_.operands.push_back({members_[k], static_cast<uint16_t>(index), is_out});
      return static_cast<int>(operand_cells_.size()) - 1;
    }

    // The member before k that computes a cell, or -1 if it comes from memory.
    int writer(int cell, size_t k) const {
      for (size_t before = k; before-- > 0;) {
        if (cell_out(before) == cell) return static_cast<int>(before);
      }
      return -1;
    }

    void find_last_uses() {
      last_use_.assign(members_.size(), -1);
      for (size_t k = 0; k < members_.size(); ++k) {
        for (size_t i = 0; i < sequence_.entry(members_[k]).in.size(); ++i) {
          const int from = writer(cell_in(k, i), k);
          if (from >= 0) last_use_[from] = static_cast<int>(k);
        }
      }
    }

    bool add_step(size_t k) {
      const Entry& entry = sequence_.entries[members_[k]];
      GroupStep step{.entry = members_[k], .in = {}, .tile = 0, .store = -1};
      size_t tensor = 0;
      for (size_t i = 0; i < entry.args.size(); ++i) {
        step.in[i] = entry.args[i].is_tensor() ? source(k, tensor++) : number(k, i);
      }
      // A kernel may write over an input that nobody reads later, if the elements are as large.
      release_tiles(k, true);
      const int free = __builtin_ctz(~busy_);
      release_tiles(k, false);
      if (free >= cpu::max_fused_registers) return false;
      tiles_.push_back(free);
      if (last_use_[k] >= 0) busy_ |= 1u << free;
      step.tile = static_cast<uint8_t>(free);
      if (stored_[k]) step.store = static_cast<int8_t>(add_operand(k, 0, true));
      group_.steps.push_back(step);
      return true;
    }

    void release_tiles(size_t k, bool only_as_large) {
      for (size_t before = 0; before < k; ++before) {
        if (last_use_[before] != static_cast<int>(k)) continue;
        if (!only_as_large || item_of(before) == item_of(k)) busy_ &= ~(1u << tiles_[before]);
      }
    }
    size_t item_of(size_t k) const {
      return item_size(sequence_.entries[members_[k]].outs[0].dtype());
    }

    cpu::FusedSource source(size_t k, size_t tensor) {
      const int from = writer(cell_in(k, tensor), k);
      if (from >= 0) return {cpu::FusedSource::tile, static_cast<uint8_t>(tiles_[from])};
      return {cpu::FusedSource::memory, static_cast<uint8_t>(add_operand(k, tensor, false))};
    }

    cpu::FusedSource number(size_t k, size_t arg) {
      group_.numbers.push_back({members_[k], static_cast<uint16_t>(arg)});
      return {cpu::FusedSource::number, static_cast<uint8_t>(group_.numbers.size() - 1)};
    }

    const Sequence& sequence_;
    const Members& members_;
    const std::vector<bool>& stored_;
    const Members& folds_;
    Group& group_;
    std::vector<int> operand_cells_, tiles_, last_use_;
    uint32_t busy_ = 0;
  };

  const Sequence& sequence_;
  Plan& plan_;
  std::list<Open> open_;
  std::vector<std::vector<int>> readers_;  // of each storage: entries, in order
};

// Whether the kernels of every group work on one shape here too.
bool holds(const Plan& plan, std::span<const Entry> entries) {
  return std::all_of(plan.stages.begin(), plan.stages.end(), [&](const Stage& stage) {
    const std::vector<GroupStep>& steps = stage.group.steps;
    return std::all_of(steps.begin(), steps.end(), [&](const GroupStep& step) {
      return same(entries[step.entry].outs[0].sizes(), entries[steps[0].entry].outs[0].sizes());
    });
  });
}

// Plans by key, the most recently used ones.
class Cache {
 public:
  std::shared_ptr<const Plan> find(const std::u32string& key, std::span<const Entry> entries) {
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return nullptr;
    recent_.splice(recent_.begin(), recent_, found->second);
    for (const auto& plan : found->second->plans) {
      if (holds(*plan, entries)) return plan;
    }
    return nullptr;
  }
  void add(const std::u32string& key, std::shared_ptr<const Plan> plan) {
    const auto found = by_key_.find(key);
    if (found != by_key_.end()) {
      std::vector<std::shared_ptr<const Plan>>& plans = found->second->plans;
      if (plans.size() == most_of_one_key) plans.erase(plans.begin());
      plans.push_back(std::move(plan));
      return;
    }
    recent_.push_front({key, {std::move(plan)}});
    by_key_[recent_.front().key] = recent_.begin();
    if (recent_.size() <= most_keys) return;
    by_key_.erase(recent_.back().key);
    recent_.pop_back();
  }

 private:
  static constexpr size_t most_keys = 512, most_of_one_key = 8;
  struct Known {
    std::u32string key;
    std::vector<std::shared_ptr<const Plan>> plans;  // each for other coincidences of shapes
  };
  std::list<Known> recent_;
  std::unordered_map<std::u32string_view, std::list<Known>::iterator> by_key_;
};

// What was planned before, more and more closely: it tells why a sequence needs a plan of its own.
class Seen {
 public:
  const char* news_of(const Sequence& sequence) {
    uint64_t calls = 1, dtypes = 2, operands = 3, all = 4;
    for (const Entry& entry : sequence.entries) {
      calls = mixed(calls, static_cast<uint64_t>(entry.op->id));
      dtypes = mixed(dtypes, static_cast<uint64_t>(entry.compute));
      for (const Arg& arg : entry.args) operands = mixed(operands, arg.is_tensor() ? 2 : 1);
      for (const Tensor& t : entry.tensors)
        operands = mixed(operands, t.defined() && same(t.sizes(), entry.outs[0].sizes()));
    }
    for (const Cell& cell : sequence.cells)
      dtypes = mixed(dtypes, static_cast<uint64_t>(cell.tensor->dtype()));
    for (const char32_t part : sequence.key) all = mixed(all, part);
    dtypes = mixed(dtypes, calls);
    operands = mixed(operands, dtypes);
    const char* why = "some of these shapes were alike before, and others are now";
    if (seen_.size() > most) seen_.clear();
    if (seen_.insert(all).second) why = "other results are wanted afterwards, or share memory";
    if (seen_.insert(operands).second) why = "other operands are numbers, or spread to the result";
    if (seen_.insert(dtypes).second) why = "these calls were made with other dtypes so far";
    if (seen_.insert(calls).second) why = "these calls were not made in this order before";
    return why;
  }

 private:
  static constexpr size_t most = 1 << 14;
  std::unordered_set<uint64_t> seen_;
};

}  // namespace

struct Plans::Impl {
  Sequence whole, piece;
  Cutter cutter;
  Cache cache;
  Seen seen;
  Schedule schedule;

  const std::vector<Cut>& cut(std::vector<Entry>& entries) {
    whole.read(entries);
    const std::vector<Cut>& cuts = cutter.cut(whole);
    if (cutter.order().empty()) return cuts;
    std::vector<Entry> ordered;
    ordered.reserve(entries.size());
    for (const uint32_t i : cutter.order()) ordered.push_back(entries[i]);
    entries.swap(ordered);
    whole.read(entries);
    return cutter.cut(whole);
  }

  void add_piece(size_t begin, size_t end) {
    piece.take(whole, begin, end);
    Piece& added = schedule.pieces.emplace_back(Piece{static_cast<uint32_t>(begin),
                                                      static_cast<uint32_t>(end - begin),
                                                      cache.find(piece.key, piece.entries)});
    if (added.plan) return;
    auto made = std::make_shared<Plan>();
    Planner(piece, *made).run();
    cache.add(piece.key, made);
    ++schedule.new_plans;
    added.plan = std::move(made);
    added.why_new = seen.news_of(piece);
  }

  void add_alone(size_t i) {
    if (whole.needed[i]) schedule.pieces.push_back({static_cast<uint32_t>(i), 1, nullptr});
  }

  void find_finished() {
    schedule.finished.assign(whole.size(), 0);
    std::vector<bool> seen(whole.memories.size(), false);
    for (size_t i = whole.size(); i-- > 0;) {
      const std::span<const int> outs = whole.entry(i).out;
      for (size_t k = outs.size(); k-- > 0;) {
        const int memory = whole.cells[outs[k]].storage;
        if (seen[memory]) continue;
        seen[memory] = true;
        schedule.finished[i] |= static_cast<uint8_t>(1u << k);
      }
    }
  }
};

const Plan& plan_of(const Piece& piece) {
  static const Plan alone{.stages = {Stage{.entry = 0}}, .dropped = {}};
  return piece.plan ? *piece.plan : alone;
}

Plans::Plans() : impl_(std::make_unique<Impl>()) {}
Plans::~Plans() = default;

const Schedule& Plans::schedule_for(std::vector<Entry>& entries) {
  Schedule& schedule = impl_->schedule;
  Sequence& whole = impl_->whole;
  schedule.pieces.clear();
  schedule.dropped.clear();
  schedule.new_plans = 0;
  const std::vector<Cut>& cuts = impl_->cut(entries);
  for (size_t i = 0; i < whole.size(); ++i) {
    if (!whole.needed[i]) schedule.dropped.push_back(static_cast<uint32_t>(i));
  }
  impl_->find_finished();
  for (const Cut& cut : cuts) {
    if (cut.joins) {
      impl_->add_piece(cut.begin, cut.end);
    } else {
      for (size_t i = cut.begin; i < cut.end; ++i) impl_->add_alone(i);
    }
  }
  return schedule;
}

}  // namespace wisp::lazy
