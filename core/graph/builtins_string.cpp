// Strings. They are UTF-8 inside; places and lengths count characters. Upper and lower case are
// known of ASCII letters.
#include <algorithm>

#include "graph/builtins_parts.h"

namespace wisp::graph {

std::u32string decode_utf8(const std::string& text) {
  std::u32string result;
  result.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i++]);
    const int more = lead < 0xC0 ? 0 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
    char32_t code = more == 0 ? lead : lead & (0x3F >> more);
    for (int k = 0; k < more && i < text.size(); ++k)
      code = (code << 6) | (static_cast<unsigned char>(text[i++]) & 0x3F);
    result.push_back(code);
  }
  return result;
}

std::string encode_utf8(const std::u32string& text) {
  std::string result;
  result.reserve(text.size());
  for (const char32_t code : text) {
    if (code < 0x80) {
      result += static_cast<char>(code);
      continue;
    }
    const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    const int lead = more == 1 ? 0xC0 : more == 2 ? 0xE0 : 0xF0;
    result += static_cast<char>(lead | (code >> (6 * more)));
    for (int k = more - 1; k >= 0; --k)
      result += static_cast<char>(0x80 | ((code >> (6 * k)) & 0x3F));
  }
  return result;
}

namespace {

constexpr const char* blanks = " \t\n\r\f\v";

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_alpha(char c) { return is_upper(c) || is_lower(c); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
char to_upper(char c) { return is_lower(c) ? static_cast<char>(c - 32) : c; }
char to_lower(char c) { return is_upper(c) ? static_cast<char>(c + 32) : c; }

template <auto f>
Datum map_chars(BuiltinArgs args) {
  std::string text = args[0].string();
  for (char& c : text) c = f(c);
  return text;
}

template <auto test>
Datum all_chars(BuiltinArgs args) {
  const std::string& text = args[0].string();
  return !text.empty() && std::all_of(text.begin(), text.end(), test);
}

// Whether there are letters and all of them are of one case.
template <auto wanted, auto other>
Datum all_letters(BuiltinArgs args) {
  const std::string& text = args[0].string();
  return std::any_of(text.begin(), text.end(), wanted) &&
         std::none_of(text.begin(), text.end(), other);
}

Datum capitalize(BuiltinArgs args) {
  std::string text = args[0].string();
  for (size_t i = 0; i < text.size(); ++i) text[i] = i == 0 ? to_upper(text[i]) : to_lower(text[i]);
  return text;
}

Datum title(BuiltinArgs args) {
  std::string text = args[0].string();
  bool inside = false;
  for (char& c : text) {
    c = inside ? to_lower(c) : to_upper(c);
    inside = is_alpha(c);
  }
  return text;
}

// Words that begin with a capital and go on without, at least one.
Datum is_title(BuiltinArgs args) {
  bool inside = false, any = false;
  for (const char c : args[0].string()) {
    if (inside ? is_upper(c) : is_lower(c)) return false;
    inside = is_alpha(c);
    any |= inside;
  }
  return any;
}

Datum is_identifier(BuiltinArgs args) {
  const std::string& text = args[0].string();
  const auto is_word = [](char c) { return is_alpha(c) || is_digit(c) || c == '_' || c < 0; };
  return !text.empty() && !is_digit(text[0]) && std::all_of(text.begin(), text.end(), is_word);
}

Datum is_printable(BuiltinArgs args) {
  const std::string& text = args[0].string();
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return (c >= 0 && c < 32) || c == 127; });
}

// --- Parts

template <bool left, bool right>
Datum strip(BuiltinArgs args) {
  const std::string& text = args[0].string();
  const std::string chars = args[1].is_none() ? blanks : args[1].string();
  const size_t begin = left ? text.find_first_not_of(chars) : 0;
  const size_t end = right ? text.find_last_not_of(chars) : text.size() - 1;
  if (begin == std::string::npos || end == std::string::npos || text.empty()) return "";
  return text.substr(begin, end - begin + 1);
}

