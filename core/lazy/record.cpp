// Collects kernels, and runs them when somebody asks for what they compute.
#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <utility>

#include "dispatch/deferred.h"
#include "lazy/lazy.h"
#include "lazy/plan.h"
#include "lazy/region.h"
#include "lazy/sites.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"

namespace wisp::lazy {

namespace {

// What is put off is bounded, so that memory which only waits to be read is not kept for long.
constexpr size_t most_entries = 4096;
constexpr int64_t most_promised = int64_t(1) << 29;
// The shortest ways of call() are for fewer elements than these.
constexpr int64_t few = 1 << 13;

// One for the process: any thread may ask for a result, and then has everything run.
struct State {
  std::mutex recording;  // guards the members below; held for moments
  std::unique_ptr<Batch> batch = std::make_unique<Batch>();
  Measured measured;  // the region that the batch is all of, until that has run
  Counts counts;
  bool reporting = false;
  std::vector<std::string> report;

  std::mutex running;  // held while a batch runs; guards the members below
  std::unique_ptr<Plans> plans = std::make_unique<Plans>();
  std::unique_ptr<Batch> spare = std::make_unique<Batch>();
  std::vector<bool> gained;
};
State& state() {
  static State& made = *new State;  // what is pending when the process ends is not wanted
  return made;
}
constinit Sites sites;  // told while a batch runs

class Capture;
constinit WISP_THREAD_LOCAL Capture* capture = nullptr;
constinit WISP_THREAD_LOCAL bool running = false;
constinit WISP_THREAD_LOCAL bool ending = false;  // of a function whose calls are run
constinit WISP_THREAD_LOCAL int64_t least_elements = worthwhile;
// Whether calls that gain nothing are to be found out: not where the program sets its own bound.
constinit WISP_THREAD_LOCAL bool learning = false;
constinit WISP_THREAD_LOCAL Collecting collecting;  // what was asked for
constinit WISP_THREAD_LOCAL Region region;
constinit WISP_THREAD_LOCAL uint64_t asked_site = 0;  // of the call that is about to be put off

// Kernels that run now run as they are: nothing is collected or intercepted of what they call.
class Quiet {
 public:
  Quiet()
      : deferrer_(std::exchange(mode.deferrer, nullptr)),
        interceptor_(std::exchange(mode.interceptor, nullptr)) {}
  ~Quiet() {
    mode.deferrer = deferrer_;
    mode.interceptor = interceptor_;
  }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

 private:
  Deferrer* deferrer_;
  Interceptor* interceptor_;
  GradMode no_grad_{false};
};

// Asks the kernel of a pointwise operator which tile kernel it would run on what, and that of a
// reduction what it would reduce.
class Capture : public ops::PointwiseSink, public ops::ReduceSink {
 public:
  explicit Capture(const Call& call) : call_(call) {
    op = reducing = &call.op();
    ops::pointwise_sink = this;
    ops::reduce_sink = this;
    capture = this;
    struct Done {
      ~Done() {
        ops::pointwise_sink = nullptr;
        ops::reduce_sink = nullptr;
        capture = nullptr;
      }
    } done;
    try {
      op->kernels[static_cast<int>(DeviceType::cpu)](call);
    } catch (const WantsMemory&) {
      // It has other ways, and is put off as it is.
    }
  }
  // Thrown at kernels that ask for memory which is pending, as their result is.
  struct WantsMemory {};

  void take(const Call&, cpu::Opcode code, std::span<const Arg* const> operands,
            const cpu::Params& given) override {
    for (size_t i = 0; i < operands.size(); ++i) args[i] = *operands[i];
    count = operands.size();
    // Kernels take a number last. Of a sum or product that makes no difference.
    const bool exchanges = code == cpu::Opcode::add || code == cpu::Opcode::mul;
    if (exchanges && !args[0].is_tensor()) std::swap(args[0], args[1]);
    opcode = code;
    params = given;
  }

  void take(cpu::Reduction given, uint64_t reduced, DType compute, bool has_second,
            const cpu::ReduceParams& how) override {
    const Tensor& self = call_.tensor(0);
    const bool all = reduced == (uint64_t(1) << self.ndim()) - 1 || call_.out().numel() == 1;
    folds = all && !has_second && self.dtype() == compute && self.numel() > 0 &&
            item_size(compute) <= sizeof(double) &&
            cpu::reduce_kernel(given, compute).result == call_.out().dtype();
    reduction = given;
    reduce_params = how;
  }

  Arg args[3];
  size_t count = 0;
  cpu::Opcode opcode = {};
  cpu::Params params = {};
  bool folds = false;
  cpu::Reduction reduction = {};
  cpu::ReduceParams reduce_params = {};

