// How OpenMP's threads wait for their next task.
//
// libgomp lets them spin for milliseconds. That is best while the cores are theirs. Where another process wants the
// cores too, a thread that spins uses up its share of the time, and the scheduler then holds it back in the middle of
// its work while the others spin for it: a network of 1 ms takes hundreds. Threads that sleep run at once when they
// wake.
#pragma once

#include <chrono>

namespace espalier {

// Judges by involuntary context switches whether others want the cores. Not thread-safe.
class CoreWatch {
 public:
  using Clock = std::chrono::steady_clock;

  // A look at `now`, at least kWindow after the last one, with the switches that the process has counted since its
  // start. True: waiting should be short.
  bool look(Clock::time_point now, long switches);

  // A neighbour that is always busy takes a core away about every 4 ms.
  static constexpr std::chrono::milliseconds kWindow{50};
  static constexpr int kOften = 4;  // times in a window
  // How long waiting stays short before the other is tried again; doubled each time that the neighbour is still there.
  static constexpr std::chrono::milliseconds kShortest{500}, kLongest{16'000};

 private:
  bool short_ = false;
  Clock::time_point until_, tried_, looked_;
  std::chrono::milliseconds hold_ = kShortest;
  long switches_ = 0;
};

// To be called between pieces of work: watches how often the scheduler takes a core away, and lets waiting threads
// sleep at once (and for a while) where that is often. Costs a clock read. Does nothing without OpenMP, and where the
// environment says how to wait (OMP_WAIT_POLICY, GOMP_SPINCOUNT). Thread-safe.
void adapt_waiting();

}  // namespace espalier
