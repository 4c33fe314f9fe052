#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace espalier::cli {

namespace {

using std::chrono::steady_clock;

constexpr auto kPatience = std::chrono::seconds(2);
constexpr auto kInterval = std::chrono::milliseconds(250);

std::string bar(std::int64_t done, std::int64_t total) {
  constexpr std::int64_t kWidth = 30;
  const auto filled = static_cast<std::size_t>(kWidth * done / total);
  return fmt::format("[{}{}] {:3}%", std::string(filled, '='), std::string(kWidth - filled, ' '), 100 * done / total);
}

}  // namespace

Progress::Progress(std::string label, std::int64_t total) : label_(std::move(label)), total_(total) {
  if (isatty(STDERR_FILENO) != 0) drawer_ = std::thread([this] { draw_until_stopped(); });
}

Progress::~Progress() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stop_signal_.notify_all();
  if (drawer_.joinable()) drawer_.join();
}

void Progress::draw_until_stopped() {
  const auto start = steady_clock::now();
  std::unique_lock lock(mutex_);
  if (stop_signal_.wait_for(lock, kPatience, [this] { return stop_; })) return;
  do {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(steady_clock::now() - start).count();
    const std::string share = total_ > 0 ? bar(std::min<std::int64_t>(done_, total_), total_) + " " : std::string();
    fmt::print(stderr, "\r\033[K{} {}{} s", label_, share, seconds);
    std::fflush(stderr);
  } while (!stop_signal_.wait_for(lock, kInterval, [this] { return stop_; }));
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
}

}  // namespace espalier::cli
