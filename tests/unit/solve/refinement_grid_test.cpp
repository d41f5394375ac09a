// Refinement over a grid of kernels, shapes, penalties and odd rows: every case reaches the answer of a decomposition that
// never forms a Gram matrix, or says that it did not, and then a full-precision Gram matrix does.
// MERCER_REFINEMENT_TABLE=FILE writes the table of docs/refinement.md.
#include "unit/solve/refinement_grid.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>

#include "backend/packed_rows.hpp"
#include "solve/refinement.hpp"

namespace mercer {
namespace {

using namespace grid;

/// What `fit` asks of a refined solution where it also chooses the penalty (src/model/fit_refined.cpp).
constexpr double tolerance = 1e-10;
constexpr double acceptable = 1e-9;

Vector predict(const FourierMap& map, const RidgeSolution& s, ConstMatrix x) {
  const Dense f = dense(samples::features(map, x)) * dense(s.weights);
  Vector out(f.size());
  for (Index i = 0; i < f.size(); ++i) out(i) = f(i / f.cols(), i % f.cols()) + s.intercept[i % f.cols()];
  return out;
}

double relative(const Vector& a, const Vector& b) {
  return (a - b).stableNorm() / b.stableNorm();
}

struct Cell {
  int cases = 0;
  int reached = 0;
  int least = std::numeric_limits<int>::max();
  int most = 0;

  void add(int iterations, bool there) {
    ++cases;
    if (!there) return;
    ++reached;
    least = std::min(least, iterations);
    most = std::max(most, iterations);
  }
  std::string text() const {
    std::string range = least == most ? std::to_string(least) : std::to_string(least) + "-" + std::to_string(most);
    if (reached == cases) return range;
    std::string share = std::to_string(cases - reached) + " of " + std::to_string(cases) + " fell back";
    return reached == 0 ? share : range + "; " + share;
  }
};

class Table {
 public:
  void add(const std::string& group, double penalty, const RidgeSolution& s) {
    auto line = std::ranges::find(lines_, group, &Line::first);
    if (line == lines_.end()) line = lines_.insert(line, {group, {}});
    line->second[penalty].add(s.iterations, s.residual <= acceptable);
    all_[penalty].add(s.iterations, s.residual <= acceptable);
  }
  int cases() const {
    int sum = 0;
    for (const auto& [penalty, cell] : all_) sum += cell.cases;
    return sum;
  }
  void write(std::ostream& out) const {
    out << "| setting |";
    for (const double p : penalties()) out << ' ' << p << " |";
    out << "\n|---|";
    for (std::size_t k = 0; k < penalties().size(); ++k) out << "---|";
    out << '\n';
    const auto line = [&](const std::string& name, const std::map<double, Cell>& cells) {
      out << "| " << name << " |";
      for (const double p : penalties()) out << ' ' << cells.at(p).text() << " |";
      out << '\n';
    };
    for (const auto& [name, cells] : lines_) line(name, cells);
    line("all " + std::to_string(cases()) + " cases", all_);
  }

