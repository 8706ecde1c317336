// Records the calls of a running program into graphs: what wisp.jit.trace is made of.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "dispatch/recording.h"
#include "graph/graph.h"

namespace wisp::graph {

// While it is the thread's recorder, every call becomes a node and runs. Tensors are known by
// identity: a parameter, the result of a recorded call, an attribute of the traced module, or a
// constant that comes from outside.
//
// Functions and methods that are to be kept apart are recorded between begin() and end(); what they
// use of the functions around them becomes a further parameter.
class Recorder final : public Object, public CallRecorder {
 public:
  using Path = std::vector<std::string>;

  // What a strict one records is to be run in the place of the program: it notes why that might
  // make a difference, and no places.
  explicit Recorder(Ref<Program> program, bool strict = false)
      : program_(std::move(program)), strict_(strict) {}
  // Why the calls recorded so far might not be all that the program does, and where; empty: no
  // reason.
  const std::string& doubt() const { return doubt_; }
  // Whether calls draw random numbers, or make tensors from nothing: of the dtype and on the device
  // that the program has chosen.
  bool draws() const { return draws_; }
  bool uses_defaults() const { return uses_defaults_; }
  // The memory that calls write into, and whether they are made in more than one grad mode.
  const std::unordered_set<const Storage*>& written() const { return written_; }
  bool switches_grad() const { return switches_grad_; }

  // --- What is known from the start
  // A tensor that is an attribute of an object: the path leads there from the outermost one.
  void name_tensor(const Tensor& tensor, Path path) {
    keep(tensor);
    names_[tensor.impl()].push_back(std::move(path));
  }

  // --- Functions
  // What is called from now on belongs to this function, a method if it has a class. The path leads
  // from the outermost object to its own.
  void begin(const std::string& function, ClassDef* cls = nullptr, Path path = {});
  Value& add_param(std::string name, TypeRef type);
  void know(const Tensor& tensor, Value& value);
  // The tensor lost its history in place: detach_().
  void forget_history(const Tensor& tensor);
  // The tensor took over another's memory in place: set_(), x.data = y. False if it is only a part
  // of that, which becomes a constant.
  bool replace(const Tensor& tensor, const Tensor& source);
  // Ends the innermost function.
  Function& end(Value& result);
  // Records a call, by the function around, of the one that end() just gave.
  Value& call_method(const Path& object, const std::string& method, std::vector<Value*> arguments);
  // How many functions are being recorded.
  size_t depth() const { return frames_.size(); }

  // --- Values of the innermost function
  Value& value_of(const Tensor& tensor);
  Value& here(Value& value);       // which may belong to a function around
  bool knows(const Value& value);  // whether it belongs to one of the functions
  // Fails when the graph is run with another value than this one.
  void require(Value& value, const Datum& expected, const std::string& name);
  Value& constant(const Datum& value, TypeRef type);
  Value& construct(Prim prim, std::span<Value* const> parts, TypeRef type);
  std::vector<Value*> unpack(Value& whole, const std::vector<TypeRef>& types);
  Value& builtin(std::string_view full_name, std::span<Value* const> inputs, TypeRef type);
  Value& call_function(const std::string& name, std::span<Value* const> arguments, TypeRef type);

  // --- Numbers that were computed from sizes and parameters
  // The number at this address, which the next call reads, is that value.
  void note(const void* address, int64_t bits, Value& value) { notes_[address] = {bits, &value}; }
  // The same for a parameter of the next call, by name.
  void note_param(const std::string& param, Value& value) { named_notes_[param] = &value; }
  void forget_notes() {
    notes_.clear();
    named_notes_.clear();
  }

  // The next call of that composite is recorded as the calls that it makes.
  void take_apart(const OpDef& op) { apart_ = &op; }

  bool intercept(const OpDef& op, const Arg* args, Form form, TensorList& outs) override;

  // Forgets all tensors: nothing more will be recorded.
  void close();
  Program& program() const { return *program_; }
  // Whether a tensor was asked for that only a function that has ended knows.
  bool leaked() const { return leaked_; }

 private:
  struct Frame {
    Function* function;
    Graph* graph;
    ClassDef* cls;
    Path path;
    std::unordered_map<const TensorImpl*, Value*> known;
    std::unordered_map<std::string, Value*> attributes;  // by dotted name
    std::unordered_map<const Value*, Value*> lifted;     // parameters for values of the one around
    std::vector<Value*> outer;                           // those values, in order
  };
  struct Note {
    int64_t bits;
    Value* value;
  };

  Frame& frame() {
    WISP_CHECK(!frames_.empty(), "trace: no function is being recorded");
    return frames_.back();
  }
  void keep(const Tensor& tensor);
  Value* find(const Tensor& tensor, size_t level);
  Value* find_attribute(const Tensor& tensor, Frame& frame);
  Value* find_alias(const Tensor& tensor);
  Value& without_history(Value& value, const Tensor& tensor);
  void examine(const OpDef& op, const Arg* args, Form form);
  void doubt(const char* reason);
  void note_modes();
  void note_writes(const Node& node, const Arg* args);
  Value& attribute(Frame& frame, const Path& path);
  Value& lift(size_t level, Value& outer);
  Value& argument(const Arg& arg, const Param& param);
  Value& ints(const Arg& arg);
  Value& tensors(const Arg& arg);
  Value* noted(const void* address, int64_t bits);
  Node& append(Node& node);
  void add_results(Node& node, TensorList& outs);
  Span place();

  const Ref<Program> program_;
  const bool strict_;
  std::string doubt_;
  std::vector<Frame> frames_;
  std::unordered_map<const TensorImpl*, std::vector<Path>> names_;
  std::unordered_map<const TensorImpl*, Tensor> kept_;  // so that addresses stay their own
  std::unordered_map<const Storage*, std::vector<const TensorImpl*>> by_storage_;
  std::unordered_set<const TensorImpl*> gone_;  // known only to functions that have ended
  std::vector<Value*> last_outer_;              // of the function that ended last
  std::unordered_map<const void*, Note> notes_;
  std::unordered_map<std::string, Value*> named_notes_;
  std::unordered_map<std::string, std::shared_ptr<const Source>> sources_;
  const OpDef* apart_ = nullptr;
  std::unordered_set<const Storage*> written_;
  bool leaked_ = false, draws_ = false, uses_defaults_ = false, switches_grad_ = false;
  bool grad_ = mode.grad;  // in which the last call was made
  const bool inference_ = mode.inference;
};

// The type of a tensor, with its dtype and sizes.
TypeRef exact_type(const Tensor& tensor);

}  // namespace wisp::graph
