// A graph as a flat list of instructions over numbered registers: what interpreter.cpp runs.
#pragma once

#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "graph/beside.h"
#include "graph/builtins.h"
#include "graph/future.h"
#include "graph/interpreter.h"
#include "graph/op_args.h"
#include "graph/rounds.h"
#include "ops/chain.h"
#include "ops/conv.h"

namespace wisp::graph {

enum class Step : uint8_t {
  op,           // of the table
  op_in_place,  // in its form "name_"
  op_reuse,     // of the table; its first operand dies, and may be overwritten with the result
  builtin,
  plain_builtin,  // of values that own nothing, few of them
  move,           // inputs into outputs, all at once (`target` is 1), or one after the other
  drop,           // frees inputs that nobody will read
  jump,           // to `target`
  jump_unless,    // input 0
  once,           // jumps if the output holds a tensor that need not be computed again
  loop_start,     // outputs: counter
  loop_test,  // inputs: counter, limit, condition; outputs: the number of this round; else jumps
  loop_next,  // counts and jumps
  make_list,
  make_tuple,
  make_dict,
  unpack,         // a list or tuple into its items
  item,           // number `target` of a tuple
  get,            // attribute `target` of an object
  set,            // of input 0 to input 1
  call,           // a function of the program
  host_call,      // a function of the host
  create,         // an object
  cast,           // input 0, which has to be of the output's type
  collect,        // kernels are put off from here on ...
  run_collected,  // ... and run together here
  tail,           // a convolution with what follows it, if it can be done as one; else goes on
  chain,          // what is done up to `target`, if it can be done as one; else goes straight on
  rounds,      // of a loop, as many as can be done together, then jumps to its test; else goes on
  slices,      // a product with a slice of each round, if they can be made together; else goes on
  parallel,    // the branches up to `target`, beside each other if that is worth it
  end_branch,  // of one of them
  call_named,  // a method of an object whose class is known only now
  fork,        // a call that may run beside what follows
  wait,        // for the result of one
  raise,
  print,
  finish,  // inputs are the results
};

// One input of an instruction.
struct Input {
  int32_t at = 0;       // register, or ~index of a constant
  uint32_t tags = ~0u;  // bit per Tag that is allowed
  uint8_t param = 0;    // of an operator: which of its parameters
  bool tensor = false;  // which takes a tensor
  bool last = false;    // nobody reads the register after this
  int32_t items = -1;   // of an operator: a list of the inputs that follow, that many
};

// Instructions that need nothing of each other, up to an end_branch each.
struct Branches {
  std::vector<uint32_t> begins;
  mutable Trials trials{beside_rules};
};

// A convolution, whose inputs are all of the instruction's but the image that is added last.
struct TailedCall {
  const OpDef* op;
  uint32_t args;  // first of them in Code::Impl::args
  bool adds;
  ops::ConvTail tail;  // without the image
};

// Inputs: the tensor that is sliced, the right matrix, a bias; the slice, if it was made.
struct SliceProduct {
  int64_t dim;  // of the slices
  bool turned;  // the right matrix is transposed
  bool biased;
  int32_t counter, limit;  // registers: the number of this round, and of all
  int32_t made, first;     // registers: products of some rounds, and the first of those rounds
  bool in_rounds;          // the loop has a step for many rounds at once
};

// Rounds of a loop. Inputs: what the code for what stays is called with. Outputs: the parameters of
// the body, without the number of the round.
struct RoundsCall {
  std::unique_ptr<Graph> body;
  // As it was for what some rounds began with. They are only added.
  struct Version {
    RoundForms begins;
    LoopRounds loop;  // without rounds if there can be none
    std::unique_ptr<Code> fixed;
  };
  mutable std::vector<std::unique_ptr<const Version>> versions;
  mutable std::mutex adding;
  int32_t counter = 0, limit = 0;  // registers: the number of this round, and of all
  int32_t next = 0;                // register: the round in which it is tried again
  // Whether several threads are faster than one: not where others keep the processors busy.
  mutable Trials threads{{.least_time = 15'000}};
};

struct NamedCall {
  std::string method;
  TypeRef result;
};

struct ForkBody {
  std::shared_ptr<const Code> code;  // of what it captures
  bool may_run_beside = false;
  bool waits = false;                  // maybe for forks that are not its own
  std::vector<const Function*> calls;  // functions, for which there has to be code before it begins
};

struct Instruction {
  explicit Instruction(Step what) : step(what) {}
  Step step;
  uint16_t input_count = 0, output_count = 0;
  uint32_t inputs = 0;   // first of them in Code::Impl::inputs
  uint32_t outputs = 0;  // first of them in Code::Impl::outputs
  uint32_t target = 0;   // instruction to jump to, item, attribute, first entry of `args`, ...
  union {
    const OpDef* op = nullptr;
    const Builtin* builtin;
    Function* function;
    ClassDef* cls;
    const HostFunction* host_function;
    const ops::Chain* chain;
    const Branches* branches;
    const ForkBody* fork;
    const NamedCall* named_call;
    const TailedCall* tailed;
    const SliceProduct* slices;
    const RoundsCall* rounds;
  };
};

struct Code::Impl {
  std::string function_name;
  std::vector<Instruction> instructions;
  std::vector<Span> spans;  // of each instruction
  std::vector<Input> inputs;
  std::vector<int32_t> outputs;  // registers; -1: nobody wants it
  std::vector<Datum> constants;
  std::vector<Arg> args;          // arguments of operators, constants filled in
  std::deque<Scratch> arg_lists;  // what those point to
  std::deque<HostFunction> host_functions;
  std::vector<std::unique_ptr<ops::Chain>> chains;
  std::deque<Branches> branches;
  std::deque<ForkBody> forks;
  std::deque<NamedCall> named_calls;
  std::deque<TailedCall> tailed_calls;
  std::deque<SliceProduct> slice_products;
  std::deque<RoundsCall> rounds;
  Program* program = nullptr;
  int32_t params = 0;  // they come in the first registers
  int32_t registers = 0;
  bool one_call = false;  // it does nothing but call an operator with its parameters: tensors
};

// How many inputs the shortest paths of the interpreter are made for.
constexpr size_t few_inputs = 8;

// Made on the first call. A copy: the function may be changed while it runs.
std::shared_ptr<const Code> code_of(const Function& function);

// A line of a function with a mark under the span, as errors show it.
std::string place_text(const Span& span, const std::string& function);

// Bit per Tag that a value of this type may have.
uint32_t tags_of(const Type& type);

}  // namespace wisp::graph
