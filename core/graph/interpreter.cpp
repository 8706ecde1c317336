#include "graph/interpreter.h"

#include "base/parallel.h"
#include "dispatch/direct.h"
#include "graph/contexts.h"
#include "graph/error.h"
#include "graph/frame.h"

namespace wisp::graph {

GraphHost graph_host;
constinit WISP_THREAD_LOCAL Execution execution;

namespace {

// Calls of script functions inside one another; each takes some of the thread's stack.
constexpr int max_depth = 1000;

class Depth {
 public:
  Depth() {
    if (WISP_UNLIKELY(++execution.depth > max_depth)) {
      --execution.depth;
      raise("RecursionError", "maximum recursion depth exceeded: script functions called one ",
            "another ", max_depth, " times");
    }
  }
  ~Depth() { --execution.depth; }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;
};

}  // namespace

void Frame::simple(const Instruction& in) {
  switch (in.step) {
    case Step::move:
      return move(in);
    case Step::drop:
      for (size_t i = 0; i < in.input_count; ++i) registers_[inputs(in)[i].at] = Datum();
      return;
    case Step::make_list:
      return put(in, 0, Datum::list(take_all(in)));
    case Step::make_tuple:
      return put(in, 0, Datum::tuple(take_all(in)));
    case Step::make_dict:
      return make_dict(in);
    case Step::unpack:
      return unpack(in);
    case Step::item: {
      const Datum from = take(inputs(in)[0]);
      WISP_CHECK_INDEX(in.target < from.items().size(), "tuple index out of range");
      return put(in, 0, from.items()[in.target]);
    }
    case Step::get:
      return get(in);
    case Step::set:
      return set(in);
    case Step::host_call:
      return host_call(in);
    case Step::call_named:
      return call_named(in);
    case Step::fork:
      return fork(in);
    case Step::wait:
      return put(in, 0, take(inputs(in)[0]).future().wait());
    case Step::create:
      return put(in, 0,
                 Datum(Ref<ObjectData>::adopt(
                     new ObjectData(Ref<Program>::share(code_.program), *in.cls))));
    case Step::cast:
      return put(in, 0, take(inputs(in)[0]));
    case Step::collect:
      if (in_parallel_region() || forks_are_under_way()) return;  // of other threads too
      collecting_ = fuses_ && !mode.deferrer && fusing;
      if (collecting_) mode.deferrer = fusing;
      return;
    case Step::run_collected:
      if (in_parallel_region() || !std::exchange(collecting_, false)) return;
      mode.deferrer = nullptr;
      if (Storage::any_deferred()) Storage::run_deferred();
      return;
    case Step::raise:
      raise_exception(in);
    case Step::print:
      return print(in);
    default:
      return;
  }
}

const Instruction* Frame::control(const Instruction& in) {
  const Instruction* target = code_.instructions.data() + in.target;
  switch (in.step) {
    case Step::jump:
      return target;
    case Step::jump_unless: {
      const bool truth = take(inputs(in)[0]).boolean();
      return truth ? &in + 1 : target;
    }
    case Step::once: {
      // Whoever watches calls sees each of them.
      const Datum& made = registers_[code_.outputs[in.outputs]];
      const bool stays = optimized_ && made.is_tensor() && !mode.interceptor &&
                         !(mode.grad && made.tensor().requires_grad());
      return stays ? target : &in + 1;
    }
    case Step::loop_start:
      put(in, 0, Datum(0));
      return &in + 1;
    case Step::loop_test: {
      const Input* test = inputs(in);
      const int64_t count = registers_[test[0].at].integer();
      if (count >= registers_[test[1].at].integer() || !registers_[test[2].at].boolean())
        return target;
      put(in, 0, Datum(count));
      return &in + 1;
    }
    default: {  // loop_next
      Datum& counter = registers_[code_.outputs[in.outputs]];
      const int64_t count = counter.integer() + 1;
      counter = Datum(count);
      if (WISP_UNLIKELY(count % rounds_between_looks == 0)) look_around();
      return target;
    }
  }
}

// Adds the place in the script to the exception in flight. The host's own exceptions know theirs.
void Frame::rethrow_at(const Instruction& in) {
  const Span& span = code_.spans[static_cast<size_t>(&in - code_.instructions.data())];
  if (!span.source) throw;
  const std::string place = place_text(span, code_.function_name);
  try {
    throw;
  } catch (ScriptError& error) {
    error.add_frame(place);
    throw;
  } catch (const Error& error) {
    ScriptError placed(error.kind(), error.what());
    placed.add_frame(place);
    throw placed;
  }
}

// --- Branches

// Whether the branches may run on other threads now; gives the shapes of what they read as a
// number.
bool Frame::may_run_beside(const Instruction& in, uint64_t& key) const {
  key = static_cast<uint64_t>(num_threads());
  if (!optimized_ || !graph::may_run_beside()) return false;
  for (size_t i = 0; i < in.input_count; ++i) {
    if (!is_unrecorded(peek(inputs(in)[i]), key)) return false;
  }
  return true;
}

// All branches, on several threads or one after the other, to the instruction behind them.
void Frame::run_branches(const Instruction*& in, bool beside) {
  const Instruction& start = *in;
  const std::vector<uint32_t>& begins = start.branches->begins;
  const auto count = static_cast<int64_t>(begins.size());
  std::vector<const Instruction*> at;
  for (const uint32_t begin : begins) at.push_back(code_.instructions.data() + begin);
  if (beside) {
    const auto failure =
        run_beside(count, [&](int64_t i) { run_branch(at[static_cast<size_t>(i)]); });
    if (failure) {
      in = at[static_cast<size_t>(failure->index)];
      std::rethrow_exception(failure->error);
    }
  } else {
    for (const Instruction* branch : at) {
      in = branch;
      run_branch(in);
    }
  }
  in = code_.instructions.data() + start.target;
}

__attribute__((noinline)) void Frame::run_branch(const Instruction*& in) { steps<true>(in); }

__attribute__((noinline)) void Frame::parallel(const Instruction*& in) {
  uint64_t key;
  if (!may_run_beside(*in, key)) {
    ++in;
    return;
  }
  Trials& trials = in->branches->trials;
  const Trials::Choice choice = trials.choose(key);
  if (choice.at < 0) return choice.other ? run_branches(in, true) : static_cast<void>(++in);
  const Stopwatch watch;
  run_branches(in, choice.other);
  trials.note(choice, watch.nanoseconds());
}

template <bool branch>
inline __attribute__((always_inline)) void Frame::steps(const Instruction*& in) {
  for (;;) {
    switch (in->step) {
      case Step::op:
        op(*in);
        ++in;
        break;
      case Step::op_in_place:
        op_in_place(*in);
        ++in;
        break;
      case Step::op_reuse:
        optimized_ ? op_reuse(*in) : op(*in);
        ++in;
        break;
      case Step::builtin:
        builtin(*in);
        ++in;
        break;
      case Step::plain_builtin:
        plain_builtin(*in);
        ++in;
        break;
      case Step::call:
        call(*in);
        ++in;
        break;
      case Step::tail:
        in = fuses_ ? tail(*in) : in + 1;
        break;
      case Step::chain:
        in = fuses_ ? chain(*in) : in + 1;
        break;
      case Step::slices:
        in = optimized_ ? slices(*in) : in + 1;
        break;
      case Step::rounds:
        in = fuses_ ? rounds(*in) : in + 1;
        break;
      case Step::jump:
      case Step::jump_unless:
      case Step::once:
      case Step::loop_start:
      case Step::loop_test:
      case Step::loop_next:
        in = control(*in);
        break;
      case Step::parallel:
        parallel(in);
        break;
      case Step::end_branch:
        if (branch) return;
        ++in;
        break;
      case Step::finish:
        return;
      default:
        simple(*in);
        ++in;
    }
  }
}

template <class F>
void Frame::run(F take_result) {
  const Depth counted;
  const Instruction* in = code_.instructions.data();
  try {
    steps<false>(in);
    if (WISP_UNLIKELY(forked_ != nullptr)) forked_->finish();
    for (size_t i = 0; i < in->input_count; ++i) take_result(i, take(inputs(*in)[i]));
  } catch (const Error&) {
    rethrow_at(*in);
  }
}

void Frame::call(const Instruction& in) {
  const std::shared_ptr<const Code> code = code_of(*in.function);
  Frame callee(code->impl());
  for (size_t i = 0; i < in.input_count; ++i) callee.param(i) = take(inputs(in)[i]);
  callee.run([&](size_t i, Datum value) {
    if (i < in.output_count) put(in, i, std::move(value));
  });
}

namespace {

Datum run_one_call(const Code::Impl& code, std::span<TensorImpl* const> arguments) {
  const Instruction& in = code.instructions[0];
  alignas(Arg) unsigned char memory[16 * sizeof(Arg)];
  Arg* const args = reinterpret_cast<Arg*>(memory);
  std::copy_n(code.args.data() + in.target, in.op->sig.params.size(), args);
  const Input* const inputs = code.inputs.data() + in.inputs;
  for (const Input* input = inputs; input != inputs + in.input_count; ++input)
    args[input->param] = Arg(arguments[static_cast<size_t>(input->at)]);
  if (TensorImpl* made = call_direct(*in.op, args)) return Datum(Tensor::adopt(made));
  if (WISP_UNLIKELY(Storage::any_meta())) check_one_device(*in.op, args);
  TensorList outs;
  if (in.op->has(trait::writes_inputs)) execution.wrote = true;
  wisp::call(*in.op, args, outs);
  return Datum(std::move(outs[0]));
}

}  // namespace

Datum run_plain(const Code& code, std::span<TensorImpl* const> arguments) {
  if (code.impl().one_call) return run_one_call(code.impl(), arguments);
  Frame frame(code.impl());
  for (size_t i = 0; i < arguments.size(); ++i) frame.param(i) = Datum(Tensor::share(arguments[i]));
  Datum result;
  frame.run([&](size_t, Datum value) { result = std::move(value); });
  return result;
}

std::vector<Datum> run(const Code& code, std::vector<Datum> arguments) {
  const Code::Impl& impl = code.impl();
  WISP_CHECK_TYPE(arguments.size() == static_cast<size_t>(impl.params), impl.function_name,
                  "(): expected ", impl.params, " arguments, got ", arguments.size());
  Frame frame(impl);
  for (size_t i = 0; i < arguments.size(); ++i) frame.param(i) = std::move(arguments[i]);
  std::vector<Datum> results;
  const bool grad = mode.grad;
  Contexts contexts;
  try {
    frame.run([&](size_t, Datum value) { results.push_back(std::move(value)); });
  } catch (...) {  // an error leaves the blocks of `with` before their end
    std::exception_ptr error = std::current_exception();
    try {
      contexts.leave_all();
    } catch (...) {
      error = std::current_exception();
    }
    mode.grad = grad;
    std::rethrow_exception(error);
  }
  return results;
}

}  // namespace wisp::graph
