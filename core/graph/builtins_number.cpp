// Arithmetic and comparisons of Python's numbers, and conversions between them. Operands of one
// function have one type: whoever writes a graph converts them first. Integers have 64 bits and
// wrap; floor division and remainders have the sign of the divisor.
#include <cctype>
#include <charconv>
#include <cmath>

#include "graph/builtins_parts.h"

namespace wisp::graph {

namespace {

using Complex = std::complex<double>;

int64_t floor_divide(int64_t a, int64_t b) {
  if (b == 0) raise("ZeroDivisionError", "integer division or modulo by zero");
  if (b == -1) return -a;  // the smallest int has no opposite: it wraps
  const int64_t quotient = a / b;
  return quotient - ((a % b != 0) && ((a < 0) != (b < 0)));
}

int64_t remainder(int64_t a, int64_t b) {
  if (b == 0) raise("ZeroDivisionError", "integer division or modulo by zero");
  if (b == -1) return 0;
  const int64_t rest = a % b;
  return rest != 0 && ((rest < 0) != (b < 0)) ? rest + b : rest;
}

double remainder(double a, double b) {
  if (b == 0) raise("ZeroDivisionError", "float modulo");
  const double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

double floor_divide(double a, double b) {
  if (b == 0) raise("ZeroDivisionError", "float floor division by zero");
  const double quotient = (a - remainder(a, b)) / b;
  return quotient == 0 ? std::copysign(0.0, a / b) : std::round(quotient);
}

double divide(double a, double b) {
  if (b == 0) raise("ZeroDivisionError", "division by zero");
  return a / b;
}

Complex divide(Complex a, Complex b) {
  if (b == Complex(0)) raise("ZeroDivisionError", "complex division by zero");
  return a / b;
}

double power(double a, double b) {
  if (a == 0 && b < 0) raise("ZeroDivisionError", "0.0 cannot be raised to a negative power");
  return std::pow(a, b);
}

int64_t shift_left(int64_t a, int64_t b) {
  WISP_CHECK_VALUE(b >= 0, "negative shift count");
  return b > 63 ? 0 : a << b;
}

int64_t shift_right(int64_t a, int64_t b) {
  WISP_CHECK_VALUE(b >= 0, "negative shift count");
  return a >> std::min<int64_t>(b, 63);
}

int64_t to_integer(double value) {
  WISP_CHECK_VALUE(!std::isnan(value), "cannot convert float NaN to integer");
  if (!(std::abs(value) < 9223372036854775808.0))
    raise("OverflowError", "cannot convert float ", value, " to an integer of 64 bits");
  return static_cast<int64_t>(value);
}

// Of two numbers of any kinds, computed in the larger of these.
template <auto ints, auto reals, auto complexes>
Datum on_numbers(BuiltinArgs args) {
  const Scalar a = args[0].scalar(), b = args[1].scalar();
  if (a.is_complex() || b.is_complex()) return complexes(a.complex(), b.complex());
  if (a.is_integer() && b.is_integer()) return ints(a.integer(), b.integer());
  return reals(a.real(), b.real());
}

Complex no_order(Complex, Complex) {
  fail(ErrorKind::type, "complex numbers have no order, floor division or remainder");
}

std::string stripped(const std::string& text) {
  const char* blanks = " \t\n\r\f\v";
  const size_t begin = text.find_first_not_of(blanks);
  return begin == std::string::npos ? ""
                                    : text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

// A number without the underscores that may stand between its digits.
std::string digits_of(const std::string& text) {
  std::string digits;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool between = i > 0 && i + 1 < text.size() &&
                         std::isalnum(static_cast<unsigned char>(text[i - 1])) &&
                         std::isalnum(static_cast<unsigned char>(text[i + 1]));
    if (text[i] != '_' || !between) digits += text[i];
  }
  return digits;
}

// The base that a prefix like 0x says, or 0.
int prefix_base(std::string_view digits) {
  if (digits.size() < 3 || digits[0] != '0') return 0;
  const char mark = static_cast<char>(digits[1] | 0x20);
  return mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
}

int64_t integer_in(const Datum& written, int64_t base) {
  WISP_CHECK_VALUE(base == 0 || (base >= 2 && base <= 36),
                   "int() base must be >= 2 and <= 36, or 0");
  std::string text = digits_of(stripped(written.string()));
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.erase(0, 1);
  int used = base ? static_cast<int>(base) : 10;
  const int said = prefix_base(text);
  const bool prefixed = said && (base == 0 || base == said);
  if (prefixed) {
    used = said;
    text.erase(0, 2);
  }
  const bool leading_zero =
      text.size() > 1 && text[0] == '0' && text.find_first_not_of('0') != std::string::npos;
  const bool starts_well = !text.empty() && std::isalnum(static_cast<unsigned char>(text[0])) &&
                           (base || prefixed || !leading_zero);
  if (negative) text.insert(0, 1, '-');
  int64_t value = 0;
  const char* const stop = text.data() + text.size();
  const auto [end, status] = std::from_chars(text.data(), stop, value, used);
  WISP_CHECK_VALUE(starts_well && status == std::errc() && end == stop,
                   "invalid literal for int() with base ", base, ": ", repr(written));
  return value;
}

Datum parse_integer(BuiltinArgs args) { return integer_in(args[0], 10); }

Datum parse_real(BuiltinArgs args) {
  const std::string text = digits_of(stripped(args[0].string()));
  const char* begin = text.data() + text.starts_with('+');
  double value = 0;
  const auto [end, status] = std::from_chars(begin, text.data() + text.size(), value);
  WISP_CHECK_VALUE(status != std::errc::invalid_argument && end == text.data() + text.size(),
                   "could not convert string to float: ", repr(args[0]));
  return status == std::errc() ? value : std::strtod(begin, nullptr);
}

void add_arithmetic(std::vector<BuiltinRow>& table) {
#define WISP_ARITHMETIC(name, op)                                                    \
  table.push_back({name ".int(int a, int b) -> int",                                 \
                   binary<int64_t, [](int64_t a, int64_t b) { return (a op b); }>}); \
  table.push_back({name ".float(float a, float b) -> float",                         \
                   binary<double, [](double a, double b) { return (a op b); }>});    \
  table.push_back({name ".complex(complex a, complex b) -> complex",                 \
                   binary<Complex, [](Complex a, Complex b) { return (a op b); }>}); \
  table.push_back({name ".Scalar(Scalar a, Scalar b) -> Scalar",                     \
                   on_numbers<[](int64_t a, int64_t b) { return (a op b); },         \
                              [](double a, double b) { return (a op b); },           \
                              [](Complex a, Complex b) { return (a op b); }>});
  WISP_ARITHMETIC("add", +)
  WISP_ARITHMETIC("sub", -)
  WISP_ARITHMETIC("mul", *)
#undef WISP_ARITHMETIC
}

void add_divisions(std::vector<BuiltinRow>& table) {
  constexpr auto divide_reals = [](double a, double b) { return divide(a, b); };
  constexpr auto divide_complex = [](Complex a, Complex b) { return divide(a, b); };
  constexpr auto divide_ints = [](int64_t a, int64_t b) {
    return divide(static_cast<double>(a), static_cast<double>(b));
  };
  constexpr auto floor_ints = [](int64_t a, int64_t b) { return floor_divide(a, b); };
  constexpr auto floor_reals = [](double a, double b) { return floor_divide(a, b); };
  constexpr auto rest_ints = [](int64_t a, int64_t b) { return remainder(a, b); };
  constexpr auto rest_reals = [](double a, double b) { return remainder(a, b); };
  constexpr auto power_ints = [](int64_t a, int64_t b) {
    return power(static_cast<double>(a), static_cast<double>(b));
  };
  constexpr auto power_complex = [](Complex a, Complex b) { return std::pow(a, b); };
  static constexpr BuiltinRow entries[] = {
      {"div.int(int a, int b) -> float", binary<int64_t, divide_ints>},
      {"div.float(float a, float b) -> float", binary<double, divide_reals>},
      {"div.complex(complex a, complex b) -> complex", binary<Complex, divide_complex>},
      {"div.Scalar(Scalar a, Scalar b) -> Scalar",
       on_numbers<divide_ints, divide_reals, divide_complex>},
      {"floordiv.int(int a, int b) -> int", binary<int64_t, floor_ints>},
      {"floordiv.float(float a, float b) -> float", binary<double, floor_reals>},
      {"floordiv.Scalar(Scalar a, Scalar b) -> Scalar",
       on_numbers<floor_ints, floor_reals, no_order>},
      {"remainder.int(int a, int b) -> int", binary<int64_t, rest_ints>},
      {"remainder.float(float a, float b) -> float", binary<double, rest_reals>},
      {"remainder.Scalar(Scalar a, Scalar b) -> Scalar",
       on_numbers<rest_ints, rest_reals, no_order>},
      {"pow.int(int a, int b) -> float", binary<int64_t, power_ints>},
      {"pow.float(float a, float b) -> float", binary<double, power>},
      {"pow.complex(complex a, complex b) -> complex", binary<Complex, power_complex>},
      {"pow.Scalar(Scalar a, Scalar b) -> Scalar", on_numbers<power_ints, power, power_complex>},
      {"divmod.int(int a, int b) -> (int, int)",
       [](BuiltinArgs a) {
         return Datum::tuple({floor_divide(a[0].integer(), a[1].integer()),
                              remainder(a[0].integer(), a[1].integer())});
       }},
      {"divmod.float(float a, float b) -> (float, float)",
       [](BuiltinArgs a) {
         return Datum::tuple(
             {floor_divide(a[0].real(), a[1].real()), remainder(a[0].real(), a[1].real())});
       }},
  };
  table.insert(table.end(), std::begin(entries), std::end(entries));
}

void add_comparisons(std::vector<BuiltinRow>& table) {
#define WISP_COMPARISON(name, op)                                                             \
  table.push_back({name ".int(int a, int b) -> bool",                                         \
                   binary<int64_t, [](int64_t a, int64_t b) { return (a op b); }>});          \
  table.push_back({name ".float(float a, float b) -> bool",                                   \
                   binary<double, [](double a, double b) { return (a op b); }>});             \
  table.push_back({name ".str(str a, str b) -> bool",                                         \
                   [](BuiltinArgs a) -> Datum { return a[0].string() op a[1].string(); }});   \
  table.push_back({name ".Scalar(Scalar a, Scalar b) -> bool", [](BuiltinArgs a) -> Datum {   \
                     const Scalar x = a[0].scalar(), y = a[1].scalar();                       \
                     if (x.is_complex() || y.is_complex()) no_order({}, {});                  \
                     if (x.is_integer() && y.is_integer()) return x.integer() op y.integer(); \
                     return x.real() op y.real();                                             \
                   }});
  WISP_COMPARISON("lt", <)
  WISP_COMPARISON("le", <=)
  WISP_COMPARISON("gt", >)
  WISP_COMPARISON("ge", >=)
#undef WISP_COMPARISON
  static constexpr BuiltinRow entries[] = {
      {"eq.int(int a, int b) -> bool",
       binary<int64_t, [](int64_t a, int64_t b) { return a == b; }>},
      {"eq.float(float a, float b) -> bool",
       binary<double, [](double a, double b) { return a == b; }>},
      {"eq.any(Any a, Any b) -> bool", [](BuiltinArgs a) -> Datum { return alike(a[0], a[1]); }},
      {"ne.int(int a, int b) -> bool",
       binary<int64_t, [](int64_t a, int64_t b) { return a != b; }>},
      {"ne.float(float a, float b) -> bool",
       binary<double, [](double a, double b) { return a != b; }>},
      {"ne.any(Any a, Any b) -> bool", [](BuiltinArgs a) -> Datum { return !alike(a[0], a[1]); }},
  };
  table.insert(table.end(), std::begin(entries), std::end(entries));
}

// Whether two values are one object; values without an identity are compared.
bool is_same(const Datum& a, const Datum& b) {
  if (a.tag() != b.tag()) return false;
  switch (a.tag()) {
    case Tag::list:
    case Tag::tuple:
      return &a.items() == &b.items();
    case Tag::dict:
      return &a.dict_data() == &b.dict_data();
    default:
      return equal(a, b);
  }
}

void add_logic(std::vector<BuiltinRow>& table) {
  static constexpr BuiltinRow entries[] = {
      {"__and__.int(int a, int b) -> int",
       binary<int64_t, [](int64_t a, int64_t b) { return a & b; }>},
      {"__and__.bool(bool a, bool b) -> bool", binary<bool, [](bool a, bool b) { return a && b; }>},
      {"__or__.int(int a, int b) -> int",
       binary<int64_t, [](int64_t a, int64_t b) { return a | b; }>},
      {"__or__.bool(bool a, bool b) -> bool", binary<bool, [](bool a, bool b) { return a || b; }>},
      {"__xor__.int(int a, int b) -> int",
       binary<int64_t, [](int64_t a, int64_t b) { return a ^ b; }>},
      {"__xor__.bool(bool a, bool b) -> bool", binary<bool, [](bool a, bool b) { return a != b; }>},
      {"__lshift__.int(int a, int b) -> int", binary<int64_t, shift_left>},
      {"__rshift__.int(int a, int b) -> int", binary<int64_t, shift_right>},
      {"bitwise_not.int(int a) -> int", unary<int64_t, [](int64_t a) { return ~a; }>},
      {"__not__(bool a) -> bool", unary<bool, [](bool a) { return !a; }>},
      {"__is__(Any a, Any b) -> bool", [](BuiltinArgs a) -> Datum { return is_same(a[0], a[1]); }},
      {"__isnot__(Any a, Any b) -> bool",
       [](BuiltinArgs a) -> Datum { return !is_same(a[0], a[1]); }},
      {"neg.int(int a) -> int", unary<int64_t, [](int64_t a) { return -a; }>},
      {"neg.float(float a) -> float", unary<double, [](double a) { return -a; }>},
      {"neg.complex(complex a) -> complex", unary<Complex, [](Complex a) { return -a; }>},
      {"neg.Scalar(Scalar a) -> Scalar", [](BuiltinArgs a) -> Datum { return -a[0].scalar(); }},
      {"abs.int(int a) -> int", unary<int64_t, [](int64_t a) { return a < 0 ? -a : a; }>},
      {"abs.float(float a) -> float", unary<double, [](double a) { return std::abs(a); }>},
      {"abs.complex(complex a) -> float", unary<Complex, [](Complex a) { return std::abs(a); }>},
      {"abs.Scalar(Scalar a) -> Scalar",
       [](BuiltinArgs a) -> Datum {
         const Scalar x = a[0].scalar();
         if (x.is_complex()) return std::abs(x.complex());
         if (x.is_integer()) return x.integer() < 0 ? -x.integer() : x.integer();
         return std::abs(x.real());
       }},
  };
  table.insert(table.end(), std::begin(entries), std::end(entries));
}

void add_conversions(std::vector<BuiltinRow>& table) {
  static constexpr BuiltinRow entries[] = {
      {"Int.float(float a) -> int", unary<double, to_integer>},
      {"Int.bool(bool a) -> int", unary<bool, [](bool a) { return static_cast<int64_t>(a); }>},
      {"Int.Scalar(Scalar a) -> int",
       [](BuiltinArgs a) -> Datum {
         const Scalar x = a[0].scalar();
         WISP_CHECK_TYPE(!x.is_complex(), "int() argument must not be complex");
         return x.is_integer() ? x.integer() : to_integer(x.real());
       }},
      {"Int.str(str a) -> int", parse_integer},
      {"Int.base(str a, int base) -> int",
       [](BuiltinArgs a) -> Datum { return integer_in(a[0], a[1].integer()); }},
      {"Float.int(int a) -> float",
       unary<int64_t, [](int64_t a) { return static_cast<double>(a); }>},
      {"Float.bool(bool a) -> float", unary<bool, [](bool a) { return a ? 1.0 : 0.0; }>},
      {"Float.Scalar(Scalar a) -> float",
       [](BuiltinArgs a) -> Datum {
         WISP_CHECK_TYPE(!a[0].scalar().is_complex(), "float() argument must not be complex");
         return a[0].scalar().real();
       }},
      {"Float.str(str a) -> float", parse_real},
      {"Bool.int(int a) -> bool", unary<int64_t, [](int64_t a) { return a != 0; }>},
      {"Bool.float(float a) -> bool", unary<double, [](double a) { return a != 0; }>},
      {"Bool.Scalar(Scalar a) -> bool",
       [](BuiltinArgs a) -> Datum { return a[0].scalar().truth(); }},
      {"Complex.Scalar(Scalar a) -> complex",
       [](BuiltinArgs a) -> Datum { return a[0].scalar().complex(); }},
      {"Complex.parts(float real, float imag) -> complex",
       [](BuiltinArgs a) -> Datum { return Complex(a[0].real(), a[1].real()); }},
      {"Scalar.any(Scalar a) -> Scalar", [](BuiltinArgs a) -> Datum { return std::move(a[0]); }},
      {"real.complex(complex a) -> float", unary<Complex, [](Complex a) { return a.real(); }>},
      {"imag.complex(complex a) -> float", unary<Complex, [](Complex a) { return a.imag(); }>},
  };
  table.insert(table.end(), std::begin(entries), std::end(entries));
}

}  // namespace

void add_number_builtins(std::vector<BuiltinRow>& table) {
  add_arithmetic(table);
  add_divisions(table);
  add_comparisons(table);
  add_logic(table);
  add_conversions(table);
}

}  // namespace wisp::graph
