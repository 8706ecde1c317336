#include "graph/scanner.h"

#include <algorithm>

namespace wisp::graph {

namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

void append_utf8(std::string& to, unsigned code) {
  if (code < 0x80) {
    to += static_cast<char>(code);
  } else if (code < 0x800) {
    to += {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
  } else if (code < 0x10000) {
    to += {static_cast<char>(0xe0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3f)),
           static_cast<char>(0x80 | (code & 0x3f))};
  } else {
    to += {static_cast<char>(0xf0 | code >> 18), static_cast<char>(0x80 | (code >> 12 & 0x3f)),
           static_cast<char>(0x80 | (code >> 6 & 0x3f)), static_cast<char>(0x80 | (code & 0x3f))};
  }
}

// The four digits behind \u, or -1.
int code_unit(std::string_view text) {
  if (text.size() < 4) return -1;
  int code = 0;
  for (int i = 0; i < 4; ++i) {
    const int digit = hex_digit(text[i]);
    if (digit < 0) return -1;
    code = code * 16 + digit;
  }
  return code;
}

}  // namespace

void Scanner::bad(std::string_view why) const {
  const auto line = 1 + std::count(text_.begin(), text_.begin() + at_, '\n');
  const std::string_view rest =
      text_.substr(at_, std::min<size_t>(text_.find('\n', at_) - at_, 60));
  fail(ErrorKind::runtime, "program text, line ", line, ": ", why, " at '", rest, "'");
}

// As JSON has them: the characters of text beyond the first 65536 come as two code units.
void Scanner::append_escape(std::string& to) {
  if (++at_ >= text_.size()) bad("a string does not end");
  const char c = text_[at_++];
  constexpr std::string_view plain = "\"\\/bfnrt", meant = "\"\\/\b\f\n\r\t";
  if (const size_t i = plain.find(c); i != plain.npos) {
    to += meant[i];
    return;
  }
  int code = c == 'u' ? code_unit(text_.substr(at_)) : -1;
  if (code < 0) bad("unknown escape in a string");
  at_ += 4;
  if (code >= 0xd800 && code < 0xdc00 && text_.substr(at_).starts_with("\\u")) {
    const int second = code_unit(text_.substr(at_ + 2));
    if (second >= 0xdc00 && second < 0xe000) {
      code = 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00);
      at_ += 6;
    }
  }
  append_utf8(to, static_cast<unsigned>(code));
}

std::string Scanner::quoted() {
  expect("\"");
  std::string result;
  while (at_ < text_.size() && text_[at_] != '"') {
    if (text_[at_] == '\\') {
      append_escape(result);
    } else {
      result += text_[at_++];
    }
  }
  if (at_ == text_.size()) bad("a string does not end");
  ++at_;
  return result;
}

std::string_view Scanner::comment() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  if (at_ == text_.size() || text_[at_] != '#') return {};
  const size_t end = std::min(text_.find('\n', at_), text_.size());
  std::string_view found = text_.substr(at_ + 1, end - at_ - 1);
  at_ = end;
  const auto is_space = [](char c) { return c == ' ' || c == '\r' || c == '\t'; };
  while (!found.empty() && is_space(found.front())) found.remove_prefix(1);
  while (!found.empty() && is_space(found.back())) found.remove_suffix(1);
  return found;
}

}  // namespace wisp::graph