Datum get_item(BuiltinArgs args) {
  const std::u32string text = decode_utf8(args[0].string());
  const int64_t size = static_cast<int64_t>(text.size());
  const int64_t at = checked_position(args[1].integer(), size, "string");
  return encode_utf8(std::u32string(1, text[static_cast<size_t>(at)]));
}

Datum slice(BuiltinArgs args) {
  const std::u32string text = decode_utf8(args[0].string());
  const Range range = resolve_slice(args[1], args[2], args[3], static_cast<int64_t>(text.size()));
  std::u32string chosen;
  for (int64_t i = 0; i < range.count; ++i)
    chosen += text[static_cast<size_t>(range.start + i * range.step)];
  return encode_utf8(chosen);
}

std::vector<Datum> split_at_blanks(const std::string& text, int64_t limit) {
  std::vector<Datum> parts;
  size_t at = text.find_first_not_of(blanks);
  while (at != std::string::npos) {
    if (limit >= 0 && static_cast<int64_t>(parts.size()) == limit) {
      parts.push_back(text.substr(at));
      break;
    }
    const size_t end = std::min(text.find_first_of(blanks, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(blanks, end);
  }
  return parts;
}

Datum split(BuiltinArgs args) {
  const std::string& text = args[0].string();
  const int64_t limit = args[2].integer();
  if (args[1].is_none()) return Datum::list(split_at_blanks(text, limit));
  const std::string& mark = args[1].string();
  WISP_CHECK_VALUE(!mark.empty(), "empty separator");
  std::vector<Datum> parts;
  size_t at = 0;
  while (limit < 0 || static_cast<int64_t>(parts.size()) < limit) {
    const size_t found = text.find(mark, at);
    if (found == std::string::npos) break;
    parts.push_back(text.substr(at, found - at));
    at = found + mark.size();
  }
  parts.push_back(text.substr(at));
  return Datum::list(std::move(parts));
}

std::string backwards(const std::string& text) { return {text.rbegin(), text.rend()}; }

// What split() gives of the text read backwards.
Datum split_from_end(BuiltinArgs args) {
  Datum turned[] = {backwards(args[0].string()), args[1], args[2]};
  if (!args[1].is_none()) turned[1] = backwards(args[1].string());
  const Datum parts = split(turned);
  std::vector<Datum> result;
  for (size_t i = parts.items().size(); i-- > 0;) {
    result.push_back(backwards(parts.items()[i].string()));
  }
  return Datum::list(std::move(result));
}

std::vector<Datum> lines_of(const std::string& text, bool with_ends) {
  std::vector<Datum> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find_first_of("\n\r", at), text.size());
    const size_t next = std::min(end + (text.compare(end, 2, "\r\n") == 0 ? 2 : 1), text.size());
    lines.push_back(text.substr(at, (with_ends ? next : end) - at));
    at = next;
  }
  return lines;
}

// Blanks up to the next multiple of a width, counted from the start of the line.
Datum expand_tabs(BuiltinArgs args) {
  const int64_t width = args[1].integer();
  std::u32string result;
  int64_t column = 0;
  for (const char32_t c : decode_utf8(args[0].string())) {
    if (c == '\t') {
      const int64_t blanks_here = width > 0 ? width - column % width : 0;
      result.append(static_cast<size_t>(blanks_here), ' ');
      column += blanks_here;
      continue;
    }
    result += c;
    column = c == '\n' || c == '\r' ? 0 : column + 1;
  }
  return encode_utf8(result);
}

template <bool from_end>
Datum partition(BuiltinArgs args) {
  const std::string &text = args[0].string(), &mark = args[1].string();
  WISP_CHECK_VALUE(!mark.empty(), "empty separator");
  const size_t at = from_end ? text.rfind(mark) : text.find(mark);
  if (at == std::string::npos)
    return from_end ? Datum::tuple({"", "", text}) : Datum::tuple({text, "", ""});
  return Datum::tuple({text.substr(0, at), mark, text.substr(at + mark.size())});
}

