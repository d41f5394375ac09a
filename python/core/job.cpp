#include "job.hpp"

#include <mercer/error.hpp>

#include <nanobind/stl/string.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace mercer::python {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto beat = std::chrono::milliseconds(100);      // between looks at signals and calls of progress
constexpr auto patience = std::chrono::milliseconds(400);  // for work to notice that it should stop

/// What the work said last.
class Heard final : public Progress {
 public:
  void update(std::string_view stage, double fraction) override {
    const std::scoped_lock lock(mutex_);
    stage_ = stage;
    fraction_ = fraction;
    news_ = true;
  }
  /// Needs the GIL.
  void pass_on(const nb::object& progress) {
    std::string stage;
    double fraction = 0;
    {
      const std::scoped_lock lock(mutex_);
      if (!news_) return;
      news_ = false;
      stage = stage_;
      fraction = fraction_;
    }
    if (!progress.is_none()) progress(stage, fraction);
  }

 private:
  std::mutex mutex_;
  std::string stage_;
  double fraction_ = 0;
  bool news_ = false;
};

/// Tells Python from the thread that works.
class Direct final : public Progress {
 public:
  explicit Direct(const nb::object& progress) : progress_(progress) {}
  void update(std::string_view stage, double fraction) override {
    const auto now = Clock::now();
    if (progress_.is_none() || now - last_ < beat) return;
    last_ = now;
    const nb::gil_scoped_acquire python;
    progress_(std::string(stage), fraction);
  }

 private:
  const nb::object& progress_;
  Clock::time_point last_;
};

struct Job {
  std::function<void(Progress*)> work;
  Heard heard;
  std::mutex mutex;
  std::condition_variable finished;
  bool done = false;
  std::exception_ptr failure;

  void start() {
    try {
      work(&heard);
    } catch (...) {
      failure = std::current_exception();
    }
    const std::scoped_lock lock(mutex);
    done = true;
    finished.notify_all();
  }
  /// Lets go of everything Python owns, once done, under the GIL: the thread of the work may be the last to hold the job,
  /// and must not need Python then, which may be on its way out.
  std::exception_ptr release() {
    work = nullptr;
    return std::exchange(failure, nullptr);
  }
  bool wait(Clock::duration most) {
    std::unique_lock lock(mutex);
    return finished.wait_for(lock, most, [this] { return done; });
  }
};

bool in_main_thread() {
  static const unsigned long main =
      nb::cast<unsigned long>(nb::module_::import_("threading").attr("main_thread")().attr("ident"));
  return PyThread_get_thread_ident() == main;
}

/// Work that goes on after KeyboardInterrupt; guarded by the GIL, under which it must also be destroyed.
std::vector<std::shared_ptr<Job>>& abandoned() {
  static auto* jobs = new std::vector<std::shared_ptr<Job>>();  // never destroyed: threads may outlive static objects
  return *jobs;
}

}  // namespace

void wait_for_abandoned() {
  while (!abandoned().empty()) {
    const std::shared_ptr<Job> job = abandoned().back();
    {
      const nb::gil_scoped_release free;
      while (!job->wait(beat)) {
      }
    }
    job->release();
    std::erase(abandoned(), job);
    clear_stop();
  }
}

void run(const nb::object& progress, std::function<void(Progress*)> work) {
  if (!in_main_thread()) {
    Direct direct(progress);
    const nb::gil_scoped_release free;
    work(&direct);
    return;
  }
  wait_for_abandoned();
  const auto job = std::make_shared<Job>();
  job->work = std::move(work);
  std::thread([job] { job->start(); }).detach();
  const auto wait = [&](Clock::duration most) {
    const nb::gil_scoped_release free;
    return job->wait(most);
  };
  while (!wait(beat)) {
    try {
      if (PyErr_CheckSignals() != 0) nb::raise_python_error();
      job->heard.pass_on(progress);
    } catch (...) {  // stop the work, then let the error go its way
      request_stop();
      if (wait(patience)) {
        job->release();
        clear_stop();
      } else {
        abandoned().push_back(job);
      }
      throw;
    }
  }
  const std::exception_ptr failure = job->release();
  if (failure) std::rethrow_exception(failure);
  job->heard.pass_on(progress);
}

}  // namespace mercer::python