 private:
  const Call& call_;
};

// Marks results as pending, for good if the call is written down.
class Marked {
 public:
  Marked(const Call& call, int outs) : call_(call), outs_(outs) {
    for (int i = 0; i < outs; ++i) {
      Storage& storage = call.out(i)->storage();
      if (storage.is_pending()) continue;
      storage.data();  // in plain order
      storage.set_pending(true);
      existed_ |= 1u << i;
    }
  }
  ~Marked() {
    for (int i = 0; i < outs_; ++i) {
      if (existed_ >> i & 1u) call_.out(i)->storage().set_pending(false);
    }
  }
  Marked(const Marked&) = delete;
  Marked& operator=(const Marked&) = delete;
  bool all_new() const { return existed_ == 0; }
  void keep() { existed_ = 0; }

 private:
  const Call& call_;
  const int outs_;
  uint32_t existed_ = 0;
};

// What the thread does from now on.
void set_collecting(const Collecting& what);

bool can_wait(const Tensor& t) {
  const Storage& storage = t->storage();
  return t.device().type == DeviceType::cpu && storage.resizable() && storage.writable();
}

bool is_on_cpu(const Tensor& t) { return t.device().type == DeviceType::cpu; }

class Collector : public Deferrer {
 public:
  explicit Collector(Extent extent) : extent_(extent) {}
  bool takes_small() const override { return extent_ == Extent::all && least_elements < few; }

  bool takes(const Infer& infer, std::span<const Tensor> targets) override {
    if (!pays(infer, targets)) return false;
    const OpDef& op = infer.op();
    if (infer.count() == 0 || !op.kernels[static_cast<int>(DeviceType::cpu)]) return false;
    if (op.traits & (trait::random | trait::writes_inputs)) return false;
    for (int i = 0; i < infer.count(); ++i) {
      if (infer.out(i).device.type != DeviceType::cpu) return false;
    }
    return all_wait(infer, targets);
  }

  void take(const Call& call, int outs) override;

 private:
  static bool write_down(const Call& call, int outs, bool promised, const Capture* how);
  // Memory that others share may change without our knowing, so it is read at once; but not inside
  // a function whose end is waited for.
  bool all_wait(const Infer& infer, std::span<const Tensor> targets) const {
    for (const Tensor& target : targets) {
      if (!can_wait(target)) return false;
    }
    return for_all_tensors(infer, extent_ == Extent::all ? can_wait : is_on_cpu);
  }
  static bool any_pending(const Infer& infer) {
    return !for_all_tensors(infer, [](const Tensor& t) { return !t->storage().is_pending(); });
  }
  // Writing a call down takes as long as running a small one. It is done for those that would have
  // others run: they read what these compute, or write where these may read. Whether that was worth
  // it for calls like this one is learnt.
  bool pays(const Infer& infer, std::span<const Tensor> targets) const {
    int64_t elements = 0;
    for (int i = 0; i < infer.count(); ++i) {
      elements = std::max(elements, count_elements(infer.out(i).sizes));
    }
    const bool concerned = elements >= least_elements ||
                           (Storage::any_deferred() && (!targets.empty() || any_pending(infer)));
    if (!concerned || !learning) return concerned;
    const bool continues = continues_pending(infer);
    asked_site = Sites::here(infer.op());
    if (WISP_UNLIKELY(region.is_open() && !region.was_asked()) && !ask(elements)) return false;
    return continues || sites.puts_off(asked_site);
  }
  // What is pending already concerns more than this region.
  static bool ask(int64_t elements) {
    if (region.ask(asked_site, elements, Storage::any_deferred())) return true;
    set_collecting({});
    return false;
  }
  // Whether it would be joined with what is pending: run at once, it would take that apart,
  // whatever was learnt where the same operator does something else.
  static bool continues_pending(const Infer& infer) {
    const bool reduces = infer.op().has(trait::reduction);
    if (!Storage::any_deferred() || !(reduces || infer.op().has(trait::pointwise))) return false;
    const IntSpan sizes = infer.out(0).sizes;
    if (reduces && count_elements(sizes) != 1) return false;
    return !for_all_tensors(infer, [&](const Tensor& t) {
      return !t->storage().is_pending() || !(reduces || same(t.sizes(), sizes));
    });
  }
  template <class F>
  static bool for_all_tensors(const Infer& infer, F f) {
    for (size_t i = 0; i < infer.op().sig.params.size(); ++i) {
      const Arg& arg = infer[static_cast<int>(i)];
      if (arg.is_tensor() && !f(arg.tensor())) return false;
      if (arg.kind != ArgKind::tensors) continue;
      for (const Tensor& t : arg.tensors()) {
        if (t.defined() && !f(t)) return false;
      }
    }
    return true;
  }