Datum join(BuiltinArgs args) {
  std::string text;
  const char* first = "";
  for (const Datum& item : args[1].items()) {
    text += *first ? args[0].string() + item.string() : item.string();
    first = "x";
  }
  return text;
}

// --- Searching; places are of characters

int64_t characters_before(const std::string& text, size_t bytes) {
  return std::count_if(text.begin(), text.begin() + static_cast<int64_t>(bytes),
                       [](char c) { return (c & 0xC0) != 0x80; });
}

template <bool from_end, bool must_be_there>
Datum find(BuiltinArgs args) {
  const std::string &text = args[0].string(), &part = args[1].string();
  const size_t at = from_end ? text.rfind(part) : text.find(part);
  if (at != std::string::npos) return characters_before(text, at);
  WISP_CHECK_VALUE(!must_be_there, "substring not found");
  return -1;
}

Datum count(BuiltinArgs args) {
  const std::string &text = args[0].string(), &part = args[1].string();
  if (part.empty()) return characters_before(text, text.size()) + 1;
  int64_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size()))
    ++found;
  return found;
}

Datum starts_with(BuiltinArgs args) { return args[0].string().starts_with(args[1].string()); }
Datum ends_with(BuiltinArgs args) { return args[0].string().ends_with(args[1].string()); }

// A question about a part of the text, which the third and fourth argument give as a slice does.
template <auto ask, bool gives_place>
Datum in_part(BuiltinArgs args) {
  const std::u32string text = decode_utf8(args[0].string());
  const Range range = resolve_slice(args[2], args[3], Datum(), static_cast<int64_t>(text.size()));
  const auto count = static_cast<size_t>(std::max<int64_t>(range.count, 0));
  Datum part[] = {encode_utf8(text.substr(static_cast<size_t>(range.start), count)), args[1]};
  const Datum answer = ask(BuiltinArgs(part));
  if (!gives_place || answer.integer() < 0) return answer;
  return answer.integer() + range.start;
}

void add_questions_of_parts(std::vector<BuiltinRow>& table) {
  const BuiltinRow entries[] = {
      {"find.range(str self, str part, int? start, int? end) -> int",
       in_part<find<false, false>, true>},
      {"rfind.range(str self, str part, int? start, int? end) -> int",
       in_part<find<true, false>, true>},
      {"index.range(str self, str part, int? start, int? end) -> int",
       in_part<find<false, true>, true>},
      {"rindex.range(str self, str part, int? start, int? end) -> int",
       in_part<find<true, true>, true>},
      {"count.range(str self, str part, int? start, int? end) -> int", in_part<count, false>},
      {"startswith.range(str self, str prefix, int? start, int? end) -> bool",
       in_part<starts_with, false>},
      {"endswith.range(str self, str suffix, int? start, int? end) -> bool",
       in_part<ends_with, false>},
  };
  table.insert(table.end(), std::begin(entries), std::end(entries));
}

Datum replace(BuiltinArgs args) {
  const std::string &text = args[0].string(), &old = args[1].string(), &fresh = args[2].string();
  WISP_CHECK_VALUE(!old.empty(), "replace(): the text to replace must not be empty");
  std::string result;
  size_t at = 0;
  for (int64_t left = args[3].integer(); left != 0; --left) {
    const size_t found = text.find(old, at);
    if (found == std::string::npos) break;
    result += text.substr(at, found - at) + fresh;
    at = found + old.size();
  }
  return result + text.substr(at);
}

// --- Making

Datum repeated(BuiltinArgs args) {
  const std::string& text = args[0].string();
  const int64_t times = std::max<int64_t>(args[1].integer(), 0);
  WISP_CHECK_VALUE(text.empty() || times <= (int64_t(1) << 40) / static_cast<int64_t>(text.size()),
                   "the repeated string would be too long");
  std::string result;
  for (int64_t i = 0; i < times; ++i) result += text;
  return result;
}

