#include "kernel/spectral.hpp"

#include <gtest/gtest.h>
#include <mercer/error.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

#include "base/parallel.hpp"
#include "unit/kernel/spectral_oracles.hpp"

namespace mercer {
namespace {

using oracle::all_laws;
using oracle::Law;
using oracle::many;
using oracle::one;

const std::vector<Sampling> samplings = {Sampling::monte_carlo, Sampling::orthogonal, Sampling::quasi};

SpectralTerm only_term(const Kernel& kernel, Index d) {
  auto terms = spectral_terms(kernel, d);
  EXPECT_EQ(terms.size(), 1U);
  return terms.at(0);
}

std::vector<std::vector<double>> some_deltas(Index d) {
  std::vector<std::vector<double>> deltas;
  const Stream stream(3, "deltas");
  for (std::uint64_t n = 0; n < 4; ++n) {
    deltas.emplace_back();
    for (Index i = 0; i < d; ++i) deltas.back().push_back(0.3 * (n + 1) * stream.normal(n, i));
  }
  deltas.emplace_back(d, 0.0);
  return deltas;
}

std::uint64_t hash(const Matrix<double>& m) {
  std::uint64_t h = 0xcbf29ce484222325U;
  for (const double value : m.values()) h = (h ^ std::bit_cast<std::uint64_t>(value)) * 0x100000001b3U;
  return h;
}

// |mean cos⟨ω,δ⟩ - k(δ)| within Hoeffding's bound. Monte Carlo: n independent rows. Orthogonal: the means over blocks of d
// rows are independent and in [-1, 1]. 13 laws × 3 dimensions × 5 points × 2 samplings: a false alarm with probability below
// 4e-7. Quasi: unbiased thanks to the shift, and held to the bound of Monte Carlo, which it is well within (next test but
// two).
TEST(SpectralSampling, MeanCosineIsTheKernel) {
  constexpr Index n = 20000;
  for (const Index d : {1, 2, 5}) {
    for (const Law& law : all_laws(d)) {
      const SpectralTerm term = only_term(law.kernel, d);
      for (const Sampling sampling : samplings) {
        if (sampling == Sampling::orthogonal && !law.rotates) continue;
        const auto omega = sample_frequencies(term, d, n, sampling, Stream(11, law.name));
        const double bound = oracle::hoeffding_bound(sampling == Sampling::orthogonal ? n / d : n);
        for (const auto& delta : some_deltas(d)) {
          const double k = law.value(delta);
          EXPECT_NEAR(term.weight * oracle::mean_cosine(omega, delta), k, term.weight * bound)
              << law.name << " d=" << d << " sampling " << static_cast<int>(sampling);
        }
      }
    }
  }
}

// Margins against their distribution functions. Orthogonal: rows at one place of their blocks are independent; the first and
// the last place are looked at. Some 200 comparisons at 1e-9 each.
TEST(SpectralSampling, MarginsFollowTheirLaw) {
  constexpr Index n = 20000;
  for (const Index d : {1, 2, 5}) {
    for (const Law& law : all_laws(d)) {
      const SpectralTerm term = only_term(law.kernel, d);
      for (const Sampling sampling : {Sampling::monte_carlo, Sampling::orthogonal}) {
        if (sampling == Sampling::orthogonal && !law.rotates) continue;
        const Index stride = sampling == Sampling::orthogonal ? d : 1;
        const auto omega = sample_frequencies(term, d, n, sampling, Stream(12, law.name));
        for (const Index place : {Index{0}, stride - 1}) {
          for (const Index i : {Index{0}, d - 1}) {
            std::vector<double> sample;
            for (Index j = place; j < n; j += stride) sample.push_back(omega(j, i));
            EXPECT_LT(oracle::kolmogorov_smirnov(sample, [&](double t) { return law.margin(t, i); }),
                      oracle::kolmogorov_smirnov_bound(static_cast<Index>(sample.size())))
                << law.name << " d=" << d << " sampling " << static_cast<int>(sampling) << " input " << i;
          }
        }
      }
    }
  }
}

TEST(SpectralSampling, BlocksAreOrthogonal) {
  for (const Index d : {1, 2, 3, 5, 40, 65}) {
    const Index n = 2 * d + d / 2;
    const auto omega =
        sample_frequencies(only_term(Kernel{Gaussian{one(0.5)}}, d), d, n, Sampling::orthogonal, Stream(5, "blocks"));
    for (Index i = 0; i < n; ++i) {
      for (Index j = i / d * d; j < i; ++j) {
        double dot = 0;
        double a = 0;
        double b = 0;
        for (Index k = 0; k < d; ++k) {
          dot += omega(i, k) * omega(j, k);
          a += omega(i, k) * omega(i, k);
          b += omega(j, k) * omega(j, k);
        }
        EXPECT_LT(std::abs(dot) / std::sqrt(a * b), 1e-12) << d << ": " << i << ", " << j;
      }
    }
  }
}

// ‖ω‖² ~ χ²(d) for every row of an orthogonal block, and first and last row of a block have independent lengths.
TEST(SpectralSampling, OrthogonalLengthsAreIndependent) {
  constexpr Index d = 3;
  constexpr Index blocks = 20000;
  const auto omega =
      sample_frequencies(only_term(Kernel{Gaussian{one(1)}}, d), d, blocks * d, Sampling::orthogonal, Stream(6, "lengths"));
  double covariance = 0;
  for (Index b = 0; b < blocks; ++b) {
    double length[2] = {0, 0};
    for (Index i = 0; i < d; ++i) {
      length[0] += omega(b * d, i) * omega(b * d, i);
      length[1] += omega(b * d + d - 1, i) * omega(b * d + d - 1, i);
    }
    covariance += (length[0] - d) * (length[1] - d) / blocks;
  }
  // The variance of the product is (2d)²; 6 standard deviations of the mean: probability 2e-9 by the central limit theorem.
  EXPECT_LT(std::abs(covariance), 6 * 2 * d / std::sqrt(blocks));
}

// Mean squared error over 100 seeds. The known ratio of the variances at d = 8, ‖δ‖ = ℓ is near 0.5 or less, and the ratio
// of two sums of 100 squares has a relative spread of 0.2, so that a ratio above 1 lies more than 4 standard deviations off.
TEST(SpectralSampling, OrthogonalBeatsMonteCarlo) {
  constexpr Index d = 8;
  const SpectralTerm term = only_term(Kernel{Gaussian{one(1)}}, d);
  const std::vector<double> delta(d, 1 / std::sqrt(8.0));
  double squares[2] = {0, 0};
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    for (const int s : {0, 1}) {
      const auto omega = sample_frequencies(term, d, 128, samplings[s], Stream(seed, "orthogonal"));
      const double error = oracle::mean_cosine(omega, delta) - std::exp(-0.5);
      squares[s] += error * error;
    }
  }
  EXPECT_LT(squares[1], squares[0]);
}

// With 4096 points in two dimensions the root mean square error over 20 shifts is below a tenth of Monte Carlo's exact
// √((1 + k(2δ) - 2k(δ)²)/2n). Matérn needs a third coordinate and has heavy tails: a ratio of 0.18, as SciPy's Sobol points
// give with the same transformation (checked), held to 0.3.
TEST(SpectralSampling, QuasiBeatsMonteCarlo) {
  constexpr Index n = 4096;
  const std::vector<double> delta = {0.8, -0.5};
  const std::vector<std::pair<Law, double>> cases = {
      {oracle::gaussian(one(0.7)), 0.1}, {oracle::cauchy(one(0.7)), 0.1}, {oracle::matern(one(1), 1.5), 0.3}};
  for (const auto& [law, ratio] : cases) {
    const std::vector<double> twice = {1.6, -1.0};
    const double k = law.value(delta);
    const double monte_carlo = std::sqrt((1 + law.value(twice) - 2 * k * k) / (2 * n));
    double squares = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const auto omega = sample_frequencies(only_term(law.kernel, 2), 2, n, Sampling::quasi, Stream(seed, "quasi"));
      const double error = oracle::mean_cosine(omega, delta) - k;
      squares += error * error / 20;
    }
    EXPECT_LT(std::sqrt(squares), ratio * monte_carlo) << law.name;
  }
}

