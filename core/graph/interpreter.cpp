#include "graph/interpreter.h"

#include <chrono>
#include <cstdio>
#include <cstring>

#include "base/parallel.h"
#include "dispatch/direct.h"
#include "graph/code.h"
#include "graph/error.h"
#include "graph/inputs.h"
#include "graph/reuse.h"
#include "ops/conv.h"

namespace wisp::graph {

GraphHost graph_host;

namespace {

// Calls of script functions inside one another; each takes some of the thread's stack.
constexpr int max_depth = 1000;
constinit WISP_THREAD_LOCAL int depth = 0;

// How often a loop goes round before the host may see to its signals and other threads.
constexpr int64_t rounds_between_looks = 256;

class Depth {
 public:
  Depth() {
    if (WISP_UNLIKELY(++depth > max_depth)) {
      --depth;
      raise("RecursionError", "maximum recursion depth exceeded: script functions called one ",
            "another ", max_depth, " times");
    }
  }
  ~Depth() { --depth; }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;
};

// One call of a function: its registers and what runs on them.
class Frame {
 public:
  explicit Frame(const Code::Impl& code)
      : code_(code), registers_(new Datum[static_cast<size_t>(code.registers)]) {}

  ~Frame() {
    if (collecting_) mode.deferrer = nullptr;
    if (WISP_UNLIKELY(waiting_ != nullptr)) waiting_->futures.clear();
  }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  Datum& param(size_t i) { return registers_[i]; }
  // f(i, value) takes the results.
  template <class F>
  void run(F take);

 private:
  const Input* inputs(const Instruction& in) const { return code_.inputs.data() + in.inputs; }
  void put(const Instruction& in, size_t i, Datum value) {
    const int32_t at = code_.outputs[in.outputs + i];
    if (WISP_LIKELY(at >= 0)) registers_[at] = std::move(value);
  }
  const Datum& peek(const Input& input) const {
    const Datum& value = input.at >= 0 ? registers_[input.at] : code_.constants[~input.at];
    if (WISP_UNLIKELY(!(input.tags >> static_cast<int>(value.tag()) & 1))) fail_unset();
    return value;
  }
  Datum take(const Input& input) {
    if (input.at < 0) {
      const Datum& constant = code_.constants[~input.at];
      return constant.tag() < Tag::list ? constant : deep_copy(constant);
    }
    Datum& value = registers_[input.at];
    if (WISP_UNLIKELY(!(input.tags >> static_cast<int>(value.tag()) & 1))) fail_unset();
    return input.last ? std::move(value) : value;
  }
  std::vector<Datum> take_all(const Instruction& in) {
    std::vector<Datum> items;
    items.reserve(in.input_count);
    for (size_t i = 0; i < in.input_count; ++i) items.push_back(take(inputs(in)[i]));
    return items;
  }
  // Programs that the front end makes never get here; files may hold others.
  [[noreturn]] WISP_COLD void fail_unset() const {
    fail(ErrorKind::runtime, "a value is used that was not set");
  }

  const Input* set_list(const Input* input, const Param& param, Scratch& scratch, Arg& arg) const;
  void set_args(const Instruction& in, Arg* args, Scratch& scratch) const {
    set_args(*in.op, in.target, inputs(in), inputs(in) + in.input_count, args, scratch);
  }
  void set_args(const OpDef& op, uint32_t constants, const Input* input, const Input* end,
                Arg* args, Scratch& scratch) const;
  void drop_last(const Instruction& in);
  void op(const Instruction& in);
  void op_in_place(const Instruction& in);
  void op_reuse(const Instruction& in);
  void put_op_results(const Instruction& in, TensorList& outs);
  void builtin(const Instruction& in);
  void plain_builtin(const Instruction& in);
  void move(const Instruction& in);
  void unpack(const Instruction& in);
  void make_dict(const Instruction& in);
  void call(const Instruction& in);
  void get(const Instruction& in);
  void set(const Instruction& in);
  void host_call(const Instruction& in);
  void fork(const Instruction& in);
  void print(const Instruction& in);
  [[noreturn]] void raise_exception(const Instruction& in);
  void simple(const Instruction& in);
  const Instruction* chain(const Instruction& in);
  const Instruction* tail(const Instruction& in);
  bool may_run_beside(const Instruction& in, uint64_t& key) const;
  void parallel(const Instruction*& in);
  void run_branches(const Instruction*& in, bool beside);
  void run_branch(const Instruction*& in);
  // Next instruction of a jump, or of going straight on.
  const Instruction* control(const Instruction& in);
  // Goes on to the end of the code, or of a branch; `in` is where it has come to, also on errors.
  template <bool branch>
  void steps(const Instruction*& in);
  [[noreturn]] void rethrow_at(const Instruction& in);

