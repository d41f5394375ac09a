#pragma once
#include <mercer/export.hpp>
#include <mercer/kernel.hpp>
#include <mercer/progress.hpp>
#include <mercer/rows.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mercer {

/// Gaussian processes whose hyperparameters are learned from the data by their marginal likelihood.
struct GpOptions {
  /// "": none. "spectral_mixture[:Q][,student|laplace]": a spectrum of Q components learned by random points (paper 3).
  /// "exact": the kernel's parameters and the noise by exact likelihood, O(n³). "vfe[:M]": by Titsias' bound with M inducing
  /// inputs. With exact and vfe, FitOptions::kernel may also be "spectral_mixture:Q".
  std::string kind;
  /// auto: constant; for the spectrum of a series whichever of constant and linear forecasts the last fifth of it better
  std::string mean = "auto";                ///< auto, none, constant, linear
  Index points = 300;                       ///< spectral points
  std::string optimizer = "auto";           ///< adam (new points at every step), lbfgs (fixed points; exact and vfe)
  int steps = 0;                            ///< 0: 300 of adam, 200 of lbfgs
  double rate = 0.05;                       ///< of adam at first
  int draws = 1;                            ///< sets of points per step
  int posterior_draws = 8;                  ///< sets of points that predictions average over
  std::string parametrization = "general";  ///< general (mean, scale), natural
  std::string allocation = "softmax";       ///< of points to components: softmax, optimal, uniform
  std::string sampling = "mc";              ///< mc, antithetic, qmc
  /// independent: a kernel and a noise for each target. shared: one for all; outputs with a shared spectrum are coupled by a
  /// learned matrix, those of exact and vfe are independent functions.
  std::string outputs = "independent";
  int restarts = 1;       ///< trainings from different starts, of which the best is kept
  double validation = 0;  ///< share of the rows (the last) that stop the training early
};

/// How to fit. Every field has a default that a newcomer can leave alone.
struct FitOptions {
  std::string kernel = "gaussian(median)";  ///< text form; length scales in units of the scaled inputs
  std::string map = "auto";                 ///< "fourier:D[,mc|orthogonal|qmc]", "exact", or a sketch: see docs/maps.md
  std::string loss = "square";    ///< square, huber:1.345, epsilon:0.1, pinball, logistic, … as docs/losses.md lists them
  std::vector<double> quantiles;  ///< levels to fit together (loss pinball): the model has one output per level
  bool non_crossing = false;      ///< quantiles in order at every training row
  std::vector<double> grid;       ///< with non_crossing: further inputs where they are in order, row after row, your units
  std::optional<double> penalty;  ///< λ of (1/n)Σ½‖f-y‖² + (λ/2)‖θ‖²; none: least leave-one-out error
  std::string solver = "auto";    ///< auto, eigen, cholesky, refined, cg, sgd; admm, adam for other losses
  /// auto: answers of float64, by coarser Gram matrices that are refined where that is faster; float64: nothing but float64;
  /// float32: features and their products in float32, answers to about 1e-5.
  std::string precision = "auto";
  std::string uncertainty = "auto";  ///< auto, full, samples, none: what to keep for standard deviations
  bool standardize = true;           ///< scale inputs and targets (one common factor each for vector fields)
  bool intercept = true;             ///< an unpenalised constant per output
  std::uint64_t seed = 0;
  Index memory_bytes = Index{4} << 30;    ///< budget for working memory
  std::optional<double> tolerance;        ///< admm: relative duality gap (1e-4); cg: relative residual (1e-10)
  int passes = 20;                        ///< sgd, adam: passes over the rows
  std::optional<double> conformal;        ///< level of intervals calibrated on a fifth of the rows, kept out of the fit
  bool time_order = false;                ///< conformal: that fifth is the last rows, not random ones
  GpOptions gp;                           ///< a Gaussian process instead of ridge with given kernel and penalty
  std::vector<std::string> classes;       ///< not empty: targets are class numbers 0 … K-1, coded on a simplex
  std::vector<std::string> target_names;  ///< for messages and graph(...) edge lists; may be empty
  Progress* progress = nullptr;
};