TEST(SpectralSampling, RowsDependNeitherOnCountNorOnThreads) {
  for (const Index d : {1, 2, 5, 37}) {
    for (const Law& law : all_laws(d)) {
      const SpectralTerm term = only_term(law.kernel, d);
      for (const Sampling sampling : samplings) {
        if (sampling == Sampling::orthogonal && !law.rotates) continue;
        const Stream stream(4, "prefix");
        set_threads(1);
        const auto whole = sample_frequencies(term, d, 333, sampling, stream);
        for (const int count : {2, 3}) {
          set_threads(count);
          EXPECT_EQ(hash(sample_frequencies(term, d, 333, sampling, stream)), hash(whole)) << law.name << " d=" << d;
        }
        for (const Index rows : {1, 36, 64, 130}) {
          const auto part = sample_frequencies(term, d, rows, sampling, stream);
          EXPECT_EQ(hash(part), hash(Matrix<double>(whole.view().row_range(0, rows)))) << law.name << " d=" << d;
        }
      }
    }
  }
  set_threads(0);
}

TEST(SpectralSampling, OrthogonalGroupsDoNotShow) {  // more rows than the reflectors held at once
  const SpectralTerm term = only_term(Kernel{Gaussian{one(1)}}, 30);
  const auto whole = sample_frequencies(term, 30, 5000, Sampling::orthogonal, Stream(1, "groups"));
  const auto part = sample_frequencies(term, 30, 2100, Sampling::orthogonal, Stream(1, "groups"));
  EXPECT_EQ(hash(part), hash(Matrix<double>(whole.view().row_range(0, 2100))));
}

