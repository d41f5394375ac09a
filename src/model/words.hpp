#pragma once
#include <string>

namespace mercer {

/// Three significant digits, for sentences.
std::string rounded(double value);

}  // namespace mercer