  const Extent extent_;
};

void Collector::take(const Call& call, int outs) {
  const Quiet quiet;
  Marked marked(call, outs);
  std::optional<Capture> how;
  if ((call.op().traits & (trait::pointwise | trait::reduction)) && outs == 1) {
    how.emplace(call);
  }
  const bool full = write_down(call, outs, marked.all_new(), how ? &*how : nullptr);
  marked.keep();
  if (full) run();
}

// Returns whether it is time to run what was collected.
bool Collector::write_down(const Call& call, int outs, bool promised, const Capture* how) {
  State& s = state();
  const std::lock_guard lock(s.recording);
  Batch& batch = *s.batch;
  const bool pointwise = how && how->count > 0;
  Entry& entry =
      pointwise ? batch.add(call.op(), call.compute, {how->args, how->count})
                : batch.add(call.op(), call.compute, {call.raw(), call.op().sig.params.size()});
  if (how) {
    entry.folds = how->folds;
    entry.reduction = how->reduction;
    entry.reduce_params = how->reduce_params;
  }
  if (pointwise) {
    entry.pointwise = true;
    entry.opcode = how->opcode;
    entry.params = how->params;
  }
  batch.set_outs(entry, {&call.out(), static_cast<size_t>(outs)});
  if (host.here) entry.place = host.here();
  // A write of another kind, run at once, would have everything run that is pending.
  if (learning && (promised || pointwise)) entry.site = asked_site;
  entry.promised = promised;
  for (const Tensor& out : entry.outs) {
    batch.promised += static_cast<int64_t>(out->storage().bytes());
  }
  ++s.counts.kernels;
  s.measured = {};
  Storage::set_deferred(true);
  return batch.entries.size() >= most_entries || batch.promised >= most_promised;
}

// "mul, add (train.py:12 in step), exp (train.py:13 in step)"
class Listed {
 public:
  void add(const Entry& entry) {
    const std::string place =
        entry.place.code && host.describe ? host.describe(entry.place) : std::string();
    if (!text_.empty()) text_ += place == place_ ? ", " : shown_place() + ", ";
    text_ += entry.op->shown;
    place_ = place;
  }
  std::string text() const { return text_ + shown_place(); }