 private:
  using Line = std::pair<std::string, std::map<double, Cell>>;
  std::vector<Line> lines_;
  std::map<double, Cell> all_;
};

void expect_answer(const Setting& s, const Rows& r, const SingularRidge& oracle, double penalty, const RidgeSolution& got,
                   double learned_bound, double fresh_bound) {
  const FourierMap map = s.map();
  EXPECT_LE(relative(predict(map, got, r.learn.x), oracle.learned(penalty)), std::max(1e-7, learned_bound));
  EXPECT_LE(relative(predict(map, got, r.fresh), oracle.fresh(penalty)), std::max(1e-7, fresh_bound));
}

/// Variances of the first output at fresh rows against those of a float64 Gram matrix: the largest relative difference.
double variance_error(const Setting& s, const Rows& r, const RidgeSolution& got, const RidgeSolution& truth) {
  const FourierMap map = s.map();
  const auto variances = [&](const RidgeSolution& solution) {
    Matrix<double> phi = samples::features(map, r.fresh);
    Matrix<double> out(r.fresh.rows(), s.outputs);
    solution.posterior.variance(map.coupling(), phi, out);
    return out;
  };
  const Matrix<double> a = variances(got);
  const Matrix<double> b = variances(truth);
  double worst = 0;
  for (Index i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a.data()[i] / b.data()[i] - 1));
  return worst;
}

/// Standard deviations are kept where the preconditioner is at most so far off, by its own account.
constexpr double most_coarseness = 0.04;

/// ‖b - (A + ridge)θ‖/‖b‖ by the float64 Gram matrix, the largest of the systems that are solved side by side, and what
/// rounding may hide of it.
std::pair<double, double> true_residual(const NormalSystem& full, double penalty, const RidgeSolution& s) {
  const Dense gram = dense(full.gram).selfadjointView<::Eigen::Lower>();
  const Coupling& coupling = *full.coupling;
  const double ridge = penalty * full.weight;
  Dense a = gram;
  Dense b;
  Dense theta;
  if (coupling.is_constant()) {
    const Channels ch = channels(full);
    const Dense factor = dense(ch.factor);
    b = dense(ch.rhs);
    theta = dense(s.weights) * factor * (factor.transpose() * factor).inverse();
  } else {
    Matrix<double> identity(gram.rows(), gram.cols());
    for (Index i = 0; i < identity.rows(); ++i) identity(i, i) = 1;
    const Dense squares = dense(coupling.normal_matrix(identity)).selfadjointView<::Eigen::Lower>();  // B_cᵀB_c
    a = dense(coupling.normal_matrix(full.gram)).selfadjointView<::Eigen::Lower>();
    Matrix<double> contracted(coupling.parameters(), 1);
    coupling.contract(full.cross, contracted.values());
    b = dense(contracted);
    coupling.contract(s.weights, contracted.values());
    theta = squares.llt().solve(dense(contracted));
  }
  double targets = 0;
  // Sums of products of uncentred features and targets, from which means are taken off.
  for (std::size_t o = 0; o < full.target_square.size(); ++o)
    targets += full.target_square[o] + full.weight * full.mean_target[o] * full.mean_target[o];
  double residual = 0;
  double hidden = 0;
  for (Index k = 0; k < b.cols(); ++k) {
    const double gain = coupling.is_constant() ? channels(full).gain[static_cast<std::size_t>(k)] : 1.0;
    const Vector left = b.col(k) - gain * (a * theta.col(k)) - ridge * theta.col(k);
    residual = std::max(residual, left.stableNorm() / b.col(k).stableNorm());
    hidden = std::max(hidden, 1e-14 * (gain * a.norm() * theta.col(k).norm() + std::sqrt(full.weight) * std::sqrt(targets)) /
                                  b.col(k).stableNorm());
  }
  return {residual, hidden};
}

class RefinementGrid : public ::testing::TestWithParam<GramPrecision> {};

TEST_P(RefinementGrid, EveryCaseIsRightOrSaysThatItIsNot) {
  force_path(PackedPath::portable);
  Table table;
  for (const Setting& s : settings()) {
    const FourierMap map = s.map();
    const Rows r = rows_of(s);
    const SingularRidge oracle(s, r);
    ArrayRows rows = r.learn.rows();
    if (GetParam() == GramPrecision::int8 && (map.bounds().empty() || !r.learn.weights.empty())) continue;
    Refinement refinement(map, rows, {.intercept = s.intercept, .gram = GetParam()}, nullptr);
    const NormalSystem full = normal_system(accumulate(map, rows, Precision::double_), map.coupling(), s.intercept);
    for (const double penalty : penalties()) {
      SCOPED_TRACE(s.name() + ", penalty " + std::to_string(std::log10(penalty)));
      const RidgeSolution refined =
          refinement.solve({.penalty = penalty, .tolerance = tolerance, .keep = Uncertainty::full});
      const RidgeSolution direct = solve_cholesky(full, penalty, Uncertainty::full);
      table.add(s.group, penalty, refined);
      // Normal equations in float64 lose κ·ε.
      const double rounding = 10 * std::numeric_limits<double>::epsilon() * oracle.condition(penalty);
      expect_answer(s, r, oracle, penalty, direct, rounding, rounding);
      if (!(refined.residual <= acceptable)) continue;
      const auto [residual, hidden] = true_residual(full, penalty, refined);
      EXPECT_LE(residual, refined.residual + hidden);
      // As `fit` asks with a given penalty: the step that is taken unseen comes elsewhere.
      const RidgeSolution looser = refinement.solve({.penalty = penalty, .tolerance = acceptable});
      if (looser.residual <= acceptable && looser.prediction_error <= 1e-7) {
        const auto [left, concealed] = true_residual(full, penalty, looser);
        EXPECT_LE(left, looser.residual + concealed);
        // Predictions, counted as the rows they are of, are as good as those of float64: 1e-7 is what docs/refinement.md
        // says.
        const auto weighed = [&](Vector predictions) {
          const std::vector<double> w = r.learn.all_weights();
          const auto columns = predictions.size() / static_cast<::Eigen::Index>(w.size());
          for (::Eigen::Index i = 0; i < predictions.size(); ++i)
            predictions[i] *= std::sqrt(w[static_cast<std::size_t>(i / columns)]);
          return predictions;
        };
        EXPECT_LE(relative(weighed(predict(map, looser, r.learn.x)), weighed(oracle.learned(penalty))),
                  std::max(1e-7, rounding));
        // Rows that are not among them may see more of what those hardly see.
        EXPECT_LE(relative(predict(map, looser, r.fresh), oracle.fresh(penalty)), std::max(1e-6, rounding));
      }
      expect_answer(s, r, oracle, penalty, refined, oracle.learned_reach(penalty, refined.residual + hidden),
                    oracle.reach(penalty, refined.residual + hidden));
      if (refined.coarseness > most_coarseness) continue;
      // What is not refined is off by no more than conjugate gradients say, and float64 itself by its rounding.
      const double off = refined.coarseness + 1e-9 + rounding;
      const double freedom = oracle.degrees_of_freedom(penalty);
      EXPECT_NEAR(refined.degrees_of_freedom / freedom, 1, most_coarseness);
      if (s.twist != "targets x 1e-160") {  // whose variance is no normal number
        // σ² = Σr²/(n - df), the denominator not below n/100.
        const double left = std::max(oracle.weight() - freedom * (1 + most_coarseness), 0.01 * oracle.weight());
        EXPECT_NEAR(refined.noise[0] / direct.noise[0], 1, most_coarseness * (1 + freedom / left));
      }
      if (direct.posterior.kind == refined.posterior.kind) {
        EXPECT_LE(variance_error(s, r, refined, direct), off);
      }
    }
  }
  force_path(PackedPath::automatic);
  EXPECT_GE(table.cases(), 300);
  if (const char* file = std::getenv("MERCER_REFINEMENT_TABLE")) {
    std::ofstream out(file, std::ios::app);
    out << "\n" << words(GetParam()) << "\n\n";
    table.write(out);
  }
}

std::string gram_name(const ::testing::TestParamInfo<GramPrecision>& tested) {
  const char* names[] = {"int8", "bf16", "bf16_three", "float32"};
  return names[static_cast<int>(tested.param)];
}
INSTANTIATE_TEST_SUITE_P(Grams, RefinementGrid,
                         ::testing::Values(GramPrecision::int8, GramPrecision::bf16, GramPrecision::bf16_three,
                                           GramPrecision::float32),
                         gram_name);

}  // namespace
}  // namespace mercer
