// Where work runs. Kernels and products never start threads: they split their work into `count` independent tasks and
// hand them to an Executor. Results never depend on which executor runs them or how many workers it has.
#pragma once

#include <cstdint>
#include <espalier/export.hpp>
#include <memory>
#include <type_traits>

namespace espalier {

// A reference to a callable `void(std::int64_t task, int worker)`: two words, no allocation. It must not outlive the
// callable.
class TaskRef {
 public:
  template <typename F, typename = std::enable_if_t<!std::is_same_v<std::remove_cvref_t<F>, TaskRef>>>
  TaskRef(F&& callable)  // NOLINT(google-explicit-constructor): a lambda is passed where a TaskRef is taken
      : object_(const_cast<void*>(static_cast<const void*>(&callable))),
        call_([](void* object, std::int64_t task, int worker) {
          (*static_cast<std::remove_reference_t<F>*>(object))(task, worker);
        }) {}

  void operator()(std::int64_t task, int worker) const { call_(object_, task, worker); }

 private:
  void* object_;
  void (*call_)(void*, std::int64_t, int);
};

class ESPALIER_API Executor {
 public:
  virtual ~Executor() = default;
  // Workers that may run at once; worker numbers are 0 .. size() - 1.
  virtual int size() const = 0;
  // Runs fn(task, worker) for task = 0 .. count - 1 and returns when all are done. Within one call no two tasks with
  // the same worker number overlap. Tasks are handed out in contiguous runs: task i goes to worker i * size() / count
  // when all workers are free. May be called from several threads at once; a call from inside a task runs in that
  // task's thread.
  virtual void parallel_for(std::int64_t count, TaskRef fn) = 0;
};

// Runs everything in the calling thread.
ESPALIER_API Executor& serial_executor();
// OpenMP where the library was built with it (it then shares OpenMP's threads with oneDNN), else a pool. `threads` <= 0
// means available_cores().
ESPALIER_API std::unique_ptr<Executor> make_executor(int threads = 0);
// A pool of std::thread that belongs to the executor; what sanitizers can follow.
ESPALIER_API std::unique_ptr<Executor> make_thread_pool(int threads = 0);
// One shared executor over available_cores(), made at first use.
ESPALIER_API Executor& default_executor();
// Cores that this process may use: affinity and cgroup quota included, at least 1.
ESPALIER_API int available_cores();

}  // namespace espalier
