#include "base/waiting.hpp"

#include <gtest/gtest.h>

namespace espalier {
namespace {

using std::chrono::milliseconds;

// Looks once a window; each look sees `switches` more than the last.
class Looks {
 public:
  bool after(long switches, int windows = 1) {
    now_ += windows * CoreWatch::kWindow;
    total_ += switches;
    return watch_.look(now_, total_);
  }
  // Looks with `switches` each until waiting is no longer short; how long that took.
  milliseconds short_for(long switches) {
    milliseconds passed{0};
    while (after(switches)) passed += CoreWatch::kWindow;
    return passed;
  }

 private:
  CoreWatch watch_;
  CoreWatch::Clock::time_point now_ = CoreWatch::Clock::time_point(std::chrono::hours(1));
  long total_ = 1000;
};

TEST(CoreWatch, LeavesAQuietMachineAlone) {
  Looks looks;
  EXPECT_FALSE(looks.after(0));
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(looks.after(CoreWatch::kOften - 1));
  EXPECT_FALSE(looks.after(10 * CoreWatch::kOften, 100));  // few for the time that has passed
}

TEST(CoreWatch, ShortensWaitingBesideABusyNeighbour) {
  Looks looks;
  EXPECT_FALSE(looks.after(0));
  EXPECT_TRUE(looks.after(CoreWatch::kOften));
  const milliseconds first = looks.short_for(0);
  EXPECT_GE(first + CoreWatch::kWindow, CoreWatch::kShortest);
  EXPECT_FALSE(looks.after(0));
}

TEST(CoreWatch, TriesMoreRarelyTheLongerTheNeighbourStays) {
  Looks looks;
  looks.after(0);
  looks.after(CoreWatch::kOften);
  milliseconds last{0};
  for (int i = 0; i < 4; ++i) {
    const milliseconds held = looks.short_for(0);
    EXPECT_GT(held, last);
    last = held;
    EXPECT_TRUE(looks.after(CoreWatch::kOften));
  }
  for (int i = 0; i < 10; ++i) {
    EXPECT_LE(looks.short_for(0), CoreWatch::kLongest);
    EXPECT_TRUE(looks.after(CoreWatch::kOften));
  }
  // Once it has gone for a while, the next starts short again.
  looks.short_for(0);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(looks.after(0));
  EXPECT_TRUE(looks.after(CoreWatch::kOften));
  EXPECT_LE(looks.short_for(0), CoreWatch::kShortest);
}

}  // namespace
}  // namespace espalier