 private:
  std::string shown_place() const { return place_.empty() ? "" : str(" (", place_, ")"); }
  std::string text_, place_;
};

// One line per stage.
void tell_stages(State& s, std::span<const Entry> entries, const Plan& plan) {
  for (const Stage& stage : plan.stages) {
    Listed calls;
    if (!stage.fused) {
      calls.add(entries[stage.entry]);
    } else {
      for (const GroupStep& step : stage.group.steps) calls.add(entries[step.entry]);
      for (const GroupFold& fold : stage.group.folds) calls.add(entries[fold.entry]);
    }
    s.report.push_back(str(stage.fused ? "    as one: " : "    alone:  ", calls.text()));
  }
}

std::string here() {
  Place place = host.here ? host.here() : Place{};
  if (!place.code) return "";
  const std::string text = host.describe(place);
  host.drop(place);
  return text;
}

void tell(State& s, const Batch& batch, const Schedule& schedule) {
  const size_t kernels = batch.entries.size(), dropped = schedule.dropped.size();
  std::string line = str("  ", kernels, kernels == 1 ? " call" : " calls", ", run ");
  if (ending) {
    line += "when the function had returned";
  } else {
    line += str("because of what was done at ", here());
  }
  if (dropped > 0) line += str("; ", dropped, " not needed");
  s.report.push_back(line + ":");
  for (const Piece& piece : schedule.pieces) {
    if (piece.why_new) s.report.push_back(str("    new plan: ", piece.why_new));
    tell_stages(s, std::span(batch.entries).subspan(piece.first), plan_of(piece));
  }
}

void count(Counts& counts, const Batch& batch, const Schedule& schedule) {
  ++counts.runs;
  counts.plans += schedule.new_plans;
  size_t run = 0;
  for (const Piece& piece : schedule.pieces) {
    for (const Stage& stage : plan_of(piece).stages) {
      const size_t together = stage.group.steps.size() + stage.group.folds.size();
      counts.groups += stage.fused;
      counts.fused += static_cast<int64_t>(together);
      run += stage.fused ? together : 1;
    }
  }
  counts.dropped += static_cast<int64_t>(batch.entries.size() - run);
}

void run_batch(Batch& batch) {
  State& s = state();
  const Schedule& schedule = s.plans->schedule_for(batch.entries);
  {
    const std::lock_guard lock(s.recording);
    count(s.counts, batch, schedule);
    if (s.reporting) tell(s, batch, schedule);
  }
  const Quiet quiet;
  running = true;
  struct Done {
    ~Done() { running = false; }
  } done;
  s.gained.assign(batch.entries.size(), false);
  struct Learn {
    const Batch& batch;
    const Schedule& schedule;
    const std::vector<bool>& gained;
    ~Learn() { sites.learn(batch.entries, schedule.pieces, gained); }
  } learn{batch, schedule, s.gained};
  run(batch, schedule, s.gained);
}

// The process may be doing this on another thread, whose kernels may want the host's lock.
void lock_running(std::mutex& mutex) {
  if (mutex.try_lock()) return;
  const HostUnlock unlock(true);
  mutex.lock();
}

}  // namespace

void run() {
  if (capture) throw Capture::WantsMemory{};
  WISP_CHECK(!running, "a kernel that was put off wants the result of a later one");
  if (!Storage::any_deferred()) return;
  State& s = state();
  lock_running(s.running);
  const std::lock_guard done(s.running, std::adopt_lock);
  Measured measured;
  {
    const std::lock_guard lock(s.recording);
    std::swap(s.spare, s.batch);
    measured = std::exchange(s.measured, {});
  }
  struct Finish {
    State& s;
    ~Finish() {
      s.spare->clear();
      const std::lock_guard lock(s.recording);
      if (s.batch->entries.empty()) Storage::set_deferred(false);
    }
  } finish{s};
  const Stopwatch watch;
  if (!s.spare->entries.empty()) run_batch(*s.spare);
  measured.note(watch.nanoseconds());
}

void run_at_end() {
  ending = true;
  struct Done {
    ~Done() { ending = false; }
  } done;
  run();
}

namespace {

Collector large(Extent::large), all(Extent::all);

void set_collecting(const Collecting& what) {
  static constexpr Deferrer* deferrers[] = {nullptr, &large, &all, &all};
  mode.deferrer = deferrers[static_cast<int>(what.extent)];
  least_elements = what.least;
  learning = what.learns;
}

// What it has put off belongs to it.
void end_region() {
  if (!region.was_asked()) return region.leave();
  const Measured measured = region.end();
  if (!Storage::any_deferred()) return measured.note(0);
  State& s = state();
  const std::lock_guard lock(s.recording);
  s.measured = measured;
}

}  // namespace

Collecting collect(const Collecting& what) {
  const Collecting before = std::exchange(collecting, what);
  if (what.extent == Extent::none && region.is_open()) end_region();
  if (what.extent == Extent::endless) region = {};
  if (what.learns && before.extent == Extent::none) {
    sites.begin();
    if (what.extent == Extent::all) region.begin();
  }
  set_collecting(what.learns && region.runs_at_once() ? Collecting{} : what);
  return before;
}

constexpr int64_t extents = 4;

int64_t to_number(const Collecting& what) {
  return (what.least * 2 + what.learns) * extents + static_cast<int64_t>(what.extent);
}

Collecting from_number(int64_t number) {
  WISP_CHECK_TYPE(number >= 0, "no number of lazy::to_number");
  const int64_t rest = number / extents;
  return {static_cast<Extent>(number % extents), rest / 2, rest % 2 != 0};
}

Counts counts() {
  State& s = state();
  const std::lock_guard lock(s.recording);
  return s.counts;
}

void forget() {
  run();
  State& s = state();
  lock_running(s.running);
  const std::lock_guard done(s.running, std::adopt_lock);
  s.plans = std::make_unique<Plans>();
  sites.forget();
  forget_regions();
}

void report(bool on) {
  State& s = state();
  const std::lock_guard lock(s.recording);
  s.reporting = on;
}

std::vector<std::string> take_report() {
  State& s = state();
  const std::lock_guard lock(s.recording);
  return std::exchange(s.report, {});
}

namespace {

// The newest entries hold what is asked for most; the rest is not worth a search.
int64_t held(const Storage& storage) {
  constexpr size_t most_searched = 256;
  State& s = state();
  const std::lock_guard lock(s.recording);
  const auto& entries = s.batch->entries;
  int64_t count = 0;
  for (size_t i = entries.size(); i-- > 0 && entries.size() - i <= most_searched;) {
    count += held_by(entries[i], storage);
  }
  return count;
}

// In a process that was forked while another thread ran a batch: that thread does not exist here,
// and has left what it guarded as it may be.
void forget_running_thread() {
  State& s = state();
  s.recording.unlock();
  if (s.running.try_lock()) return s.running.unlock();
  new (&s.running) std::mutex;
  (void)s.plans.release();
  (void)s.spare.release();
  s.plans = std::make_unique<Plans>();
  s.spare = std::make_unique<Batch>();
}

}  // namespace

void install() {
  Storage::run_lazy = run;
  held_by_deferred = held;
  putting_off = &all;
  fusing = &large;
  pthread_atfork([] { state().recording.lock(); }, [] { state().recording.unlock(); },
                 forget_running_thread);
}

}  // namespace wisp::lazy
