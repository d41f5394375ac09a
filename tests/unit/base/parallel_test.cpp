#include "base/parallel.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <mercer/error.hpp>

#include <atomic>
#include <cerrno>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/fail.hpp"

namespace mercer {
namespace {

class Parallel : public testing::Test {
 protected:
  void TearDown() override { set_threads(0); }
};

/// How often each index was visited.
std::vector<int> visits(Index count) {
  std::vector<std::atomic<int>> seen(static_cast<std::size_t>(count));
  parallel_for(count, [&](Index i) { ++seen[static_cast<std::size_t>(i)]; });
  return {seen.begin(), seen.end()};
}

TEST_F(Parallel, EachIndexOnce) {
  for (const int count : {1, 2, 3, 8}) {
    set_threads(count);
    EXPECT_EQ(threads(), count);
    for (const Index n : {0, 1, 2, 7, 1000, 20000}) EXPECT_EQ(visits(n), std::vector<int>(n, 1)) << count << " threads";
  }
}

TEST_F(Parallel, RowsInStretchesThatAreWorthIt) {
  set_threads(3);
  for (const Index width : {0, 1, 100, 1 << 20}) {
    for (const Index rows : {0, 1, 5000}) {
      std::vector<std::atomic<int>> seen(static_cast<std::size_t>(rows));
      std::atomic<int> stretches = 0;
      parallel_rows(rows, width, [&](Index first, Index end) {
        ++stretches;
        for (Index i = first; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
      });
      EXPECT_EQ(std::vector<int>(seen.begin(), seen.end()), std::vector<int>(static_cast<std::size_t>(rows), 1));
      EXPECT_LE(stretches, 1 + rows * width / (1 << 13));
    }
  }
}

/// Tasks that each need the one before them, with a thread for every core and with more.
TEST_F(Parallel, TasksBuildOnEachOther) {
  for (const int count : {1, 2, 7}) {
    set_threads(count);
    Milestone done;
    std::vector<Index> sums(500, 0);
    parallel_for(499, [&](Index i) {
      const auto at = static_cast<std::size_t>(i);
      done.wait_for(i);
      sums[at + 1] = sums[at] + i;
      done.reach(i + 1);
    });
    EXPECT_EQ(sums.back(), 498 * 499 / 2);
  }
}

/// Nobody waits for a task that failed.
TEST_F(Parallel, TasksThatBuildOnOneThatFails) {
  for (const int count : {1, 2, 7}) {
    set_threads(count);
    Milestone done;
    EXPECT_THROW(parallel_for(100,
                              [&](Index i) {
                                const Milestone::Guard guard(done, i + 1);
                                done.wait_for(i);
                                if (i == 3) fail_argument("enough");
                              }),
                 Error);
  }
}

TEST_F(Parallel, NothingForNoTasks) {
  parallel_for(0, [](Index) { FAIL(); });
  parallel_for(-3, [](Index) { FAIL(); });
}

TEST_F(Parallel, ThreadCountIsAsAsked) {
  set_threads(-5);
  EXPECT_GE(threads(), 1);
  set_threads(0);
  EXPECT_GE(threads(), 1);
}

TEST_F(Parallel, ManyShortBatches) {
  set_threads(3);
  std::atomic<Index> sum = 0;
  for (int batch = 0; batch < 5000; ++batch) parallel_for(4, [&](Index i) { sum += i; });
  EXPECT_EQ(sum, 5000 * 6);
}

TEST_F(Parallel, ExceptionsComeBackAndThePoolSurvives) {
  for (const int count : {1, 3}) {
    set_threads(count);
    for (int repeat = 0; repeat < 50; ++repeat) {
      try {
        parallel_for(100, [](Index i) {
          if (i == 37) fail_argument("task 37");
        });
        FAIL();
      } catch (const Error& error) {
        EXPECT_EQ(std::string(error.what()), "task 37");
      }
      EXPECT_EQ(visits(10), std::vector<int>(10, 1));
    }
    // Every task throws: one of the exceptions arrives.
    EXPECT_THROW(parallel_for(100, [](Index i) { throw std::runtime_error(std::to_string(i)); }), std::runtime_error);
  }
}

TEST_F(Parallel, NoTaskRunsAfterTheCallReturned) {
  set_threads(3);
  for (int repeat = 0; repeat < 200; ++repeat) {
    std::atomic<bool> over = false;
    std::atomic<bool> late = false;
    try {
      parallel_for(50, [&](Index i) {
        if (over) late = true;
        if (i == 5) throw std::runtime_error("stop");
      });
    } catch (const std::runtime_error&) {
      over = true;
    }
    EXPECT_FALSE(late);
  }
}

TEST_F(Parallel, NestedCallsRun) {
  set_threads(3);
  std::atomic<int> sum = 0;
  parallel_for(20, [&](Index) { parallel_for(30, [&](Index) { ++sum; }); });
  EXPECT_EQ(sum, 600);
  // A nested exception travels through both.
  EXPECT_THROW(parallel_for(5, [](Index) { parallel_for(5, [](Index) { throw std::runtime_error("inner"); }); }),
               std::runtime_error);
  EXPECT_EQ(visits(100), std::vector<int>(100, 1));
}

TEST_F(Parallel, SeveralCallersTakeTurns) {
  set_threads(2);
  std::atomic<int> sum = 0;
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      for (int repeat = 0; repeat < 50; ++repeat) parallel_for(10, [&](Index) { ++sum; });
    });
  }
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(sum, 4 * 50 * 10);
}

/// The exit status of a child that runs `body` and leaves without unwinding; -1 when it did not end by itself.
template <class Body>
int status_of_child(const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // a hang is a failure, not a wait
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#if !defined(__SANITIZE_THREAD__)  // starting threads after fork() is beyond ThreadSanitizer
TEST_F(Parallel, ForkedChildrenHaveTheirOwnThreads) {
  for (const int count : {2, 3}) {
    set_threads(count);
    for (int repeat = 0; repeat < 20; ++repeat) {
      EXPECT_EQ(visits(100), std::vector<int>(100, 1));  // the parent has a pool
      EXPECT_EQ(status_of_child([] { return visits(1000) == std::vector<int>(1000, 1); }), 0);
      EXPECT_EQ(visits(100), std::vector<int>(100, 1));  // and keeps it
    }
  }
}

// In a process of its own, as ctest runs it, the first fork may come before the first batch has begun.
TEST_F(Parallel, ForkWhileAnotherThreadWorks) {
  set_threads(2);
  std::atomic<bool> stop = false;
  std::thread busy([&] {
    while (!stop) parallel_for(8, [](Index) {});
  });
  for (int repeat = 0; repeat < 20; ++repeat) {
    EXPECT_EQ(status_of_child([] { return visits(50) == std::vector<int>(50, 1); }), 0);
  }
  stop = true;
  busy.join();
}
#endif

}  // namespace
}  // namespace mercer