  const Code::Impl& code_;
  std::unique_ptr<Datum[]> registers_;
  bool collecting_ = false;           // a group whose kernels are put off until its end
  std::shared_ptr<Waiting> waiting_;  // forks; null before the first
};

const Input* Frame::set_list(const Input* input, const Param& param, Scratch& scratch,
                             Arg& arg) const {
  constexpr int32_t few = 16;
  const Datum* items[few];
  std::vector<const Datum*> many;
  const int32_t n = input->items;
  if (n > few) many.resize(static_cast<size_t>(n));
  const Datum** at = n > few ? many.data() : items;
  for (int32_t i = 0; i < n; ++i) at[i] = &peek(*++input);
  set_list_arg({at, static_cast<size_t>(n)}, param, scratch, arg);
  return input;
}

void Frame::set_args(const OpDef& op, uint32_t constants, const Input* input,
                     const Input* const end, Arg* args, Scratch& scratch) const {
  std::copy_n(code_.args.data() + constants, op.sig.params.size(), args);
  for (; input != end; ++input) {
    Arg& arg = args[input->param];
    if (WISP_UNLIKELY(input->items >= 0)) {
      input = set_list(input, op.sig.params[input->param], scratch, arg);
      continue;
    }
    const Datum& value = registers_[input->at];
    if (WISP_LIKELY(value.is_tensor() && input->tensor)) {
      arg.kind = ArgKind::tensor;
      arg.as.tensor = value.tensor().impl();
    } else {
      set_arg(value, op.sig.params[input->param], scratch, arg);
    }
  }
}

void Frame::drop_last(const Instruction& in) {
  const Input* input = inputs(in);
  for (const Input* const end = input + in.input_count; input != end; ++input) {
    if (input->last) registers_[input->at] = Datum();
  }
}

__attribute__((noinline)) void Frame::op(const Instruction& in) {
  const OpDef& op = *in.op;
  alignas(Arg) unsigned char memory[16 * sizeof(Arg)];
  Arg* args = reinterpret_cast<Arg*>(memory);
  Scratch scratch;
  set_args(in, args, scratch);
  if (TensorImpl* made = call_direct(op, args)) {
    drop_last(in);
    return put(in, 0, Datum(Tensor::adopt(made)));
  }
  if (WISP_UNLIKELY(Storage::any_meta())) check_one_device(op, args);
  TensorList outs;
  wisp::call(op, args, outs);
  drop_last(in);
  put_op_results(in, outs);
}

__attribute__((noinline)) void Frame::op_in_place(const Instruction& in) {
  alignas(Arg) unsigned char memory[16 * sizeof(Arg)];
  Arg* args = reinterpret_cast<Arg*>(memory);
  Scratch scratch;
  set_args(in, args, scratch);
  if (WISP_UNLIKELY(Storage::any_meta())) check_one_device(*in.op, args);
  call_in_place(*in.op, args);
  Tensor self = args[0].tensor();
  drop_last(in);
  put(in, 0, Datum(std::move(self)));
}

void Frame::op_reuse(const Instruction& in) {
  const Datum& self = registers_[inputs(in)->at];
  if (WISP_UNLIKELY(self.is_tensor() && is_reusable(self.tensor()))) {
    alignas(Arg) unsigned char memory[16 * sizeof(Arg)];
    Arg* args = reinterpret_cast<Arg*>(memory);
    Scratch scratch;
    set_args(in, args, scratch);
    if (result_fits(*in.op, args)) return op_in_place(in);
  }
  op(in);
}

void Frame::put_op_results(const Instruction& in, TensorList& outs) {
  const auto& returns = in.op->sig.returns;
  if (WISP_LIKELY(in.output_count == 1)) {
    if (WISP_LIKELY(returns[0].is_tensor && !returns[0].is_list)) {
      return put(in, 0, Datum(std::move(outs[0])));
    }
    if (returns[0].is_list) {
      std::vector<Datum> items;
      items.reserve(outs.size());
      for (Tensor& out : outs) items.emplace_back(std::move(out));
      return put(in, 0, Datum::list(std::move(items)));
    }
    const Scalar value = outs[0].item();
    if (returns[0].type == "bool") return put(in, 0, Datum(value.truth()));
    return put(in, 0, returns[0].type == "int" ? Datum(value.integer()) : Datum(value.real()));
  }
  WISP_CHECK_VALUE(!in.op->sig.returns_list() || outs.size() == in.output_count, "expected ",
                   in.output_count, " values to unpack, got ", outs.size());
  for (size_t i = 0; i < in.output_count; ++i) {
    put(in, i, i < outs.size() ? Datum(std::move(outs[i])) : Datum());
  }
}

__attribute__((noinline)) void Frame::builtin(const Instruction& in) {
  Inputs args(in.input_count);
  for (size_t i = 0; i < in.input_count; ++i) args.add(take(inputs(in)[i]));
  Datum result = in.builtin->run(args.all());
  if (in.output_count) put(in, 0, std::move(result));
}

// Copies are made and forgotten without counting.
void Frame::plain_builtin(const Instruction& in) {
  alignas(Datum) unsigned char memory[few_inputs * sizeof(Datum)];
  Datum* args = reinterpret_cast<Datum*>(memory);
  for (size_t i = 0; i < in.input_count; ++i) {
    std::memcpy(memory + i * sizeof(Datum), &peek(inputs(in)[i]), sizeof(Datum));
  }
  Datum result = in.builtin->run({args, in.input_count});
  if (in.output_count) put(in, 0, std::move(result));
}

void Frame::move(const Instruction& in) {
  if (WISP_LIKELY(in.target == 0)) {
    for (size_t i = 0; i < in.input_count; ++i) put(in, i, take(inputs(in)[i]));
    return;
  }
  Inputs values(in.input_count);
  for (size_t i = 0; i < in.input_count; ++i) values.add(take(inputs(in)[i]));
  for (size_t i = 0; i < in.input_count; ++i) put(in, i, std::move(values.all()[i]));
}

void Frame::unpack(const Instruction& in) {
  const Datum from = take(inputs(in)[0]);
  WISP_CHECK_VALUE(from.items().size() == in.output_count, "expected ", in.output_count,
                   " values to unpack, got ", from.items().size());
  for (size_t i = 0; i < in.output_count; ++i) put(in, i, from.items()[i]);
}

void Frame::make_dict(const Instruction& in) {
  Datum made = Datum::dict();
  for (size_t i = 0; i + 1 < in.input_count; i += 2) {
    Datum key = take(inputs(in)[i]);
    made.dict_data().set(std::move(key), take(inputs(in)[i + 1]));
  }
  put(in, 0, std::move(made));
}

void Frame::call(const Instruction& in) {
  const std::shared_ptr<const Code> code = code_of(*in.function);
  Frame callee(code->impl());
  for (size_t i = 0; i < in.input_count; ++i) callee.param(i) = take(inputs(in)[i]);
  callee.run([&](size_t i, Datum value) {
    if (i < in.output_count) put(in, i, std::move(value));
  });
}

void Frame::get(const Instruction& in) {
  const ObjectData& object = peek(inputs(in)[0]).object();
  WISP_CHECK(in.target < object.slots.size(), "the object lacks an attribute of its class");
  Datum value = object.slots[in.target];
  if (inputs(in)[0].last) registers_[inputs(in)[0].at] = Datum();
  put(in, 0, std::move(value));
}

void Frame::set(const Instruction& in) {
  const Datum object = take(inputs(in)[0]);
  std::vector<Datum>& slots = object.object().slots;
  if (in.target >= slots.size()) slots.resize(in.target + 1);
  slots[in.target] = take(inputs(in)[1]);
}

void Frame::host_call(const Instruction& in) {
  const HostFunction& function = *in.host_function;
  WISP_CHECK(graph_host.call, "'", function.name, "' is a function of the host language, which ",
             "this program runs without");
  Datum result = graph_host.call(function, take_all(in));
  if (in.output_count) put(in, 0, std::move(result));
}

// Now, unless others may run beside it later.
void Frame::fork(const Instruction& in) {
  auto future = Ref<FutureData>::adopt(new FutureData(in.fork->code, take_all(in)));
  if (in.fork->may_wait && graph::may_run_beside() && future->is_unrecorded()) {
    if (!waiting_) waiting_ = std::make_shared<Waiting>();
    for (const Function* function : in.fork->calls) prepare(*function);
    future->put_off(waiting_);
  } else {
    future->run();
  }
  put(in, 0, Datum(std::move(future)));
}

void Frame::print(const Instruction& in) {
  std::string line;
  for (size_t i = 0; i < in.input_count; ++i) {
    line += (i ? " " : "") + str_of(take(inputs(in)[i]));
  }
  line += "\n";
  if (graph_host.print) {
    graph_host.print(line);
  } else {
    std::fputs(line.c_str(), stdout);
  }
}

void Frame::raise_exception(const Instruction& in) {
  const Datum message = take(inputs(in)[0]);
  const Datum name = in.input_count > 1 ? take(inputs(in)[1]) : Datum("RuntimeError");
  throw ScriptError(ErrorKind::runtime, str_of(message), str_of(name));
}

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
      if (in_parallel_region()) return;  // of other threads too
      collecting_ = !mode.deferrer && fusing;
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

__attribute__((noinline)) const Instruction* Frame::chain(const Instruction& in) {
  TensorImpl* tensors[ops::Chain::max_inputs];
  for (size_t i = 0; i < in.input_count; ++i) {
    tensors[i] = peek(inputs(in)[i]).tensor().impl();
  }
  Tensor outs[ops::Chain::max_outputs];
  if (!in.chain->run({tensors, in.input_count}, outs)) return &in + 1;
  drop_last(in);
  for (size_t i = 0; i < in.output_count; ++i) put(in, i, Datum(std::move(outs[i])));
  return code_.instructions.data() + in.target;
}

__attribute__((noinline)) const Instruction* Frame::tail(const Instruction& in) {
  const TailedCall& call = *in.tailed;
  const Input* const end = inputs(in) + in.input_count - call.adds;
  alignas(Arg) unsigned char memory[16 * sizeof(Arg)];
  Arg* args = reinterpret_cast<Arg*>(memory);
  Scratch scratch;
  set_args(*call.op, call.args, inputs(in), end, args, scratch);
  Tensor made =
      ops::convolution_with_tail(args, call.adds ? peek(*end).tensor() : Tensor(), call.relu);
  if (!made.defined()) return &in + 1;
  drop_last(in);
  put(in, 0, Datum(std::move(made)));
  return code_.instructions.data() + in.target;
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
      const bool stays =
          made.is_tensor() && !mode.interceptor && !(mode.grad && made.tensor().requires_grad());
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
      if (WISP_UNLIKELY(count % rounds_between_looks == 0) && !in_parallel_region()) {
        if (host.check_interrupt) host.check_interrupt();
        HostUnlock others(true);
      }
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
  if (!graph::may_run_beside()) return false;
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
  if (choice.at < 0) return choice.beside ? run_branches(in, true) : static_cast<void>(++in);
  const auto start = std::chrono::steady_clock::now();
  run_branches(in, choice.beside);
  const auto taken = std::chrono::steady_clock::now() - start;
  trials.note(choice, std::chrono::nanoseconds(taken).count());
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
        op_reuse(*in);
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
        in = tail(*in);
        break;
      case Step::chain:
        in = chain(*in);
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
    for (size_t i = 0; i < in->input_count; ++i) take_result(i, take(inputs(*in)[i]));
  } catch (const Error&) {
    rethrow_at(*in);
  }
}

}  // namespace

std::vector<Datum> run(const Code& code, std::vector<Datum> arguments) {
  const Code::Impl& impl = code.impl();
  WISP_CHECK_TYPE(arguments.size() == static_cast<size_t>(impl.params), impl.function_name,
                  "(): expected ", impl.params, " arguments, got ", arguments.size());
  Frame frame(impl);
  for (size_t i = 0; i < arguments.size(); ++i) frame.param(i) = std::move(arguments[i]);
  std::vector<Datum> results;
  frame.run([&](size_t, Datum value) { results.push_back(std::move(value)); });
  return results;
}

}  // namespace wisp::graph
