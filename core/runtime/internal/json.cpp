#include "runtime/internal/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <locale>
#include <sstream>
#include <unordered_set>

#include "runtime/internal/damage.h"

namespace wisp::api {

// --- numbers

std::string real_text(double value) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out.precision(17);
  out << value;
  const std::string text = out.str();
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

double parse_real(const std::string& text) {
  std::istringstream in(text);
  in.imbue(std::locale::classic());
  double value = 0;
  in >> value;
  if (in.fail() && value == 0) fail_damaged("it contains the number ", text);
  return value;
}

namespace {

// --- reading

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}
  Json run() {
    Json value = parse_value(0);
    skip_spaces();
    if (at_ != text_.size()) fail_here("something follows its end");
    return value;
  }

 private:
  static constexpr int max_depth = 200;

  [[noreturn]] void fail_here(const char* why) const {
    fail_damaged("its header cannot be read: ", why, " at byte ", at_);
  }
  void skip_spaces() {
    while (at_ < text_.size() &&
           std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) {
      ++at_;
    }
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    skip_spaces();
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail_here("something is missing");
  }
  bool take_word(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  Json parse_value(int depth) {
    if (depth > max_depth) fail_here("it is too deep");
    skip_spaces();
    switch (peek()) {
      case '{':
        return parse_object(depth);
      case '[':
        return parse_list(depth);
      case '"':
        return parse_text();
      default:
        break;
    }
    if (take_word("null")) return {};
    if (take_word("true")) return true;
    if (take_word("false")) return false;
    return parse_number();
  }

  Json parse_list(int depth) {
    expect('[');
    std::vector<Json> items;
    if (take(']')) return items;
    do {
      items.push_back(parse_value(depth + 1));
    } while (take(','));
    expect(']');
    return items;
  }

  Json parse_object(int depth) {
    expect('{');
    std::vector<Json::Member> members;
    std::unordered_set<std::string> known;
    if (take('}')) return members;
    do {
      skip_spaces();
      std::string key = parse_text();
      if (!known.insert(key).second) fail_here("a name occurs twice");
      expect(':');
      members.emplace_back(std::move(key), parse_value(depth + 1));
    } while (take(','));
    expect('}');
    return members;
  }

  Json parse_number() {
    const size_t start = at_;
    while (at_ < text_.size() &&
           std::string_view("+-.eE0123456789").find(text_[at_]) != std::string_view::npos) {
      ++at_;
    }
    const std::string digits(text_.substr(start, at_ - start));
    const size_t first = digits.size() > 1 && digits[0] == '-' ? 1 : 0;
    if (digits.size() <= first || digits[first] < '0' || digits[first] > '9')
      fail_here("a value is missing");
    if (digits.find_first_of(".eE") != std::string::npos) return parse_real(digits);
    int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error == std::errc::result_out_of_range) fail_here("a number is too large");
    if (end != digits.data() + digits.size()) fail_here("a number is wrong");
    return value;
  }

  std::string parse_text() {
    if (peek() != '"') fail_here("a text is missing");
    ++at_;
    std::string text;
    while (peek() != '"') {
      if (at_ >= text_.size()) fail_here("a text does not end");
      const char c = text_[at_++];
      if (static_cast<unsigned char>(c) < 0x20) fail_here("a text contains a control character");
      if (c == '\\') {
        append_escaped(text);
      } else {
        text += c;
      }
    }
    ++at_;
    return text;
  }

  void append_escaped(std::string& text) {
    static constexpr std::string_view letters = "\"\\/bfnrt", meant = "\"\\/\b\f\n\r\t";
    const char c = peek();
    ++at_;
    if (c == 'u') {
      append_utf8(text, parse_code_point());
    } else if (const size_t found = letters.find(c); found != std::string_view::npos && c) {
      text += meant[found];
    } else {
      fail_here("a text contains a wrong escape");
    }
  }

  uint32_t parse_hex() {
    uint32_t code = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = peek();
      const bool digit = c >= '0' && c <= '9', lower = c >= 'a' && c <= 'f',
                 upper = c >= 'A' && c <= 'F';
      if (!digit && !lower && !upper) fail_here("a text contains a wrong escape");
      code = 16 * code + static_cast<uint32_t>(digit   ? c - '0'
                                               : lower ? c - 'a' + 10
                                                       : c - 'A' + 10);
    }
    return code;
  }
  // Code points beyond 16 bits are written as two.
  uint32_t parse_code_point() {
    const uint32_t high = parse_hex();
    if (high < 0xd800 || high >= 0xdc00 || text_.substr(at_, 2) != "\\u") return high;
    const size_t before = at_;
    at_ += 2;
    const uint32_t low = parse_hex();
    if (low >= 0xdc00 && low < 0xe000) return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
    at_ = before;
    return high;
  }
  static void append_utf8(std::string& text, uint32_t code) {
    auto add = [&](uint32_t byte) { text += static_cast<char>(byte); };
    if (code < 0x80) {
      add(code);
      return;
    }
    const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static constexpr uint32_t first[] = {0, 0xc0, 0xe0, 0xf0};
    add(first[more] | (code >> (6 * more)));
    for (int i = more - 1; i >= 0; --i) add(0x80 | ((code >> (6 * i)) & 0x3f));
  }

  std::string_view text_;
  size_t at_ = 0;
};

