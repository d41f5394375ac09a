#pragma once
#include "base/random.hpp"
#include "gp/spectral_coordinates.hpp"
#include "reproduce.hpp"

// The synthetic series of paper 3 and where training on them starts.
namespace mercer::cli::reproduce {

struct WaveSet {
  std::string name;
  std::vector<double> theta;  ///< of the Dirichlet law of the amplitudes
};
/// 'Almost equal': θ = 100 ten times; 'half equal': 10 five times and 1 five times; 'rarely equal': 0.3 ten times. The paper
/// names the sets without their θ.
std::vector<WaveSet> wave_sets();

/// y(t) = Σ_q w_q sin(2π α_q t) + β_q ε_qt at t = 0, h, 2h, …: w = 10·Dirichlet(θ), α_q ~ U(0, 1), β_q ~ U(0, 0.1), ε
/// standard normal and independent over q and t. (The paper leaves Σw open; 10 makes the mean amplitude 1.)
Rows draw_waves(const WaveSet& set, Index rows, double step, const Stream& stream);

/// A mixture of `components` near the empirical spectrum of y; no mean function.
SpectralParameters spectral_start(const Rows& rows, Index components, const Stream& stream);

}  // namespace mercer::cli::reproduce
