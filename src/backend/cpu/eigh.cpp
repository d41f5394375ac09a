#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "backend/backend.hpp"
#include "backend/cpu/blas.hpp"
#include "base/fail.hpp"
#include "base/progress.hpp"

namespace mercer {
namespace {

/// Decompositions that nobody waits for any more. The process must not end under them: OpenBLAS frees its buffers at exit.
class Abandoned {
 public:
  ~Abandoned() {
    while (count_.load() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  void begin() { ++count_; }
  void end() { --count_; }

 private:
  std::atomic<int> count_{0};
};
Abandoned& abandoned() {
  static Abandoned instance;
  return instance;
}

/// dsyevd on result.vectors (the matrix, overwritten by its eigenvectors).
void decompose(Eigen& result, int lwork, int liwork) {
  const int n = static_cast<int>(result.vectors.rows());
  std::vector<double> work(static_cast<std::size_t>(lwork));
  std::vector<int> iwork(static_cast<std::size_t>(liwork));
  int info = 0;
  blas().dsyevd("V", "U", &n, result.vectors.data(), &n, result.values.data(), work.data(), &lwork, iwork.data(), &liwork,
                &info);
  if (info != 0) fail_internal("the eigendecomposition did not converge (LAPACK dsyevd info " + std::to_string(info) + ")");
}

}  // namespace

Eigen eigh(ConstMatrix a) {
  constexpr Index largest = 32766;  // 2n² + 6n + 1 doubles of workspace, counted in 32-bit integers
  if (a.rows > largest)
    fail_argument("an eigendecomposition of size " + std::to_string(a.rows) + " is beyond LAPACK's reach");
  Eigen result;
  result.values.resize(static_cast<std::size_t>(a.rows));
  result.vectors = Matrix<double>(a);
  if (a.rows == 0) return result;
  const int n = static_cast<int>(a.rows);
  const int query = -1;
  int info = 0;
  double work_size = 0;
  int iwork_size = 0;
  // Row-major lower is column-major upper; the columns LAPACK returns are our rows.
  blas().dsyevd("V", "U", &n, result.vectors.data(), &n, result.values.data(), &work_size, &query, &iwork_size, &query,
                &info);
  constexpr Index quick = 400;  // well below a second
  if (a.rows <= quick) {
    decompose(result, static_cast<int>(work_size), iwork_size);
    return result;
  }
  // LAPACK cannot be interrupted: it works on a thread of its own, and a stop leaves it to finish with its own copy,
  // unheard.
  struct Shared {
    Eigen eigen;
    std::exception_ptr failure;
    std::mutex mutex;
    std::condition_variable done_changed;
    bool done = false;
  };
  const auto shared = std::make_shared<Shared>();
  shared->eigen = std::move(result);
  abandoned().begin();
  const auto work = [shared, work_size, iwork_size] {
    std::exception_ptr failure;
    try {
      decompose(shared->eigen, static_cast<int>(work_size), iwork_size);
    } catch (...) {
      failure = std::current_exception();
    }
    {
      const std::scoped_lock lock(shared->mutex);
      shared->failure = failure;
      shared->done = true;
      shared->done_changed.notify_all();
    }
    abandoned().end();
  };
  try {
    std::thread(work).detach();
  } catch (const std::system_error&) {  // no thread to be had: do it here, deaf to stops
    work();
  }
  std::unique_lock lock(shared->mutex);
  while (!shared->done) {
    shared->done_changed.wait_for(lock, std::chrono::milliseconds(50));
    if (!shared->done) check_stop();
  }
  if (shared->failure) std::rethrow_exception(shared->failure);
  return std::move(shared->eigen);
}

}  // namespace mercer
