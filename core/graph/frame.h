// One call of a function by the interpreter: its registers and what runs on them.
#pragma once

#include <cstring>
#include <memory>

#include "graph/code.h"
#include "graph/inputs.h"

namespace wisp::graph {

// How often a loop goes round before the host may see to its signals and other threads.
constexpr int64_t rounds_between_looks = 256;

class Frame {
 public:
  explicit Frame(const Code::Impl& code) : code_(code) {
    const auto count = static_cast<size_t>(code.registers);
    if (count > few_registers) many_.reset(new Slot[count]);
    registers_ = reinterpret_cast<Datum*>(many_ ? many_.get() : few_);
    for (size_t i = 0; i < count; ++i) new (registers_ + i) Datum;
  }

  ~Frame() {
    if (collecting_) mode.deferrer = nullptr;
    forked_.reset();
    for (int32_t i = 0; i < code_.registers; ++i) registers_[i].~Datum();
  }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  Datum& param(size_t i) { return registers_[i]; }
  // f(i, value) takes the results. Defined where all calls are, in interpreter.cpp.
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
  void call_named(const Instruction& in);
  void fork(const Instruction& in);
  void print(const Instruction& in);
  [[noreturn]] void raise_exception(const Instruction& in);
  void simple(const Instruction& in);
  const Instruction* chain(const Instruction& in);
  const Instruction* slices(const Instruction& in);
  const Instruction* rounds(const Instruction& in);
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

  static constexpr size_t few_registers = 16;
  struct alignas(Datum) Slot {
    unsigned char bytes[sizeof(Datum)];
  };

  const Code::Impl& code_;
  Slot few_[few_registers];
  std::unique_ptr<Slot[]> many_;
  Datum* registers_;
  const bool optimized_ = execution.optimized, fuses_ = optimized_ && execution.fuses;
  bool collecting_ = false;         // a group whose kernels are put off until its end
  std::unique_ptr<Forked> forked_;  // null before the first fork
};

inline void Frame::drop_last(const Instruction& in) {
  const Input* input = inputs(in);
  for (const Input* const end = input + in.input_count; input != end; ++input) {
    if (input->last) registers_[input->at] = Datum();
  }
}

// Copies are made and forgotten without counting.
inline void Frame::plain_builtin(const Instruction& in) {
  alignas(Datum) unsigned char memory[few_inputs * sizeof(Datum)];
  Datum* args = reinterpret_cast<Datum*>(memory);
  for (size_t i = 0; i < in.input_count; ++i) {
    std::memcpy(memory + i * sizeof(Datum), &peek(inputs(in)[i]), sizeof(Datum));
  }
  Datum result = in.builtin->run({args, in.input_count});
  if (in.output_count) put(in, 0, std::move(result));
}

inline void Frame::move(const Instruction& in) {
  if (WISP_LIKELY(in.target == 0)) {
    for (size_t i = 0; i < in.input_count; ++i) put(in, i, take(inputs(in)[i]));
    return;
  }
  Inputs values(in.input_count);
  for (size_t i = 0; i < in.input_count; ++i) values.add(take(inputs(in)[i]));
  for (size_t i = 0; i < in.input_count; ++i) put(in, i, std::move(values.all()[i]));
}

}  // namespace wisp::graph
