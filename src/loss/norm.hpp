#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>

namespace mercer {

/// The Euclidean norm of entry(0), …, entry(n - 1), also where the squares overflow or vanish. O(n).
template <class Entry>
double euclidean_norm(std::size_t n, Entry entry) {
  double sum = 0;
  for (std::size_t j = 0; j < n; ++j) sum += entry(j) * entry(j);
  constexpr double least_safe = 1e-280;
  constexpr double largest_safe = 1e300;
  if (sum > least_safe && sum < largest_safe) return std::sqrt(sum);
  double largest = 0;
  for (std::size_t j = 0; j < n; ++j) largest = std::max(largest, std::abs(entry(j)));
  if (largest == 0 || std::isinf(largest)) return largest;
  sum = 0;
  for (std::size_t j = 0; j < n; ++j) sum += (entry(j) / largest) * (entry(j) / largest);
  return largest * std::sqrt(sum);
}

}  // namespace mercer
