#pragma once
#include <mercer/export.hpp>

namespace mercer {

/// How many threads work is spread over. 0 asks for one per core. Applies to every later call of the process; results do not
/// depend on it.
MERCER_API void set_threads(int count);
MERCER_API int threads();

}  // namespace mercer
