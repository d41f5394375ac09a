#include "model/words.hpp"

#include <array>
#include <cstdio>

namespace mercer {

std::string rounded(double value) {
  std::array<char, 32> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.3g", value);
  return buffer.data();
}

}  // namespace mercer
