// What a running script raises: an error that knows the lines of the script that led to it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace wisp::graph {

class ScriptError : public Error {
 public:
  // With a `class_name`, that is the name of the exception's class in the host language; else the
  // kind decides.
  ScriptError(ErrorKind kind, std::string message, std::string class_name = "")
      : Error(kind, message),
        class_name_(std::move(class_name)),
        message_(std::move(message)),
        text_(message_) {}
  const std::string& class_name() const { return class_name_; }
  const char* what() const noexcept override { return text_.c_str(); }

  // A place on the way to the error, from the inside out; they are printed from the outside in.
  void add_frame(std::string frame) {
    frames_.push_back(std::move(frame));
    text_ = message_ + "\n";
    for (size_t i = frames_.size(); i-- > 0;) text_ += "\n" + frames_[i];
  }

 private:
  std::string class_name_, message_, text_;
  std::vector<std::string> frames_;
};

// Raises an exception that the kinds of the core do not have: ZeroDivisionError, KeyError.
template <class... Parts>
[[noreturn]] WISP_COLD void raise(const char* class_name, const Parts&... parts) {
  throw ScriptError(ErrorKind::runtime, str(parts...), class_name);
}

}  // namespace wisp::graph
