// A few lines of test framework: TEST("name") { CHECK(condition); CHECK_THROWS(expression, "text");
// }
#pragma once

#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/error.h"

namespace wisp::test {

struct Case {
  const char* name;
  void (*run)();
};
inline std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}
struct Register {
  Register(const char* name, void (*run)()) { cases().push_back({name, run}); }
};

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};
inline void check(bool ok, const char* text, const char* file, int line) {
  if (!ok) throw Failure(std::string(file) + ":" + std::to_string(line) + ": " + text);
}

template <class F>
void check_throws(F f, const std::string& text, const char* file, int line) {
  try {
    f();
  } catch (const Error& error) {
    const bool found = std::string(error.what()).find(text) != std::string::npos;
    check(found, (std::string("message '") + error.what() + "' lacks '" + text + "'").c_str(), file,
          line);
    return;
  }
  check(false, ("no error; expected '" + text + "'").c_str(), file, line);
}

}  // namespace wisp::test

#define WISP_JOIN2(a, b) a##b
#define WISP_JOIN(a, b) WISP_JOIN2(a, b)
#define TEST(name)                                                                              \
  static void WISP_JOIN(test_, __LINE__)();                                                     \
  static wisp::test::Register WISP_JOIN(register_, __LINE__)(name, WISP_JOIN(test_, __LINE__)); \
  static void WISP_JOIN(test_, __LINE__)()
#define CHECK(condition) \
  wisp::test::check(static_cast<bool>(condition), #condition, __FILE__, __LINE__)
#define CHECK_THROWS(expression, text) \
  wisp::test::check_throws([&] { (void)(expression); }, text, __FILE__, __LINE__)
