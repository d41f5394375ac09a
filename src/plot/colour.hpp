#pragma once
#include <cstddef>
#include <string>

namespace mercer::plot {

/// The colours of Okabe and Ito, which people with any colour vision can tell apart, with a grey for their yellow, which
/// white paper swallows. Repeats after eight.
std::string series_colour(std::size_t number);
constexpr std::size_t series_colours = 8;

/// Viridis at 0 … 1: from dark violet through green to yellow, evenly brighter, readable in grey.
std::string viridis(double share);

}  // namespace mercer::plot
