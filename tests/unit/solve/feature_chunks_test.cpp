#include "solve/feature_chunks.hpp"

#include <gtest/gtest.h>
#include <mercer/error.hpp>
#include <mercer/threads.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>

#include "base/fail.hpp"
#include "base/parallel.hpp"
#include "unit/solve/data.hpp"

namespace mercer {
namespace {

using namespace samples;

constexpr Index slots = 3;

struct Pass {
  explicit Pass(Index n, Index frequencies = 20) : map(map_of("gaussian(1)", 2, 1, frequencies)), s(data(n, 2, 1)) {}

  FourierMap map;
  Data s;
  ArrayRows rows = s.rows();
  FeatureChunks<double> chunks{map, rows, slots, 0};
};

/// Chunks of a slot come one at a time and in order, whoever is slow; all rows come once, with their features.
TEST(FeatureChunks, SlotsTakeTurns) {
  for (const int threads : {1, 5}) {
    set_threads(threads);
    Pass pass(5003);
    const Data& s = pass.s;
    std::vector<std::atomic<bool>> busy(slots);
    std::vector<Index> last(slots, -1);
    std::vector<std::atomic<int>> seen(5003);
    pass.chunks.for_each([&](const FeatureChunks<double>::Chunk& chunk) {
      const auto slot = static_cast<std::size_t>(chunk.slot);
      EXPECT_FALSE(busy[slot].exchange(true));
      EXPECT_GT(chunk.first_row, last[slot]);
      EXPECT_EQ(chunk.slot, chunk.first_row / FeatureChunks<double>::slot_rows % slots);
      last[slot] = chunk.first_row;
      if (chunk.slot == 1) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      Matrix<double> phi(chunk.features.rows, pass.map.columns());
      pass.map.features(s.x.view().row_range(chunk.first_row, chunk.features.rows), phi);
      for (Index i = 0; i < chunk.features.rows; ++i) {
        ++seen[static_cast<std::size_t>(chunk.first_row + i)];
        EXPECT_TRUE(std::ranges::equal(phi.row(i), chunk.features.row(i)));
        EXPECT_EQ(chunk.targets(i, 0), s.y(chunk.first_row + i, 0));
      }
      busy[slot] = false;
    });
    EXPECT_TRUE(std::ranges::all_of(seen, [](const std::atomic<int>& count) { return count == 1; }));
  }
  set_threads(0);
}

/// Ends of stretches come one at a time and in order for every lane, after their last chunk and on its thread; lanes get the
/// same stretches for any number of threads, although blocks are of other sizes then.
TEST(FeatureChunks, EndsOfStretchesTakeTurnsInLanes) {
  constexpr Index slot_rows = FeatureChunks<double>::slot_rows;
  constexpr Index n = 20 * slots * slot_rows + 5;
  constexpr std::size_t lanes = 2;
  constexpr Index frequencies = 600;  // for several chunks a stretch
  std::vector<std::vector<Index>> first_result;
  for (const int threads : {1, 2, 5}) {
    set_threads(threads);
    Pass pass(n, frequencies);
    std::vector<Index> at_hand(slots, -1);  // of every slot, the first row of the stretch
    std::vector<Index> chunks(slots, 0);
    std::vector<std::atomic<bool>> busy(lanes);
    std::vector<std::vector<Index>> rows(lanes);
    pass.chunks.for_each(
        [&](const FeatureChunks<double>::Chunk& chunk) {
          const auto slot = static_cast<std::size_t>(chunk.slot);
          EXPECT_EQ(chunk.first_of_stretch, chunk.first_row % slot_rows == 0);
          const Index next = chunk.first_row + chunk.features.rows;
          EXPECT_EQ(chunk.last_of_stretch, next % slot_rows == 0 || next == n);
          if (chunk.first_of_stretch) {
            EXPECT_EQ(at_hand[slot], -1);
            at_hand[slot] = chunk.first_row;
            if (chunk.slot == 1) std::this_thread::sleep_for(std::chrono::microseconds(300));
          }
          EXPECT_EQ(at_hand[slot], chunk.first_row / slot_rows * slot_rows);
          ++chunks[slot];
        },
        {}, {lanes, [&](Index lane, Index slot) {
               Index& first = at_hand[static_cast<std::size_t>(slot)];
               EXPECT_FALSE(busy[static_cast<std::size_t>(lane)].exchange(true));
               rows[static_cast<std::size_t>(lane)].push_back(first);
               busy[static_cast<std::size_t>(lane)] = false;
               first = -1;
             }});
    for (const Index count : chunks) EXPECT_GE(count, 2 * 20);
    for (const std::vector<Index>& lane : rows) EXPECT_TRUE(std::ranges::is_sorted(lane));
    EXPECT_EQ(std::ssize(rows[0]) + std::ssize(rows[1]), 20 * slots + 1);
    if (first_result.empty()) first_result = rows;
    EXPECT_EQ(rows, first_result);
  }
  set_threads(0);
}

/// Rows come in blocks of nearly the same size, however many threads there are, and slots get the same rows in any case.
TEST(FeatureChunks, BlocksAreOfNearlyTheSameSize) {
  constexpr Index n = 50 * slots * FeatureChunks<double>::slot_rows + 5;
  std::vector<std::vector<Index>> rows_of_slots;
  for (const auto& [threads, expected] : {std::pair{1, 6}, {2, 3}, {5, 1}, {64, 1}}) {
    set_threads(threads);
    Pass pass(n);
    std::vector<Index> blocks;
    std::vector<std::vector<Index>> rows(slots);
    pass.chunks.for_each(
        [&](const FeatureChunks<double>::Chunk& chunk) {
          rows[static_cast<std::size_t>(chunk.slot)].push_back(chunk.first_row);
        },
        [&](Index, Index count) { blocks.push_back(count); });
    EXPECT_EQ(std::accumulate(blocks.begin(), blocks.end(), Index{0}), n);
    const Index parts = std::ssize(blocks);
    for (const Index block : blocks) {
      EXPECT_GE(block, n / parts - parts * pass.chunks.block_rows());
      EXPECT_LE(block, n / parts + pass.chunks.block_rows());
    }
    EXPECT_EQ(parts, expected);
    if (rows_of_slots.empty()) rows_of_slots = rows;
    EXPECT_EQ(rows, rows_of_slots);
  }
  set_threads(0);
}

/// Blocks of fewer rows than there are slots for: slots get the same rows, in their order, and so do lanes.
TEST(FeatureChunks, SlotsGetTheSameRowsInSmallBlocks) {
  constexpr Index slot_rows = FeatureChunks<double>::slot_rows;
  constexpr Index n = 10 * slots * slot_rows + 5;
  using Rows = std::vector<std::vector<Index>>;
  std::vector<std::pair<Rows, Rows>> seen;
  set_threads(5);
  for (const Index stretches : {slots, Index{1}, Index{2}, slots + 1, 3 * slots}) {
    Pass pass(n);
    Rows of_slots(slots);
    Rows of_lanes(2);
    std::vector<Index> last(slots);
    const auto consume = [&](const FeatureChunks<double>::Chunk& chunk) {
      const auto slot = static_cast<std::size_t>(chunk.slot);
      of_slots[slot].push_back(chunk.first_row);
      last[slot] = chunk.first_row;
    };
    const auto end = [&](Index lane, Index slot) {
      of_lanes[static_cast<std::size_t>(lane)].push_back(last[static_cast<std::size_t>(slot)]);
    };
    pass.chunks.for_each_block(stretches * slot_rows, consume, {}, {}, {2, end});
    for (const Rows& rows : {of_slots, of_lanes}) {
      for (const std::vector<Index>& one : rows) EXPECT_TRUE(std::ranges::is_sorted(one));
    }
    seen.emplace_back(of_slots, of_lanes);
    EXPECT_EQ(seen.back(), seen.front());
  }
  set_threads(0);
}

TEST(FeatureChunks, NobodyWaitsForAChunkThatFailed) {
  Pass pass(5003);
  set_threads(5);
  const auto consume = [](const FeatureChunks<double>::Chunk& chunk) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (chunk.first_row == 256) fail_argument("no");
  };
  EXPECT_THROW(pass.chunks.for_each(consume), Error);
  EXPECT_THROW(pass.chunks.for_each(consume, {}, {2, [](Index, Index) {}}), Error);
  const auto end = [](Index lane, Index) {
    if (lane == 1) fail_argument("no");
  };
  EXPECT_THROW(pass.chunks.for_each([](const FeatureChunks<double>::Chunk&) {}, {}, {2, end}), Error);
  set_threads(0);
}

TEST(FeatureChunks, OtherTasksGoAlongWithEveryBlockInTheirOrder) {
  for (const Index others : {0, 1, 2, 3, 4, 50}) {
    Pass pass(2000);
    set_threads(1);  // tasks are then run in the order in which they are begun
    Index passed = 0;
    std::vector<Index> run;
    std::vector<Index> starts;
    const auto before = [&](Index first_row, Index rows) {
      EXPECT_EQ(first_row, passed);
      EXPECT_EQ(std::ssize(run), others * std::ssize(starts));
      starts.push_back(rows);
    };
    pass.chunks.for_each_block(pass.chunks.block_rows(),
                               [&](const FeatureChunks<double>::Chunk& chunk) { passed += chunk.features.rows; }, before,
                               {[&] { return others; }, [&](Index task) { run.push_back(task); }});
    set_threads(0);
    EXPECT_EQ(passed, 2000);
    EXPECT_EQ(starts, (std::vector<Index>{768, 768, 464}));
    ASSERT_EQ(std::ssize(run), 3 * others);
    for (Index k = 0; k < 3 * others; ++k) EXPECT_EQ(run[static_cast<std::size_t>(k)], k % others);
  }
}

TEST(FeatureChunks, OtherTasksMayWaitForEachOtherAndSurviveAChunkThatFails) {
  for (const bool fails : {false, true}) {
    Pass pass(5003);
    set_threads(5);
    constexpr Index others = 40;
    std::vector<Milestone> done(7);
    std::atomic<Index> run = 0;
    std::atomic<std::size_t> blocks = 0;
    const auto consume = [&](const FeatureChunks<double>::Chunk& chunk) {
      if (fails && chunk.first_row >= 1000) fail_argument("no");
    };
    const auto other = [&](Index task) {
      Milestone& mine = done[blocks - 1];
      const Milestone::Guard guard(mine, task + 1);
      mine.wait_for(task);
      ++run;
    };
    const auto pass_over = [&] {
      pass.chunks.for_each_block(pass.chunks.block_rows(), consume, [&](Index, Index) { ++blocks; },
                                 {[&] { return others; }, other});
    };
    if (fails) {
      EXPECT_THROW(pass_over(), Error);
    } else {
      pass_over();
      EXPECT_EQ(blocks, 7U);
      EXPECT_EQ(run, 7 * others);
    }
  }
  set_threads(0);
}

}  // namespace
}  // namespace mercer
