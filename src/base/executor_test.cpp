// What every executor owes: each task once, worker numbers to themselves, nesting, several callers.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <espalier/executor.hpp>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace espalier {
namespace {

struct Kind {
  std::string name;
  std::function<std::shared_ptr<Executor>()> make;
};

std::shared_ptr<Executor> borrowed(Executor& executor) {
  return {&executor, [](Executor*) {}};
}

std::vector<Kind> kinds() {
  return {
      {"serial", [] { return borrowed(serial_executor()); }},
      {"standard1", [] { return std::shared_ptr<Executor>(make_executor(1)); }},
      {"standard4", [] { return std::shared_ptr<Executor>(make_executor(4)); }},
      {"pool1", [] { return std::shared_ptr<Executor>(make_thread_pool(1)); }},
      {"pool4", [] { return std::shared_ptr<Executor>(make_thread_pool(4)); }},
      {"shared", [] { return borrowed(default_executor()); }},
  };
}

class Executors : public testing::TestWithParam<Kind> {
 protected:
  std::shared_ptr<Executor> executor_ = GetParam().make();
};
INSTANTIATE_TEST_SUITE_P(All, Executors, testing::ValuesIn(kinds()),
                         [](const testing::TestParamInfo<Kind>& param) { return param.param.name; });

TEST_P(Executors, RunEveryTaskOnce) {
  for (const std::int64_t count : {0, 1, 2, 3, 4, 5, 7, 100, 1000}) {
    std::vector<std::atomic<int>> runs(static_cast<std::size_t>(count));
    executor_->parallel_for(count, [&](std::int64_t task, int worker) {
      EXPECT_GE(worker, 0);
      EXPECT_LT(worker, executor_->size());
      ++runs[static_cast<std::size_t>(task)];
    });
    for (const auto& run : runs) EXPECT_EQ(run.load(), 1);
  }
}

TEST_P(Executors, WorkerNumbersNeverOverlap) {
  std::vector<std::atomic<int>> busy(static_cast<std::size_t>(executor_->size()));
  for (int round = 0; round < 50; ++round) {
    executor_->parallel_for(64, [&](std::int64_t, int worker) {
      std::atomic<int>& mine = busy[static_cast<std::size_t>(worker)];
      EXPECT_EQ(mine.fetch_add(1), 0);
      std::this_thread::yield();
      mine.fetch_sub(1);
    });
  }
}

TEST_P(Executors, ReturnAfterTheLastTaskAndShowItsWrites) {
  std::vector<std::int64_t> squares(500);
  for (int round = 0; round < 20; ++round) {
    executor_->parallel_for(500,
                            [&](std::int64_t task, int) { squares[static_cast<std::size_t>(task)] = task * round; });
    EXPECT_EQ(std::accumulate(squares.begin(), squares.end(), std::int64_t{0}), 124750 * round);
  }
}

TEST_P(Executors, RunTasksInContiguousRuns) {
  std::vector<int> worker_of(97);
  executor_->parallel_for(97,
                          [&](std::int64_t task, int worker) { worker_of[static_cast<std::size_t>(task)] = worker; });
  EXPECT_TRUE(std::is_sorted(worker_of.begin(), worker_of.end()));
}

TEST_P(Executors, Nest) {
  std::atomic<int> runs{0};
  executor_->parallel_for(8, [&](std::int64_t, int) {
    executor_->parallel_for(8,
                            [&](std::int64_t, int) { executor_->parallel_for(3, [&](std::int64_t, int) { ++runs; }); });
  });
  EXPECT_EQ(runs.load(), 8 * 8 * 3);
}

TEST_P(Executors, NestInOtherExecutors) {
  const auto other = make_thread_pool(3);
  std::atomic<int> runs{0};
  executor_->parallel_for(6, [&](std::int64_t, int) {
    other->parallel_for(6, [&](std::int64_t, int) { executor_->parallel_for(6, [&](std::int64_t, int) { ++runs; }); });
  });
  EXPECT_EQ(runs.load(), 6 * 6 * 6);
}

TEST_P(Executors, ServeSeveralCallers) {
  constexpr int kCallers = 4, kRounds = 50, kTasks = 40;
  std::vector<std::int64_t> sums(kCallers);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < kCallers; ++caller) {
    callers.emplace_back([&, caller] {
      for (int round = 0; round < kRounds; ++round) {
        std::vector<std::int64_t> of_worker(static_cast<std::size_t>(executor_->size()));
        executor_->parallel_for(kTasks, [&](std::int64_t task, int worker) {
          of_worker[static_cast<std::size_t>(worker)] += task;  // racy if a worker number were shared within a call
        });
        sums[static_cast<std::size_t>(caller)] += std::accumulate(of_worker.begin(), of_worker.end(), std::int64_t{0});
      }
    });
  }
  for (std::thread& thread : callers) thread.join();
  for (const std::int64_t sum : sums) EXPECT_EQ(sum, kRounds * kTasks * (kTasks - 1) / 2);
}

TEST(ExecutorSizes, AreWhatWasAsked) {
  EXPECT_EQ(serial_executor().size(), 1);
  EXPECT_EQ(make_executor(3)->size(), 3);
  EXPECT_EQ(make_thread_pool(3)->size(), 3);
  EXPECT_EQ(make_executor()->size(), available_cores());
  EXPECT_EQ(&default_executor(), &default_executor());
  EXPECT_GE(available_cores(), 1);
}

}  // namespace
}  // namespace espalier
