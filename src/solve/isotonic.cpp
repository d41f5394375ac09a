#include "solve/isotonic.hpp"

#include <algorithm>
#include <vector>

namespace mercer {

void project_increasing(MutPoint x) {
  if (std::ranges::is_sorted(x)) return;
  struct Pool {
    double mean;
    std::size_t count;
  };
  std::vector<Pool> pools;
  for (const double value : x) {
    Pool pool{value, 1};
    while (!pools.empty() && pools.back().mean >= pool.mean) {
      const Pool left = pools.back();
      const auto a = static_cast<double>(left.count);
      const auto b = static_cast<double>(pool.count);
      pool = {(a * left.mean + b * pool.mean) / (a + b), left.count + pool.count};
      pools.pop_back();
    }
    pools.push_back(pool);
  }
  auto next = x.begin();
  for (const Pool& pool : pools) next = std::fill_n(next, pool.count, pool.mean);
}

void ordered_pinball_prox(Point levels, double step, double y, MutPoint v, MutPoint slope, MutPoint pull) {
  for (std::size_t j = 0; j < v.size(); ++j) {
    v[j] = v[j] - y + step * levels[j];
    pull[j] = v[j];
  }
  project_increasing(v);
  for (std::size_t j = 0; j < v.size(); ++j) {
    pull[j] = (pull[j] - v[j]) / step;
    const double inside = std::clamp(v[j], 0.0, step);
    slope[j] = inside / step - levels[j];
    v[j] = y + (v[j] - inside);
  }
}

}  // namespace mercer