// --- writing

void append_escape(std::string& out, uint32_t unit) {
  static constexpr char digits[] = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += digits[(unit >> shift) & 15];
}

// The code point at text[i], which is moved behind it. Bytes that are no UTF-8 stand for
// themselves.
uint32_t next_code_point(const std::string& text, size_t& i) {
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(text[at]); };
  const uint32_t first = byte(i++);
  const int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc0 ? 1 : 0;
  if (!more || i + static_cast<size_t>(more) > text.size()) return first;
  uint32_t code = first & (0x3fu >> more);
  for (int k = 0; k < more; ++k) code = (code << 6) | (byte(i++) & 0x3fu);
  return code;
}

void append_text(std::string& out, const std::string& text) {
  static constexpr std::string_view special = "\"\\\b\f\n\r\t", letters = "\"\\bfnrt";
  out += '"';
  for (size_t i = 0; i < text.size();) {
    const uint32_t code = next_code_point(text, i);
    const size_t found =
        code < 0x80 ? special.find(static_cast<char>(code)) : std::string_view::npos;
    if (found != std::string_view::npos) {
      out += '\\';
      out += letters[found];
    } else if (code >= 0x20 && code < 0x7f) {
      out += static_cast<char>(code);
    } else if (code < 0x10000) {
      append_escape(out, code);
    } else {
      append_escape(out, 0xd800 + ((code - 0x10000) >> 10));
      append_escape(out, 0xdc00 + ((code - 0x10000) & 0x3ff));
    }
  }
  out += '"';
}

}  // namespace

Json Json::parse(std::string_view text) { return Parser(text).run(); }

std::string Json::dump(bool spaced) const {
  std::string out;
  write(out, spaced);
  return out;
}

void Json::write(std::string& out, bool spaced) const {
  switch (kind) {
    case Kind::null:
      out += "null";
      break;
    case Kind::boolean:
      out += integer ? "true" : "false";
      break;
    case Kind::integer:
      out += std::to_string(integer);
      break;
    case Kind::real:
      out += real_text(real);
      break;
    case Kind::text:
      append_text(out, text);
      break;
    case Kind::list:
      out += '[';
      for (size_t i = 0; i < items.size(); ++i) {
        if (i) out += spaced ? ", " : ",";
        items[i].write(out, spaced);
      }
      out += ']';
      break;
    case Kind::object:
      write_object(out, spaced);
      break;
  }
}

void Json::write_object(std::string& out, bool spaced) const {
  std::vector<const Member*> order;
  for (const Member& member : members) order.push_back(&member);
  if (spaced) {
    std::sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->first < b->first; });
  }
  out += '{';
  for (size_t i = 0; i < order.size(); ++i) {
    if (i) out += spaced ? ", " : ",";
    append_text(out, order[i]->first);
    out += spaced ? ": " : ":";
    order[i]->second.write(out, spaced);
  }
  out += '}';
}

// --- looking

const Json* Json::find(std::string_view key) const {
  for (const Member& member : members) {
    if (member.first == key) return &member.second;
  }
  return nullptr;
}
const Json& Json::at(std::string_view key) const {
  const Json* found = find(key);
  if (!found) fail_damaged("'", key, "' is missing in its header");
  return *found;
}
int64_t Json::to_size() const {
  if (kind != Kind::integer || integer < 0)
    fail_damaged("its header has something else where a size should be");
  return integer;
}
const std::string& Json::to_text() const {
  if (kind != Kind::text) fail_damaged("its header has something else where a text should be");
  return text;
}
const std::vector<Json>& Json::to_items() const {
  if (kind != Kind::list) fail_damaged("its header has something else where a list should be");
  return items;
}
const std::vector<Json::Member>& Json::to_members() const {
  if (kind != Kind::object) fail_damaged("its header has something else where an object should be");
  return members;
}
std::vector<int64_t> Json::to_sizes() const {
  std::vector<int64_t> sizes;
  for (const Json& item : to_items()) sizes.push_back(item.to_size());
  return sizes;
}

}  // namespace wisp::api