// E cos⟨ω+ω',δ⟩ = k k'. Two mixtures with all means on one side would fail were their laws not symmetric.
TEST(SpectralSampling, ProductsAddFrequencies) {
  constexpr Index n = 30000;
  for (const Index d : {1, 3}) {
    const std::vector<std::pair<Law, Law>> pairs = {{oracle::gaussian(one(0.9)), oracle::matern(many(d), 1.5)},
                                                    {oracle::laplacian(one(2)), oracle::cauchy(one(1.5))},
                                                    {oracle::spectral_mixture(d, 0.3), oracle::spectral_mixture(d, 0.2)},
                                                    {oracle::gaussian(one(1)), oracle::gaussian(one(1))}};
    for (const auto& [a, b] : pairs) {
      const SpectralTerm term = only_term(Kernel{Product{{a.kernel, b.kernel}}}, d);
      EXPECT_EQ(term.factors.size(), 2U);
      for (const Sampling sampling : samplings) {
        if (sampling == Sampling::orthogonal && !(a.rotates && b.rotates)) continue;
        const auto omega = sample_frequencies(term, d, n, sampling, Stream(8, "products"));
        for (const auto& delta : some_deltas(d)) {
          EXPECT_NEAR(term.weight * oracle::mean_cosine(omega, delta), a.value(delta) * b.value(delta),
                      term.weight * oracle::hoeffding_bound(sampling == Sampling::orthogonal ? n / d : n))
              << a.name << " * " << b.name << " d=" << d << " sampling " << static_cast<int>(sampling);
        }
      }
    }
  }
}

TEST(SpectralSampling, AutomaticChoice) {
  const auto resolved = [](const Kernel& kernel, Index d) {
    return resolve_sampling(Sampling::automatic, only_term(kernel, d), d);
  };
  EXPECT_EQ(resolved(Kernel{Gaussian{one(1)}}, 2), Sampling::orthogonal);
  EXPECT_EQ(resolved(Kernel{Gaussian{one(1)}}, 1), Sampling::monte_carlo);
  EXPECT_EQ(resolved(Kernel{Laplacian{one(1)}}, 2), Sampling::monte_carlo);
  EXPECT_EQ(resolved(Kernel{Product{{Kernel{Gaussian{one(1)}}, Kernel{Cauchy{one(1)}}}}}, 2), Sampling::monte_carlo);
  EXPECT_EQ(resolved(Kernel{Product{{Kernel{Gaussian{one(1)}}, Kernel{Matern{one(1), 2}}}}}, 2), Sampling::orthogonal);
  EXPECT_EQ(resolved(Kernel{Linear{}}, 2), Sampling::monte_carlo);
  const auto term = only_term(Kernel{Gaussian{one(1)}}, 4);
  EXPECT_EQ(hash(sample_frequencies(term, 4, 9, Sampling::automatic, Stream(1, "a"))),
            hash(sample_frequencies(term, 4, 9, Sampling::orthogonal, Stream(1, "a"))));
}

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    return error.what();
  }
  return "";
}

