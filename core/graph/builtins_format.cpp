// str.format(): fields in braces, with the mini-language of widths and precisions for numbers and
// strings.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "graph/builtins_parts.h"

namespace wisp::graph {

namespace {

// [[fill]align][sign][#][0][width][,][.precision][type]
struct Spec {
  std::string fill = " ";
  char align = 0, sign = '-', grouping = 0, type = 0;
  bool alternate = false;
  int64_t width = 0, precision = -1;
};

constexpr int64_t longest = 1'000'000;  // more is a mistake, not a layout

int64_t read_number(const std::string& text, size_t& at) {
  int64_t value = 0;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
    value = value * 10 + (text[at++] - '0');
    WISP_CHECK_VALUE(value <= longest, "Too many decimal digits in format string");
  }
  return value;
}

bool is_align(char c) { return c == '<' || c == '>' || c == '^' || c == '='; }

void read_align(const std::string& text, size_t& at, Spec& spec) {
  const auto lead = text.empty() ? 0u : static_cast<unsigned char>(text[0]);
  const size_t fill = lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (text.size() > fill && is_align(text[fill])) {
    spec.fill = text.substr(0, fill);
    spec.align = text[fill];
    at = fill + 1;
  } else if (!text.empty() && is_align(text[0])) {
    spec.align = text[at++];
  }
}

Spec read_spec(const std::string& text) {
  Spec spec;
  size_t at = 0;
  auto next_is = [&](const char* any) {
    return at < text.size() && std::string_view(any).find(text[at]) != std::string_view::npos;
  };
  read_align(text, at, spec);
  if (next_is("+- ")) spec.sign = text[at++];
  if (next_is("#")) spec.alternate = text[at++] != 0;
  if (next_is("0")) {
    ++at;
    if (!spec.align) spec.fill = "0", spec.align = '=';
  }
  spec.width = read_number(text, at);
  if (next_is(",_")) spec.grouping = text[at++];
  if (next_is(".")) spec.precision = read_number(text, ++at);
  if (at < text.size()) spec.type = text[at++];
  WISP_CHECK_VALUE(at == text.size(), "Invalid format specifier '", text, "'");
  return spec;
}

// Puts a sign and digits into the field; zeros go between them.
std::string padded(const std::string& sign, std::string body, const Spec& spec, char usual_align) {
  const auto length = static_cast<int64_t>(sign.size() + decode_utf8(body).size());
  const int64_t missing = std::max<int64_t>(spec.width - length, 0);
  const char align = spec.align ? spec.align : usual_align;
  const int64_t before = align == '<' ? 0 : align == '^' ? missing / 2 : missing;
  std::string front, back;
  for (int64_t i = 0; i < before; ++i) front += spec.fill;
  for (int64_t i = before; i < missing; ++i) back += spec.fill;
  return align == '=' ? sign + front + body : front + sign + body + back;
}

void group_digits(std::string& digits, char mark, size_t every) {
  size_t end = digits.find_first_not_of("0123456789abcdefABCDEF");
  if (end == std::string::npos) end = digits.size();
  for (size_t at = end; at > every;) digits.insert(at -= every, 1, mark);
}

std::string sign_text(bool negative, const Spec& spec) {
  if (negative) return "-";
  return spec.sign == '-' ? "" : std::string(1, spec.sign);
}

std::string format_real(double value, const Spec& spec) {
  const bool percent = spec.type == '%';
  char type = percent ? 'f' : spec.type == 'n' ? 'g' : spec.type;
  const double size = std::abs(percent ? value * 100 : value);
  std::string body;
  if (!std::isfinite(size)) {
    body = std::isnan(size) ? "nan" : "inf";
  } else if (!type && spec.precision < 0) {
    body = repr(Datum(size));
  } else {
    int64_t precision = spec.precision < 0 ? 6 : spec.precision;
    if (!type) type = 'g';
    std::string pattern = std::string("%") + (spec.alternate ? "#" : "") + ".*" + type;
    const int length =
        std::snprintf(nullptr, 0, pattern.c_str(), static_cast<int>(precision), size);
    body.resize(static_cast<size_t>(length));
    std::snprintf(body.data(), body.size() + 1, pattern.c_str(), static_cast<int>(precision), size);
    if (!spec.type && body.find_first_of(".e") == std::string::npos) body += ".0";
  }
  if (spec.grouping) group_digits(body, spec.grouping, 3);
  if (percent) body += "%";
  return padded(sign_text(std::signbit(value) && !std::isnan(value), spec), body, spec, '>');
}

std::string format_integer(int64_t value, const Spec& spec) {
  if (spec.type == 'c')
    return padded("", encode_utf8(std::u32string(1, static_cast<char32_t>(value))), spec, '<');
  if (std::string_view("eEfFgG%").find(spec.type) != std::string_view::npos && spec.type)
    return format_real(static_cast<double>(value), spec);
  WISP_CHECK_VALUE(spec.precision < 0, "Precision not allowed in integer format specifier");
  const char type = spec.type ? spec.type : 'd';
  const unsigned base = type == 'x' || type == 'X' ? 16 : type == 'o' ? 8 : type == 'b' ? 2 : 10;
  uint64_t rest = value < 0 ? -static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  // A variable: GCC's -fsanitize=undefined gets an index into the expression itself wrong.
  const char* const digits = type == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
  std::string body;
  do {
    body.insert(body.begin(), digits[rest % base]);
    rest /= base;
  } while (rest != 0);
  if (spec.grouping) group_digits(body, spec.grouping, base == 10 ? 3 : 4);
  std::string sign = sign_text(value < 0, spec);
  if (spec.alternate && base != 10) sign += std::string("0") + type;
  return padded(sign, body, spec, '>');
}

std::string format_value(const Datum& value, const std::string& text) {
  // Of one element: as its number.
  if (value.is_tensor() && value.tensor().ndim() == 0)
    return format_value(Datum(value.tensor().item()), text);
  if (text.empty()) return str_of(value);
  const Spec spec = read_spec(text);
  const bool number = std::string_view("bcdoxXneEfFgG%").find(spec.type) != std::string_view::npos;
  switch (value.tag()) {
    case Tag::boolean:
      if (!spec.type || !number) break;
      [[fallthrough]];
    case Tag::integer:
      return format_integer(value.integer(), spec);
    case Tag::real:
      WISP_CHECK_VALUE(
          std::string_view("bcdoxXs").find(spec.type) == std::string_view::npos || !spec.type,
          "Unknown format code '", spec.type, "' for object of type 'float'");
      return format_real(value.real(), spec);
    default:
      break;
  }
  WISP_CHECK_VALUE(!spec.type || spec.type == 's', "Unknown format code '", spec.type, "' for ",
                   repr(value));
  std::u32string shown = decode_utf8(str_of(value));
  if (spec.precision >= 0) shown = shown.substr(0, static_cast<size_t>(spec.precision));
  return padded("", encode_utf8(shown), spec, '<');
}

// A field without its braces: "0!r:>8".
std::string format_field(const std::string& field, BuiltinArgs values, size_t& next) {
  const size_t colon = std::min(field.find(':'), field.size());
  std::string name = field.substr(0, colon);
  const std::string spec = colon < field.size() ? field.substr(colon + 1) : "";
  char conversion = 0;
  if (const size_t mark = name.find('!'); mark != std::string::npos) {
    WISP_CHECK_VALUE(mark + 2 == name.size(), "expected ':' after conversion specifier");
    conversion = name[mark + 1];
    name.resize(mark);
  }
  size_t index = 0;
  if (name.empty()) {
    index = next++;
  } else {
    size_t at = 0;
    index = static_cast<size_t>(read_number(name, at));
    WISP_CHECK_VALUE(at == name.size(), "format(): fields are empty or numbers, not '", name, "'");
  }
  WISP_CHECK_INDEX(index < values.size(), "Replacement index ", index,
                   " out of range for positional args tuple");
  if (conversion == 'r' || conversion == 'a') return format_value(Datum(repr(values[index])), spec);
  return conversion ? format_value(Datum(str_of(values[index])), spec)
                    : format_value(values[index], spec);
}

// --- "%5.1f of %s" % (x, y)

// A field behind its '%': flags, width, precision and type.
Spec read_percent_field(const std::string& text, size_t& at) {
  Spec spec;
  for (; at < text.size() && std::string_view("-+ #0").find(text[at]) != std::string_view::npos;
       ++at) {
    if (text[at] == '-') spec.align = '<';
    if (text[at] == '#') spec.alternate = true;
    if (text[at] == '+' || (text[at] == ' ' && spec.sign != '+')) spec.sign = text[at];
    if (text[at] == '0' && !spec.align) spec.fill = "0", spec.align = '=';
  }
  if (spec.align == '<') spec.fill = " ";
  spec.width = read_number(text, at);
  if (at < text.size() && text[at] == '.') spec.precision = read_number(text, ++at);
  while (at < text.size() && std::string_view("hlL").find(text[at]) != std::string_view::npos) ++at;
  WISP_CHECK_VALUE(at < text.size(), "incomplete format");
  spec.type = text[at++];
  return spec;
}

std::string percent_word(const Datum& value, Spec spec) {
  std::u32string shown = decode_utf8(spec.type == 's' ? str_of(value) : repr(value));
  if (spec.precision >= 0) shown = shown.substr(0, static_cast<size_t>(spec.precision));
  if (spec.align == '=') spec.align = '>', spec.fill = " ";
  return padded("", encode_utf8(shown), spec, '>');
}

std::string percent_field(const Datum& given, Spec spec) {
  const std::string_view words = "sra", whole = "diuxXoc", reals = "eEfFgG";
  if (words.find(spec.type) != std::string_view::npos) return percent_word(given, spec);
  if (spec.type == 'c' && given.tag() == Tag::string)
    return percent_word(given, (spec.type = 's', spec));
  const bool is_whole = whole.find(spec.type) != std::string_view::npos;
  WISP_CHECK_VALUE(is_whole || reals.find(spec.type) != std::string_view::npos,
                   "unsupported format character '", spec.type, "'");
  const Datum value = given.is_tensor() ? Datum(given.tensor().item()) : given;
  const Tag tag = value.tag();
  WISP_CHECK_TYPE(tag == Tag::boolean || tag == Tag::integer || tag == Tag::real, "%", spec.type,
                  " format: a real number is required, not ", repr(given));
  if (!is_whole) return format_real(value.scalar().real(), spec);
  if (spec.type == 'i' || spec.type == 'u') spec.type = 'd';
  const Scalar number = value.scalar();
  if (number.is_integer()) return format_integer(number.integer(), spec);
  WISP_CHECK_VALUE(std::abs(number.real()) < 9223372036854775808.0, "cannot convert float ",
                   number.real(), " to an integer of 64 bits");
  return format_integer(static_cast<int64_t>(number.real()), spec);
}

}  // namespace