enum class Side { left, right, both };

template <Side side>
Datum justify(BuiltinArgs args) {
  const std::string &text = args[0].string(), &fill = args[2].string();
  WISP_CHECK_TYPE(characters_before(fill, fill.size()) == 1,
                  "The fill character must be exactly one character long");
  const int64_t missing =
      std::max<int64_t>(args[1].integer() - characters_before(text, text.size()), 0);
  const int64_t before = side == Side::left    ? 0
                         : side == Side::right ? missing
                                               : missing / 2 + (missing & args[1].integer() & 1);
  std::string result;
  for (int64_t i = 0; i < before; ++i) result += fill;
  result += text;
  for (int64_t i = before; i < missing; ++i) result += fill;
  return result;
}

Datum zero_fill(BuiltinArgs args) {
  std::string text = args[0].string();
  const bool sign = text.starts_with('-') || text.starts_with('+');
  const int64_t missing = args[1].integer() - characters_before(text, text.size());
  if (missing > 0) text.insert(sign ? 1 : 0, static_cast<size_t>(missing), '0');
  return text;
}

template <int bits>
Datum in_base(BuiltinArgs args) {
  const int64_t value = args[0].integer();
  uint64_t rest = value < 0 ? -static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  std::string digits;
  do {
    digits.insert(digits.begin(), "0123456789abcdef"[rest & ((1 << bits) - 1)]);
    rest >>= bits;
  } while (rest != 0);
  const char* prefix = bits == 4 ? "0x" : bits == 3 ? "0o" : "0b";
  return (value < 0 ? "-" : "") + std::string(prefix) + digits;
}

Datum code_of(BuiltinArgs args) {
  const std::u32string text = decode_utf8(args[0].string());
  WISP_CHECK_TYPE(text.size() == 1, "ord() expected a character, but string of length ",
                  text.size(), " found");
  return static_cast<int64_t>(text[0]);
}

Datum character_of(BuiltinArgs args) {
  const int64_t code = args[0].integer();
  WISP_CHECK_VALUE(code >= 0 && code < 0x110000, "chr() arg not in range(0x110000)");
  return encode_utf8(std::u32string(1, static_cast<char32_t>(code)));
}

void add_tests(std::vector<BuiltinRow>& table) {
  static constexpr BuiltinRow entries[] = {
      {"len.str(str a) -> int",
       [](BuiltinArgs a) -> Datum {
         return characters_before(a[0].string(), a[0].string().size());
       }},
      {"__contains__.str(str text, str part) -> bool",
       [](BuiltinArgs a) -> Datum {
         return a[0].string().find(a[1].string()) != std::string::npos;
       }},
      {"startswith.str(str self, str prefix) -> bool", starts_with},
      {"endswith.str(str self, str suffix) -> bool", ends_with},
      {"istitle.str(str self) -> bool", is_title},
      {"isidentifier.str(str self) -> bool", is_identifier},
      {"isprintable.str(str self) -> bool", is_printable},
      {"isdigit.str(str self) -> bool", all_chars<is_digit>},
      {"isdecimal.str(str self) -> bool", all_chars<is_digit>},
      {"isnumeric.str(str self) -> bool", all_chars<is_digit>},
      {"isalpha.str(str self) -> bool", all_chars<is_alpha>},
      {"isalnum.str(str self) -> bool",
       all_chars<[](char c) { return is_alpha(c) || is_digit(c); }>},
      {"isspace.str(str self) -> bool", all_chars<is_space>},
      {"isupper.str(str self) -> bool", all_letters<is_upper, is_lower>},
      {"islower.str(str self) -> bool", all_letters<is_lower, is_upper>},
      {"find.str(str self, str part) -> int", find<false, false>},
      {"rfind.str(str self, str part) -> int", find<true, false>},
      {"index.str(str self, str part) -> int", find<false, true>},
      {"rindex.str(str self, str part) -> int", find<true, true>},
      {"count.str(str self, str part) -> int", count},
  };
  table.insert(table.end(), std::begin(entries), std::end(entries));
}

