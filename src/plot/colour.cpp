#include "plot/colour.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace mercer::plot {

std::string series_colour(std::size_t number) {
  constexpr std::array<const char*, series_colours> colours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                               "#e69f00", "#56b4e9", "#333333", "#999999"};
  return colours[number % colours.size()];
}

std::string viridis(double share) {
  // Every eighth part of the map; straight lines between them are off by less than the eye sees.
  constexpr std::array<std::array<double, 3>, 9> anchors = {{{68, 1, 84},
                                                             {71, 45, 123},
                                                             {59, 82, 139},
                                                             {44, 114, 142},
                                                             {33, 144, 140},
                                                             {39, 173, 129},
                                                             {93, 200, 99},
                                                             {170, 220, 50},
                                                             {253, 231, 37}}};
  const double place = std::clamp(std::isfinite(share) ? share : 0.0, 0.0, 1.0) * (anchors.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(place), anchors.size() - 2);
  const double part = place - static_cast<double>(below);
  std::array<int, 3> rgb{};
  for (std::size_t i = 0; i < 3; ++i) {
    rgb[i] = static_cast<int>(std::lround((1 - part) * anchors[below][i] + part * anchors[below + 1][i]));
  }
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "#%02x%02x%02x", static_cast<unsigned>(rgb[0]) & 0xffU,
                static_cast<unsigned>(rgb[1]) & 0xffU, static_cast<unsigned>(rgb[2]) & 0xffU);
  return text.data();
}

}  // namespace mercer::plot
