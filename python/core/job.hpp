#pragma once
#include <nanobind/nanobind.h>
#include <mercer/progress.hpp>

#include <functional>

namespace nb = nanobind;

namespace mercer::python {

/// Runs work without the GIL, and lets Python be Python meanwhile: Ctrl-C raises KeyboardInterrupt within half a second, and
/// `progress(stage, fraction)`, unless None, is called some ten times a second. Called from the main thread the work gets a
/// thread of its own; from others, which see no signals, it runs where it is. `work` must own all it touches: work that is
/// stopped inside a long factorisation is left to end by itself.
void run(const nb::object& progress, std::function<void(Progress*)> work);

/// Waits for work that Ctrl-C left behind. For atexit.
void wait_for_abandoned();

}  // namespace mercer::python