void add_making(std::vector<BuiltinRow>& table) {
  static constexpr BuiltinRow entries[] = {
      {"add.str(str a, str b) -> str",
       [](BuiltinArgs a) -> Datum { return a[0].string() + a[1].string(); }},
      {"mul.str(str text, int times) -> str", repeated},
      {"__getitem__.str(str text, int index) -> str", get_item},
      {"slice.str(str text, int? start, int? stop, int? step) -> str", slice},
      {"list.str(str text) -> str[]",
       [](BuiltinArgs a) -> Datum {
         std::vector<Datum> items;
         for (const char32_t c : decode_utf8(a[0].string()))
           items.push_back(encode_utf8(std::u32string(1, c)));
         return Datum::list(std::move(items));
       }},
      {"upper.str(str self) -> str", map_chars<to_upper>},
      {"lower.str(str self) -> str", map_chars<to_lower>},
      {"swapcase.str(str self) -> str",
       map_chars<[](char c) { return is_upper(c) ? to_lower(c) : to_upper(c); }>},
      {"capitalize.str(str self) -> str", capitalize},
      {"title.str(str self) -> str", title},
      {"strip.str(str self, str? chars) -> str", strip<true, true>},
      {"lstrip.str(str self, str? chars) -> str", strip<true, false>},
      {"rstrip.str(str self, str? chars) -> str", strip<false, true>},
      {"split.str(str self, str? separator, int maxsplit) -> str[]", split},
      {"rsplit.str(str self, str? separator, int maxsplit) -> str[]", split_from_end},
      {"splitlines.str(str self) -> str[]",
       [](BuiltinArgs a) -> Datum { return Datum::list(lines_of(a[0].string(), false)); }},
      {"splitlines.keep(str self, bool keepends) -> str[]",
       [](BuiltinArgs a) -> Datum { return Datum::list(lines_of(a[0].string(), a[1].boolean())); }},
      {"expandtabs.str(str self, int tabsize) -> str", expand_tabs},
      {"partition.str(str self, str separator) -> (str, str, str)", partition<false>},
      {"rpartition.str(str self, str separator) -> (str, str, str)", partition<true>},
      {"join.str(str self, str[] values) -> str", join},
      {"replace.str(str self, str old, str new, int count) -> str", replace},
      {"ljust.str(str self, int width, str fill) -> str", justify<Side::left>},
      {"rjust.str(str self, int width, str fill) -> str", justify<Side::right>},
      {"center.str(str self, int width, str fill) -> str", justify<Side::both>},
      {"zfill.str(str self, int width) -> str", zero_fill},
      {"format(str self, Any... values) -> str",
       [](BuiltinArgs a) -> Datum { return format_text(a[0].string(), a.subspan(1)); }},
      {"percent(str self, Any... values) -> str",
       [](BuiltinArgs a) -> Datum { return percent_text(a[0].string(), a.subspan(1)); }},
      {"str(Any value) -> str", [](BuiltinArgs a) -> Datum { return str_of(a[0]); }},
      {"repr(Any value) -> str", [](BuiltinArgs a) -> Datum { return repr(a[0]); }},
      {"hex.int(int a) -> str", in_base<4>},
      {"oct.int(int a) -> str", in_base<3>},
      {"bin.int(int a) -> str", in_base<1>},
      {"ord.str(str c) -> int", code_of},
      {"chr.int(int code) -> str", character_of},
  };
  table.insert(table.end(), std::begin(entries), std::end(entries));
}

}  // namespace

void add_string_builtins(std::vector<BuiltinRow>& table) {
  add_tests(table);
  add_questions_of_parts(table);
  add_making(table);
}

}  // namespace wisp::graph