TEST(SpectralSampling, RefusalsSayWhy) {
  const auto term = only_term(Kernel{Product{{Kernel{Gaussian{one(1)}}, Kernel{Laplacian{one(1)}}}}}, 2);
  EXPECT_NE(message_of([&] { sample_frequencies(term, 2, 5, Sampling::orthogonal, Stream(1, "")); }).find("laplacian"),
            std::string::npos);
  const auto wide = only_term(Kernel{Product{{Kernel{Matern{one(1), 1}}, Kernel{Gaussian{one(1)}}}}}, 2000);
  EXPECT_NE(message_of([&] { resolve_sampling(Sampling::quasi, wide, 2000); }).find("4001"), std::string::npos);
  const auto widest = only_term(Kernel{Matern{one(1), 1}}, 3666);
  EXPECT_EQ(sample_frequencies(widest, 3666, 3, Sampling::quasi, Stream(1, "")).rows(), 3);
  const auto tiny = only_term(Kernel{Matern{one(1e-300), 1e-3}}, 1);
  EXPECT_NE(message_of([&] { sample_frequencies(tiny, 1, 100, Sampling::monte_carlo, Stream(1, "")); }).find("length scale"),
            std::string::npos);
}

TEST(SpectralSampling, NothingAskedNothingDrawn) {
  const auto term = only_term(Kernel{Gaussian{one(1)}}, 3);
  EXPECT_EQ(sample_frequencies(term, 3, 0, Sampling::orthogonal, Stream(1, "")).rows(), 0);
  const auto zeros = sample_frequencies(only_term(Kernel{Linear{}}, 3), 3, 2, Sampling::automatic, Stream(1, ""));
  for (const double value : zeros.values()) EXPECT_EQ(value, 0);
}

// The recipe is part of the model format: these bits must never change, on any machine.
TEST(SpectralSampling, GoldenBits) {
  struct Golden {
    Kernel kernel;
    std::vector<std::uint64_t> hashes;  ///< Monte Carlo, quasi, orthogonal
  };
  const LengthScale scales{{0.5, 1.25, 3}, false};
  const SpectralMixture mixture{{0.75, 0.25}, {{0.5, 1, -0.25}, {0.125, 0, 2}}, {{0.1, 0.2, 0.3}, {0.5, 0, 0.7}}};
  const std::vector<Golden> goldens = {
      {Kernel{Gaussian{scales}}, {0x2dfdb22d53c3025dU, 0x5211e1a413218b09U, 0xe8449e76d8cf2f9aU}},
      {Kernel{Matern{scales, 1.5}}, {0x83b01099e596467fU, 0x0bda0941f927a093U, 0xc8feb794b8575582U}},
      {Kernel{RationalQuadratic{scales, 0.3}}, {0xbe73e6dbbce9a67aU, 0x8ab8d69346d16c42U, 0x084d37f69057de3aU}},
      {Kernel{mixture}, {0xa28c1034ea80338fU, 0x7659ae878ff5dd17U, 0xdb9ee2fca1b99209U}},
      {Kernel{Laplacian{scales}}, {0x66a1eca11ab3a9daU, 0xe807f3aa875cea1bU}},
      {Kernel{Cauchy{scales}}, {0x9ef10e43569d51c9U, 0x663a5bb1407c6892U}}};
  const std::vector<Sampling> order = {Sampling::monte_carlo, Sampling::quasi, Sampling::orthogonal};
  for (std::size_t g = 0; g < goldens.size(); ++g) {
    for (std::size_t s = 0; s < goldens[g].hashes.size(); ++s) {
      const auto omega = sample_frequencies(only_term(goldens[g].kernel, 3), 3, 70, order[s], Stream(2024, "golden"));
      EXPECT_EQ(hash(omega), goldens[g].hashes[s]) << "kernel " << g << ", sampling " << s;
    }
  }
  const auto first =
      sample_frequencies(only_term(goldens[0].kernel, 3), 3, 1, Sampling::monte_carlo, Stream(2024, "golden"));
  EXPECT_EQ(first(0, 0), 0x1.f5e9fb3c7016ep-3);
  EXPECT_EQ(first(0, 1), -0x1.8e76d16766834p-1);
  EXPECT_EQ(first(0, 2), 0x1.f4b0738f34789p-2);
}

}  // namespace
}  // namespace mercer
