#include "base/parallel.hpp"

#include <sched.h>

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace mercer {
namespace {

thread_local bool inside_task = false;

/// Lets another thread of the same core go first.
void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// One batch of tasks. Workers take the next index until none is left.
struct Batch {
  Index count = 0;
  const std::function<void(Index)>* task = nullptr;
  std::atomic<Index> next{0};
  std::atomic<Index> working{0};
  std::mutex mutex;
  std::exception_ptr failure;

  void work() {
    inside_task = true;
    for (Index i = next.fetch_add(1); i < count; i = next.fetch_add(1)) {
      try {
        (*task)(i);
      } catch (...) {
        const std::scoped_lock lock(mutex);
        if (!failure) failure = std::current_exception();
        next.store(count);
      }
    }
    inside_task = false;
  }
};

/// Waits until `ready()`, for some microseconds at most: batches that follow each other closely find everyone awake.
template <class Ready>
void wait_awake(const Ready& ready) {
  constexpr auto patience = std::chrono::microseconds(30);
  constexpr int looks = 32;
  const auto start = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < looks; ++i) {
      if (ready()) return;
      pause();
    }
  } while (std::chrono::steady_clock::now() - start < patience);
}

int core_count() {
#if defined(__linux__)
  cpu_set_t allowed;  // a container or taskset may leave fewer than the machine has
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) return std::max(1, CPU_COUNT(&allowed));
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

class Pool {
 public:
  explicit Pool(int size) : size_(size) {
    // Where the system grants fewer threads than asked for, the ones it grants do the work: results are the same.
    try {
      for (int i = 1; i < size; ++i) workers_.emplace_back([this] { serve(); });
    } catch (const std::system_error&) {
    }
  }
  ~Pool() {
    {
      const std::scoped_lock lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (auto& worker : workers_) worker.join();
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  int size() const { return size_; }  ///< as asked for

  void run(Batch& batch) {
    {
      const std::scoped_lock lock(mutex_);
      current_ = &batch;
      ++generation_;
    }
    wake_.notify_all();
    batch.work();
    if (has_cores_) wait_awake([&] { return batch.working.load() == 0; });
    std::unique_lock lock(mutex_);
    current_ = nullptr;  // no worker joins from here on
    done_.wait(lock, [&] { return batch.working.load() == 0; });
  }

 private:
  void serve() {
    std::uint64_t seen = 0;
    while (true) {
      if (has_cores_) wait_awake([&] { return generation_.load() != seen; });
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stopping_ || (current_ != nullptr && generation_ != seen); });
      if (stopping_) return;
      seen = generation_;
      Batch* batch = current_;
      batch->working.fetch_add(1);
      lock.unlock();
      batch->work();
      lock.lock();
      batch->working.fetch_sub(1);
      done_.notify_all();
    }
  }

  int size_;
  bool has_cores_ = size_ <= core_count();  ///< one for every thread
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  Batch* current_ = nullptr;
  std::atomic<std::uint64_t> generation_{0};
  bool stopping_ = false;
  std::vector<std::thread> workers_;
};

std::mutex pool_mutex;  // held while a batch runs: callers from several threads take turns
std::unique_ptr<Pool> pool;
std::atomic<int> wanted{0};

/// The threads of the parent do not exist in the child: forget them without joining.
void after_fork_in_child() {
  pool.release();  // NOLINT(bugprone-unused-return-value): leaked on purpose, its threads are gone
  std::construct_at(&pool_mutex);
}

/// While the program or library is loaded, so that no fork() can come before it, or halfway through it: a thread might hold
/// the mutex, and the child would wait for it for ever.
[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, after_fork_in_child);

}  // namespace

void set_threads(int count) {
  wanted.store(std::max(0, count));
}

int threads() {
  const int count = wanted.load();
  return count > 0 ? count : core_count();
}

void parallel_rows(Index rows, Index numbers_in_row, const std::function<void(Index first, Index end)>& work) {
  constexpr Index worthwhile = 1 << 14;
  const Index stretch = std::max<Index>(1, worthwhile / std::max<Index>(1, numbers_in_row));
  parallel_for((rows + stretch - 1) / stretch,
               [&](Index task) { work(task * stretch, std::min(rows, (task + 1) * stretch)); });
}

void Milestone::reach(Index value) {
  Index reached = reached_.load();
  while (reached < value && !reached_.compare_exchange_weak(reached, value)) {
  }
  reached_.notify_all();
}

void Milestone::wait_for(Index value) const {
  if (reached_.load() >= value) return;
  static const int cores = core_count();
  if (threads() <= cores) wait_awake([&] { return reached_.load() >= value; });
  for (Index reached = reached_.load(); reached < value; reached = reached_.load()) reached_.wait(reached);
}

void parallel_for(Index count, const std::function<void(Index)>& task) {
  if (count <= 0) return;
  const int size = threads();
  if (size == 1 || count == 1 || inside_task) {
    for (Index i = 0; i < count; ++i) task(i);
    return;
  }
  const std::scoped_lock lock(pool_mutex);
  if (!pool || pool->size() != size) {
    pool.reset();
    pool = std::make_unique<Pool>(size);
  }
  Batch batch;
  batch.count = count;
  batch.task = &task;
  pool->run(batch);
  if (batch.failure) std::rethrow_exception(batch.failure);
}

}  // namespace mercer
