#include "lazy/sites.h"

#include <memory>
#include <random>

#include "tests/check.h"

using namespace wisp;
using namespace wisp::lazy;

namespace {

uint64_t site(uint64_t number) { return mixed(7, number) | 1; }

Entry kernel_at(uint64_t number) {
  Entry made;
  made.site = site(number);
  return made;
}

// Calls of a program, told as they are after a function has run.
class Program {
 public:
  // A function with one piece of kernels at these sites. Gives which of them were put off.
  std::vector<bool> run(std::vector<uint64_t> numbers, bool gains) {
    sites_->begin();
    std::vector<bool> put_off;
    std::vector<Entry> entries;
    for (const uint64_t number : numbers) {
      put_off.push_back(sites_->puts_off(site(number)));
      if (put_off.back()) entries.push_back(kernel_at(number));
    }
    if (entries.empty()) return put_off;
    const bool joined = entries.size() > 1;
    const Piece piece{0, static_cast<uint32_t>(entries.size()),
                      joined ? std::make_shared<const Plan>() : nullptr};
    sites_->learn(entries, {&piece, 1}, std::vector<bool>(entries.size(), gains));
    return put_off;
  }
  bool puts_off(uint64_t number) { return run({number}, false)[0]; }
  void forget() { sites_->forget(); }

 private:
  const std::unique_ptr<Sites> sites_ = std::make_unique<Sites>();
};

bool are_equal(const std::vector<bool>& values) {
  return std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
}

}  // namespace

TEST("sites: what gains nothing is put off no more, until all are asked again") {
  Program program;
  for (int i = 0; i < Sites::patience; ++i) CHECK(program.puts_off(1));
  int again = 0;
  for (uint32_t i = 0; i < Sites::calls_at_once; ++i) again += program.puts_off(1);
  CHECK(again == 0);
  CHECK(program.puts_off(1) && !program.puts_off(1));
}

TEST("sites: whatever ran before they were forgotten, all are asked again as late as ever") {
  Program program;
  for (uint32_t i = 0; i < Sites::calls_at_once; ++i) program.puts_off(1);
  program.forget();
  for (int i = 0; i < Sites::patience; ++i) CHECK(program.puts_off(1));
  for (uint32_t i = 0; i < Sites::calls_at_once; ++i) CHECK(!program.puts_off(1));
  CHECK(program.puts_off(1));
}

TEST("sites: kernels that were joined are put off together or not at all") {
  Program program;
  std::mt19937 random(0);
  const std::vector<std::vector<uint64_t>> pieces{{1, 2, 3}, {3, 4}, {5, 6}, {6, 7, 1}, {8, 9}};
  for (const auto& piece : pieces) program.run(piece, false);
  for (int i = 0; i < 5000; ++i) {
    const auto put_off = program.run(pieces[random() % pieces.size()], random() % 16 == 0);
    CHECK(are_equal(put_off));
  }
}

TEST("sites: too many are forgotten together") {
  Program program;
  std::mt19937 random(0);
  uint64_t others = 100;
  for (int i = 0; i < 5000; ++i) {
    CHECK(are_equal(program.run({1, 2, 3, 4, 5, 6}, random() % 16 == 0)));
    for (int k = 0; k < 8; ++k) program.run({++others}, false);
  }
}

TEST("sites: nothing changes while a function runs") {
  Sites& sites = *new Sites;  // too large for a stack
  const std::unique_ptr<Sites> owner(&sites);
  const std::vector<Entry> entries{kernel_at(1)};
  const auto learn = [&](bool gains) { sites.learn(entries, {}, {gains}); };
  sites.begin();
  for (int i = 0; i < 2 * Sites::patience; ++i) {
    CHECK(sites.puts_off(site(1)));
    learn(false);
  }
  sites.begin();
  CHECK(!sites.puts_off(site(1)));
  learn(true);
  CHECK(!sites.puts_off(site(1)));
  sites.begin();
  CHECK(sites.puts_off(site(1)));
}
