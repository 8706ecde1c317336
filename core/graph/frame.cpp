// What the instructions of a Frame do but for jumps and calls.
#include "graph/frame.h"

#include <cstdio>

#include "dispatch/direct.h"
#include "graph/error.h"
#include "graph/reuse.h"
#include "ops/conv.h"

namespace wisp::graph {

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
  if (op.has(trait::writes_inputs)) execution.wrote = true;
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
  if (in.step == Step::op_in_place) execution.wrote = true;
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

// Nobody has checked what the method takes and returns.
void Frame::call_named(const Instruction& in) {
  const NamedCall& named = *in.named_call;
  std::vector<Datum> arguments = take_all(in);
  WISP_CHECK_TYPE(arguments[0].tag() == Tag::object, "an object is needed to call '", named.method,
                  "' of");
  const ClassDef& cls = *arguments[0].object().cls;
  const auto found = cls.methods.find(named.method);
  WISP_CHECK(found != cls.methods.end(), cls.name, " has no method '", named.method, "'");
  const Function& function = *found->second;
  const auto& params = function.params;
  WISP_CHECK_TYPE(arguments.size() <= params.size() + 1, declaration(function), " is called with ",
                  arguments.size() - 1, " arguments");
  for (size_t i = arguments.size() - 1; i < params.size(); ++i) {
    WISP_CHECK_TYPE(params[i].has_default, declaration(function), " needs the argument '",
                    params[i].name, "'");
    arguments.push_back(deep_copy(params[i].fallback));
  }
  for (size_t i = 0; i < params.size(); ++i) {
    WISP_CHECK_TYPE(is_of_type(arguments[i + 1], *params[i].type), declaration(function),
                    ": the argument '", params[i].name, "' is of another type");
  }
  Datum result = graph::call(function, std::move(arguments));
  WISP_CHECK_TYPE(is_of_type(result, *named.result), declaration(function),
                  " was expected to give ", to_string(*named.result));
  put(in, 0, std::move(result));
}

// On another thread, unless it would be seen that it is not made here and now.
void Frame::fork(const Instruction& in) {
  const ForkBody& body = *in.fork;
  auto future = Ref<FutureData>::adopt(new FutureData(body.code, take_all(in), body.waits));
  if (optimized_ && body.may_run_beside && may_fork() && future->is_unrecorded()) {
    if (!forked_) forked_ = std::make_unique<Forked>();
    for (const Function* function : body.calls) prepare(*function);
    future->begin(*forked_);
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
  std::string message = str_of(take(inputs(in)[0]));
  const Datum given = in.input_count > 1 ? take(inputs(in)[1]) : Datum("RuntimeError");
  const std::string name = str_of(given);
  if (name.find('.') != std::string::npos)
    message = name + ": " + message;  // a class of the program's own
  throw ScriptError(ErrorKind::runtime, message, name);
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
  ops::ConvTail given = call.tail;
  if (call.adds) given.other = peek(*end).tensor();
  Tensor made = ops::convolution_with_tail(args, given);
  if (!made.defined()) return &in + 1;
  drop_last(in);
  put(in, 0, Datum(std::move(made)));
  return code_.instructions.data() + in.target;
}

}  // namespace wisp::graph