/// What happened in a fit, as data.
struct FitSummary {
  Index rows = 0;
  double weight = 0;  ///< Σ of row weights
  Index inputs = 0;
  Index outputs = 0;     ///< p of the fitted function (classes - 1 for classification)
  Index features = 0;    ///< scalar feature columns; rows for an exact model
  Index parameters = 0;  ///< length of θ
  std::string kernel;    ///< as resolved
  std::string map;
  std::string sampling;  ///< monte_carlo, orthogonal, quasi; the law of a sketch (p-sr, uniform, …); "" for exact
  Index anchors = 0;     ///< training rows that a sketch keeps
  std::string loss;
  std::string solver;
  std::string precision;
  std::string gram;         ///< how the Gram matrix was computed when not in `precision`: "bf16 (AMX)"
  double spread_error = 0;  ///< about how far standard deviations are off for that, a share of them
  std::string plan;         ///< of large ridge problems: what was chosen and what it was thought to take
  double penalty = 0;
  bool penalty_chosen = false;               ///< by leave-one-out
  std::optional<double> leave_one_out_rmse;  ///< root mean square over rows and outputs, in scaled units
  Index leave_one_out_rows = 0;
  double degrees_of_freedom = 0;
  int iterations = 0;
  double residual = 0;
  std::optional<double> objective;        ///< of losses other than square: what was minimised, scaled units
  std::optional<double> gap;              ///< relative duality gap: the least possible objective is at most this share below
  std::optional<double> interval_level;   ///< of conformal intervals
  Index calibration_rows = 0;             ///< kept out of the fit for them
  std::string process;                    ///< of Gaussian processes: spectral_mixture, exact, vfe
  std::optional<double> nlml;             ///< their negative log marginal likelihood, scaled units (a bound for vfe)
  std::string status = "ok";              ///< ok, approximate (iterative solver stopped early), recovered (see notes)
  std::vector<std::string> notes;         ///< sentences for people
  std::map<std::string, double> seconds;  ///< total and stages
  Index peak_memory_bytes = 0;
  std::vector<std::pair<double, double>> penalty_path;  ///< (λ, leave-one-out mean square)
};

/// A component of a learned spectrum, in the user's units.
struct SpectralComponent {
  double weight = 0;              ///< variance it explains, in units of the target squared
  double weight_error = 0;        ///< standard error of it
  std::vector<double> frequency;  ///< d: cycles per unit of input
  std::vector<double> spread;     ///< d: standard deviation of the frequency (scale of the law)
};

/// A line of the training of a Gaussian process. rmse and mnll (mean negative log predictive density) are of the validation
/// rows in scaled units, NaN without any.
struct TrainingStep {
  int iteration = 0;
  double seconds = 0;
  double nlml = 0;
  double objective = 0;  ///< what was minimised: nlml, or the bound with its divergence
  double rmse = 0;
  double mnll = 0;
};

/// A fitted function R^d → R^p. A value: cheap to copy, safe to share between threads.
class MERCER_API Model {
 public:
  struct State;
  explicit Model(std::shared_ptr<const State> state);

  Index inputs() const;
  /// Columns of a prediction: p for regression, the number of classes for classification (scores).
  Index outputs() const;
  const std::vector<std::string>& classes() const;
  const FitSummary& summary() const;
  bool has_uncertainty() const;

  /// mean (rows × outputs) for inputs in the user's units. NaN in a row of x gives NaN in that row.
  void predict(ConstMatrix x, MutMatrix mean) const;
  /// Also the standard deviation: of a new observation, or of the function alone when `latent`.
  void predict(ConstMatrix x, MutMatrix mean, MutMatrix standard_deviation, bool latent = false) const;
  /// Cov(f_a(x_i), f_a(x_j)) of one output a, rows × rows, in the square of its unit; of new observations, each with noise
  /// of its own, unless `latent`. The diagonal is the square of the standard deviation. NaN in a row of x gives NaN in that
  /// row and column. For all rows at once: O(rows²) memory.
  void covariance(ConstMatrix x, Index output, MutMatrix covariance, bool latent = false) const;
  bool has_intervals() const;
  /// Columns of an interval: the targets (one for several quantiles of a target).
  Index interval_outputs() const;
  /// Per target, bounds that hold a new row exchangeable with the calibration rows with at least summary().interval_level of
  /// probability, whatever the model (fit with FitOptions::conformal). NaN in a row of x gives NaN in that row.
  void predict_interval(ConstMatrix x, MutMatrix lower, MutMatrix upper) const;
  /// Functions drawn from the posterior of a Gaussian process, each at all rows x: column s·outputs() + a of `values` is
  /// output a of function s. The same seed gives the same functions wherever they are asked for.
  void sample(ConstMatrix x, Index count, std::uint64_t seed, MutMatrix values) const;
  /// The learned spectrum of an output, heaviest component first; empty for models without one.
  std::vector<SpectralComponent> spectrum(Index output = 0) const;
  /// The steps of the training for an output (outputs with one kernel or spectrum have one training); none for other models.
  const std::vector<TrainingStep>& training(Index output = 0) const;
  /// Class numbers.
  std::vector<Index> classify(ConstMatrix x) const;

  /// Atomically writes / reads a .mercer file (safetensors). Loading never executes anything and checks every length.
  void save(const std::string& path) const;
  static Model load(const std::string& path);
  /// The same file in memory, for pickles, databases and messages.
  std::vector<std::byte> to_bytes() const;
  static Model from_bytes(std::span<const std::byte> bytes);

  const State& state() const { return *state_; }

 private:
  std::shared_ptr<const State> state_;
};

/// Fits problem (P).
MERCER_API Model fit(RowSource& rows, const FitOptions& options);

}  // namespace mercer
