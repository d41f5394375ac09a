#include "io/worker_process.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace mercer {
namespace {

TEST(WorkerProcess, ServesFromAnotherProcess) {
  int calls = 0;  // counts on in the worker, stays 0 here
  WorkerProcess worker(4096, 10, [&](std::span<std::byte> memory) { memory[0] = static_cast<std::byte>(++calls); });
  for (int i = 1; i <= 3; ++i) {
    ASSERT_TRUE(worker.ask());
    EXPECT_EQ(static_cast<int>(worker.memory()[0]), i);
  }
  EXPECT_EQ(calls, 0);
}

TEST(WorkerProcess, ItsDeathIsAnAnswer) {
  for (const int number : {SIGSEGV, SIGABRT, SIGFPE, SIGKILL}) {
    WorkerProcess worker(4096, 10, [&](std::span<std::byte>) { ::raise(number); });
    EXPECT_FALSE(worker.ask()) << number;
    EXPECT_FALSE(worker.ask()) << number;
  }
}

TEST(WorkerProcess, AnEndlessLoopEnds) {
  WorkerProcess worker(4096, 0, [](std::span<std::byte> memory) {
    volatile std::byte* place = memory.data();
    while (*place == std::byte{0}) {
    }
  });
  EXPECT_FALSE(worker.ask());
}

/// Control-C reaches every process of the terminal; the host decides what becomes of it.
TEST(WorkerProcess, OutlivesAnInterrupt) {
  WorkerProcess worker(4096, 10, [](std::span<std::byte> memory) {
    ::raise(SIGINT);
    ::raise(SIGTERM);
    memory[0] = std::byte{1};
  });
  EXPECT_TRUE(worker.ask());
  EXPECT_EQ(worker.memory()[0], std::byte{1});
}

}  // namespace
}  // namespace mercer
