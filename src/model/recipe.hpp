#pragma once
#include <mercer/kernel.hpp>
#include <mercer/model.hpp>

#include <optional>
#include <string>
#include <vector>

#include "base/timeline.hpp"
#include "io/dataset.hpp"
#include "map/fourier.hpp"
#include "map/sketch.hpp"
#include "model/scaling.hpp"
#include "solve/posterior.hpp"
#include "solve/statistics.hpp"
#include "theory/spectrum.hpp"

namespace mercer {

/// Where the features come from: nowhere (the kernel itself), random frequencies, or a sketch of the training rows.
enum class MapKind { exact, fourier, sketch };

/// Everything that is settled before a single feature is computed. Shards that share a recipe can be accumulated apart.
struct Recipe {
  OperatorKernel kernel;  ///< resolved
  MapKind map = MapKind::fourier;
  FourierRecipe fourier;  ///< of MapKind::fourier
  SketchRecipe sketch;    ///< of MapKind::sketch
  Scaling scaling;
  std::vector<std::string> classes;
  std::string loss = "square";  ///< what make_loss reads
  std::vector<double> levels;   ///< quantiles of one target, ascending; empty for other losses
  bool non_crossing = false;    ///< of the quantiles at the training rows
  bool intercept = true;
  Precision precision = Precision::double_;
  std::vector<double> target_mean;       ///< of the training rows, in the user's units: what a constant model would predict
  Schema schema;                         ///< columns of the files this came from; empty names when fitted from arrays
  std::optional<Timeline> timeline;      ///< of a single input: when the training rows stand
  std::optional<GramSpectrum> spectrum;  ///< of K over a sample of the rows, where the model keeps none (sampled_spectrum)

  Index inputs() const { return static_cast<Index>(scaling.input_shift.size()); }
  /// p of the fitted function.
  Index outputs() const {
    const TargetCoding c = coding();
    return c.classifies() ? c.codes.cols() : static_cast<Index>(scaling.target_shift.size()) * c.copies;
  }
  /// The target, or place in scaling, that output a is about.
  std::size_t target_of(Index a) const { return levels.empty() ? static_cast<std::size_t>(a) : 0; }
  TargetCoding coding() const {
    return target_coding(loss, static_cast<Index>(classes.size()), static_cast<Index>(levels.size()));
  }
  /// One name per output: the targets, or <target>_q<level> for quantiles (_e for expectiles).
  std::vector<std::string> output_names() const;
  bool exact() const { return map == MapKind::exact; }
  std::uint64_t seed() const { return fourier.seed; }
  /// One seed for everything random.
  void set_seed(std::uint64_t seed) { fourier.seed = sketch.seed = seed; }
  /// What parse_map reads back.
  std::string map_text() const;
};

/// "exact", "fourier:D[,mc|orthogonal|qmc]" or a sketch ("p-sr:200,p=20/n", "nystrom:200,leverage", …) into recipe.map and
/// its settings; throws Error with what is allowed.
void parse_map(const std::string& text, Recipe& recipe);
/// What the map "auto" stands for: fourier:1000; exact for the square loss and at most 1000 rows (1500 numbers of a
/// vector field), where it takes a sixth to a half of the time (docs/maps.md); for a loss other than square and at most 3000
/// rows, where the kernel can be sketched, nystrom:300 (all rows when there are fewer). With such losses the
/// eigendecomposition of 2000 features takes seconds: on 300 to 3000 rows of five inputs Huber, three quantiles and logistic
/// fits took 6 to 22 s with fourier:1000 and 0.2 to 1.5 s with nystrom:300, at test losses between 4 % better and 2.5 %
/// worse; exact is slower from 800 rows on.
std::string chosen_map(const FitOptions& options, Index rows, Index outputs);
/// The same for work that needs features: statistics, plans, searches among sizes.
std::string chosen_features(const FitOptions& options, Index rows);
Precision parse_precision(const std::string& text);
Uncertainty parse_uncertainty(const std::string& text);

/// Gives a recipe that came from arrays the column names a file without a header would get (x0, x1, …), so that such files
/// can be predicted with it.
void complete_schema(Recipe& recipe);

/// One more pass where there is a single number as input; nothing otherwise. `rows` are all rows the user gave to be fitted.
void set_timeline(RowSource& rows, Recipe& recipe);

/// One pass over the raw rows: scaling, median distance, output covariance where the kernel asks for them.
Recipe prepare(RowSource& rows, const FitOptions& asked);

}  // namespace mercer
