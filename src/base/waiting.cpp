// libgomp cannot be told after its start how long to spin, but it spins 100 instead of 300,000 times while more threads
// are in its teams than there are cores (its manual, GOMP_SPINCOUNT). A crowd is a team of threads that sleep: as long
// as it exists, everybody's waiting is short.
#include "base/waiting.hpp"

#include <algorithm>

#if ESPALIER_WITH_OPENMP
#include <omp.h>
#include <pthread.h>
#include <sys/resource.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <utility>
#endif

namespace espalier {

bool CoreWatch::look(Clock::time_point now, long switches) {
  const double windows = std::chrono::duration<double>(now - looked_) / std::chrono::duration<double>(kWindow);
  const bool often = static_cast<double>(switches - switches_) >= kOften * std::max(1.0, windows);
  switches_ = switches;
  looked_ = now;
  if (short_) {
    short_ = now < until_;
    if (!short_) tried_ = now;
  } else if (often) {
    hold_ = now - tried_ < 3 * kWindow ? std::min(2 * hold_, kLongest) : kShortest;
    until_ = now + hold_;
    short_ = true;
  }
  return short_;
}

#if ESPALIER_WITH_OPENMP
namespace {

class Crowd {
 public:
  void gather() {
    const std::lock_guard lock(mutex_);
    if (std::exchange(wanted_, true)) return;
    pthread_t thread{};
    if (pthread_create(&thread, nullptr, &Crowd::stand, this) == 0) {
      pthread_detach(thread);
    } else {
      wanted_ = false;
    }
  }
  void leave() {
    {
      const std::lock_guard lock(mutex_);
      if (!std::exchange(wanted_, false)) return;
    }
    changed_.notify_all();
  }

 private:
  // The team ends with the thread that leads it.
  static void* stand(void* self) {
    Crowd& crowd = *static_cast<Crowd*>(self);
#pragma omp parallel num_threads(std::max(omp_get_num_procs(), omp_get_max_threads()) + 1)
    {
      std::unique_lock lock(crowd.mutex_);
      crowd.changed_.wait(lock, [&] { return !crowd.wanted_; });
    }
    return nullptr;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool wanted_ = false;
};

class Waiting {
 public:
  void adapt() {
    const CoreWatch::Clock::time_point now = CoreWatch::Clock::now();
    if (now.time_since_epoch().count() < next_.load(std::memory_order_relaxed)) return;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return;
    next_.store((now + CoreWatch::kWindow).time_since_epoch().count(), std::memory_order_relaxed);
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    if (watch_.look(now, usage.ru_nivcsw)) {
      crowd_.gather();
    } else {
      crowd_.leave();
    }
  }

 private:
  std::atomic<CoreWatch::Clock::rep> next_{0};
  std::mutex mutex_;  // guards what follows
  CoreWatch watch_;
  Crowd crowd_;
};

}  // namespace

void adapt_waiting() {
  static const bool told = std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr;
  // Never destroyed: a crowd may still stand when the program ends.
  static Waiting& waiting = *new Waiting;
  if (!told) waiting.adapt();
}
#else
void adapt_waiting() {}
#endif

}  // namespace espalier
