// A line on stderr for work that takes more than two seconds; nothing when stderr is not a terminal.
//
// A thread draws it, so that the work itself need not; it is erased when the object goes. `advance` may be called from
// any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace espalier::cli {

class Progress {
 public:
  // `total` 0: the end is not known, only the time that has passed is shown.
  explicit Progress(std::string label, std::int64_t total = 0);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void advance(std::int64_t by = 1) { done_ += by; }

 private:
  void draw_until_stopped();

  std::string label_;
  std::int64_t total_;
  std::atomic<std::int64_t> done_{0};
  std::mutex mutex_;
  std::condition_variable stop_signal_;
  bool stop_ = false;
  std::thread drawer_;
};

}  // namespace espalier::cli
