#include "base/trials.h"

#include "tests/check.h"

using namespace wisp;

namespace {

constexpr Trials::Rules rules{.least_time = 15'000, .clearly = 8};

// Runs all trials of a key with these times, and gives what was settled.
bool settled(Trials& trials, uint64_t key, int64_t plain, int64_t other) {
  for (;;) {
    const Trials::Choice choice = trials.choose(key);
    if (choice.at < 0) return choice.other;
    trials.note(choice, choice.other ? other : plain);
  }
}

}  // namespace

TEST("trials: trials settle on the faster way, for each key") {
  Trials trials(rules);
  CHECK(settled(trials, 2, 100'000, 60'000));
  CHECK(!settled(trials, 4, 100'000, 95'000));  // hardly
  CHECK(!settled(trials, 6, 100'000, 150'000));
  CHECK(!settled(trials, 8, 10'000, 1'000));  // too short
  CHECK(settled(trials, 2, 1, 1));            // is known
  for (uint64_t key = 100; key < 200; key += 2) settled(trials, key, 100'000, 60'000);
  CHECK(!settled(trials, 1000, 100'000, 60'000));  // too many
}

TEST("trials: what is far slower is tried in four rounds, whichever way it is") {
  for (const bool slow : {true, false}) {
    Trials trials(rules);
    int tried = 0;
    for (int call = 0; call < 30; ++call) {
      const Trials::Choice choice = trials.choose(2);
      if (choice.at >= 0) trials.note(choice, choice.other == slow ? 150'000 : 100'000);
      tried += choice.at >= 0 && choice.other == slow;
    }
    CHECK(tried == 4 * Trials::in_a_row);
    CHECK(trials.choose(2).other == !slow);
  }
}

TEST("trials: the first call after one that went the other way does not count") {
  Trials trials({});
  bool before = false;
  for (int call = 0; call < 1000; ++call) {
    const Trials::Choice choice = trials.choose(2);
    const int64_t time = choice.other ? 90 : 100;
    if (choice.at >= 0) trials.note(choice, choice.other == before ? time : 10 * time - 800);
    before = choice.other;
  }
  CHECK(trials.times(2).plain == 100 && trials.times(2).other == 90 && trials.choose(2).other);
}

TEST("trials: a choice made while the machine was busy is put right") {
  Trials trials(rules);
  CHECK(settled(trials, 2, 100'000, 60'000));
  int chosen = 0;
  for (int call = 0; call < 1000; ++call) {
    const Trials::Choice choice = trials.choose(2);
    if (choice.at >= 0) trials.note(choice, choice.other ? 60'000 : 50'000);
    chosen += choice.other && choice.at < 0;
  }
  CHECK(chosen < 150);
}

TEST("trials: without rules the least gain is enough, however short") {
  Trials trials({});
  CHECK(settled(trials, 2, 100, 99));
  CHECK(!settled(trials, 4, 100, 100));
  CHECK(trials.times(2).known() && trials.times(2).other == 99 && !trials.times(6).known());
}

TEST("trials: work that has become longer is judged by what it takes now") {
  Trials trials({});
  CHECK(settled(trials, 2, 100, 60));
  int chosen = 0;
  for (int call = 0; call < 20'000; ++call) {
    const Trials::Choice choice = trials.choose(2);
    if (choice.at >= 0) trials.note(choice, choice.other ? 1200 : 1000);
    chosen += choice.other && choice.at < 0 && call > 19'000;
  }
  CHECK(chosen == 0);
}

TEST("trials: size classes are a fourth wide") {
  CHECK(size_class(1024) == size_class(1279) && size_class(1279) != size_class(1280));
  CHECK(size_class(0) != size_class(1) && size_class(3) != size_class(4));
}
