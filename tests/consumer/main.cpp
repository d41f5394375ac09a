// A stranger's program: learns a rotating flow from 300 noise-free points and asks for it somewhere else.
#include <mercer/mercer.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

int main() {
  std::vector<double> x, y;
  for (int i = 0; i < 300; ++i) {
    const double a = std::fmod(i * 0.7548777, 1.0) * 2 - 1, b = std::fmod(i * 0.5698403, 1.0) * 2 - 1;
    x.insert(x.end(), {a, b});
    y.insert(y.end(), {-b, a});
  }
  mercer::ArrayRows rows({x.data(), 300, 2}, {y.data(), 300, 2});
  mercer::FitOptions options;
  options.kernel = "divergence_free(gaussian(median))";
  options.map = "fourier:200";
  const mercer::Model model = mercer::fit(rows, options);
  const double at[2] = {0.3, -0.2};
  double mean[2], deviation[2];
  model.predict({at, 1, 2}, {mean, 1, 2}, {deviation, 1, 2});
  std::printf("f(0.3, -0.2) = (%.3f, %.3f), truth (0.200, 0.300)\n", mean[0], mean[1]);
  try {
    mercer::parse_kernel("gausian(1)");
    return 1;
  } catch (const mercer::Error& e) {
    std::printf("%s\n", e.what());
  }
  return std::hypot(mean[0] - 0.2, mean[1] - 0.3) < 1e-2 ? 0 : 1;
}
