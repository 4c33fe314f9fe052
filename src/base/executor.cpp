// The executors: serial, OpenMP, and a pool of std::thread. The only file that knows threads.
#include <sched.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <espalier/executor.hpp>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#if ESPALIER_WITH_OPENMP
#include <omp.h>
#endif

namespace espalier {
namespace {

// Set while a thread runs a task of a pool or of OpenMP: a parallel_for from inside a task runs in its own thread,
// since the workers it would wait for may be waiting for it.
thread_local bool inside_task = false;

class TaskScope {
 public:
  TaskScope() : before_(std::exchange(inside_task, true)) {}
  TaskScope(const TaskScope&) = delete;
  TaskScope& operator=(const TaskScope&) = delete;
  ~TaskScope() { inside_task = before_; }

 private:
  const bool before_;
};

void run_here(std::int64_t count, const TaskRef& fn) {
  for (std::int64_t task = 0; task < count; ++task) fn(task, 0);
}

class SerialExecutor final : public Executor {
 public:
  int size() const override { return 1; }
  void parallel_for(std::int64_t count, TaskRef fn) override { run_here(count, fn); }
};

// Workers take the tasks of one contiguous share each, so that which worker runs a task never depends on timing.
struct Share {
  std::int64_t first, last;
};
Share share_of(std::int64_t count, int worker, int workers) {
  return {count * worker / workers, count * (worker + 1) / workers};
}

class ThreadPool final : public Executor {
 public:
  explicit ThreadPool(int threads) : size_(threads) {
    for (int worker = 1; worker < size_; ++worker) threads_.emplace_back([this, worker] { serve(worker); });
  }
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool() override {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    start_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  int size() const override { return size_; }

  void parallel_for(std::int64_t count, TaskRef fn) override {
    if (size_ == 1 || count <= 1 || inside_task) return run_here(count, fn);
    const std::lock_guard one_caller(callers_);
    {
      const std::lock_guard lock(mutex_);
      job_ = &fn;
      count_ = count;
      running_ = size_ - 1;
      ++generation_;
    }
    start_.notify_all();
    run_share(fn, count, 0);
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return running_ == 0; });
    job_ = nullptr;
  }

 private:
  void run_share(const TaskRef& fn, std::int64_t count, int worker) const {
    const TaskScope scope;
    const Share share = share_of(count, worker, size_);
    for (std::int64_t task = share.first; task < share.last; ++task) fn(task, worker);
  }

  void serve(int worker) {
    std::int64_t seen = 0;
    for (;;) {
      const TaskRef* job = nullptr;
      std::int64_t count = 0;
      {
        std::unique_lock lock(mutex_);
        start_.wait(lock, [&] { return stop_ || generation_ != seen; });
        if (stop_) return;
        seen = generation_;
        job = job_;
        count = count_;
      }
      run_share(*job, count, worker);
      const std::lock_guard lock(mutex_);
      if (--running_ == 0) done_.notify_one();
    }
  }

  const int size_;
  std::vector<std::thread> threads_;
  std::mutex callers_;  // one parallel_for at a time
  std::mutex mutex_;    // guards what follows
  std::condition_variable start_, done_;
  const TaskRef* job_ = nullptr;
  std::int64_t count_ = 0;
  std::int64_t generation_ = 0;
  int running_ = 0;
  bool stop_ = false;
};

#if ESPALIER_WITH_OPENMP
class OpenMpExecutor final : public Executor {
 public:
  explicit OpenMpExecutor(int threads) : size_(threads) {}
  int size() const override { return size_; }
  void parallel_for(std::int64_t count, TaskRef fn) override {
    if (size_ == 1 || count <= 1 || inside_task) return run_here(count, fn);
#pragma omp parallel num_threads(size_)
    {
      const TaskScope scope;
      // OpenMP may grant fewer threads than asked for.
      const int granted = omp_get_num_threads();
      const int worker = omp_get_thread_num();
      const Share share = share_of(count, worker, granted);
      for (std::int64_t task = share.first; task < share.last; ++task) fn(task, worker);
    }
  }

 private:
  const int size_;
};
#endif

// Cores by the cgroup's CPU quota (v2, then v1), or `fallback` when there is none.
int cores_by_quota(int fallback) {
  double quota = 0, period = 0;
  if (std::ifstream file("/sys/fs/cgroup/cpu.max"); file) {
    std::string first;
    if (!(file >> first >> period) || first == "max") return fallback;
    quota = std::strtod(first.c_str(), nullptr);
  } else {
    std::ifstream quota_file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
    std::ifstream period_file("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
    if (!(quota_file >> quota) || !(period_file >> period)) return fallback;
  }
  if (quota <= 0 || period <= 0) return fallback;
  return std::min(fallback, std::max(1, static_cast<int>(quota / period)));
}

}  // namespace

int available_cores() {
  static const int cores = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    const int by_affinity = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return cores_by_quota(std::max(1, by_affinity));
  }();
  return cores;
}

Executor& serial_executor() {
  static SerialExecutor executor;
  return executor;
}

std::unique_ptr<Executor> make_thread_pool(int threads) {
  return std::make_unique<ThreadPool>(threads > 0 ? threads : available_cores());
}

std::unique_ptr<Executor> make_executor(int threads) {
#if ESPALIER_WITH_OPENMP
  return std::make_unique<OpenMpExecutor>(threads > 0 ? threads : available_cores());
#else
  return make_thread_pool(threads);
#endif
}

Executor& default_executor() {
  static const std::unique_ptr<Executor> executor = make_executor();
  return *executor;
}

}  // namespace espalier