std::string percent_text(const std::string& pattern, BuiltinArgs values) {
  std::string result;
  size_t next = 0;
  for (size_t at = 0; at < pattern.size();) {
    if (pattern[at++] != '%') {
      result += pattern[at - 1];
      continue;
    }
    const Spec spec = read_percent_field(pattern, at);
    if (spec.type == '%') {
      result += '%';
      continue;
    }
    WISP_CHECK_TYPE(next < values.size(), "not enough arguments for format string");
    result += percent_field(values[next++], spec);
  }
  WISP_CHECK_TYPE(next == values.size(), "not all arguments converted during string formatting");
  return result;
}

std::string format_text(const std::string& pattern, BuiltinArgs values) {
  std::string result;
  size_t next = 0;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if ((c == '{' || c == '}') && i + 1 < pattern.size() && pattern[i + 1] == c) {
      result += c;
      ++i;
    } else if (c == '{') {
      const size_t end = pattern.find('}', i);
      WISP_CHECK_VALUE(end != std::string::npos, "expected '}' before end of string");
      result += format_field(pattern.substr(i + 1, end - i - 1), values, next);
      i = end;
    } else {
      WISP_CHECK_VALUE(c != '}', "Single '}' encountered in format string");
      result += c;
    }
  }
  return result;
}

}  // namespace wisp::graph
