#pragma once
#include <mercer/progress.hpp>

namespace mercer {

/// Throws Error(interrupted) when a stop was requested. Called every so often in every long loop.
void check_stop();

/// Tells `progress` (which may be null) and checks for a stop.
void report(Progress* progress, std::string_view stage, double fraction);

/// A sentence for `progress`, which may be null.
void tell(Progress* progress, std::string_view sentence);

}  // namespace mercer
