// Reads the words of a program's text, one after the other.
#pragma once

#include <cctype>
#include <string>
#include <string_view>

#include "base/error.h"

namespace wisp::graph {

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  size_t position() const { return at_; }
  void set_position(size_t at) { at_ = at; }
  bool at_end() {
    skip();
    return at_ == text_.size();
  }

  // The next character that is neither white space nor part of a comment; 0 at the end.
  char peek() {
    skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(std::string_view token) {
    skip();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) bad(str("expected '", token, "'"));
  }
  // A name: letters, digits, underscores and dots.
  static bool in_name(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
  }
  std::string_view word() {
    skip();
    const size_t begin = at_;
    while (at_ < text_.size() && in_name(text_[at_])) ++at_;
    if (at_ == begin) bad("expected a name");
    return text_.substr(begin, at_ - begin);
  }
  // The word that comes next, without taking it; empty if there is none.
  std::string_view peek_word() {
    skip();
    size_t end = at_;
    while (end < text_.size() && in_name(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }
  bool accept_word(std::string_view wanted) {
    if (peek_word() != wanted) return false;
    at_ += wanted.size();
    return true;
  }
  // The characters of a number, sign and exponent included.
  std::string_view number() {
    skip();
    const size_t begin = at_;
    while (at_ < text_.size() && in_number(begin)) ++at_;
    if (at_ == begin) bad("expected a number");
    return text_.substr(begin, at_ - begin);
  }
  std::string quoted();
  // The comment that follows on the same line, without "#" and the spaces around; else empty.
  std::string_view comment();

  [[noreturn]] void bad(std::string_view why) const;

 private:
  void skip() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
        if (at_ == text_.size()) return;
      } else if (c != ' ' && c != '\n' && c != '\t' && c != '\r') {
        return;
      }
    }
  }
  bool in_number(size_t begin) const {
    const char c = text_[at_];
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '.') return true;
    if (c != '-' && c != '+') return false;
    return at_ == begin || text_[at_ - 1] == 'e';
  }
  void append_escape(std::string& to);

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace wisp::graph
