#pragma once
#include <mercer/model.hpp>
#include <mercer/progress.hpp>
#include <mercer/rows.hpp>

#include <optional>

#include "model/scaling.hpp"
#include "model/sketch_quality.hpp"

// What paper 2 says of a fitted model: the spectrum of K/n, what it makes of n rows, and how well the model's own sketch
// keeps it. docs/theory.md has the definitions.

namespace mercer {

struct Recipe;

/// The sketch of the model itself, drawn again.
struct SketchDiagnosis {
  Satisfiability satisfied;
  KernelError error;               ///< at up to 2000 of the training rows
  std::optional<RiskBound> bound;  ///< with the model's penalty and loss; none when it is not K-satisfiable
};

struct Diagnosis {
  enum class Source { kept_rows, sample_at_fit, data };
  Source source = Source::data;
  Index rows = 0;         ///< n
  GramSpectrum spectrum;  ///< of spectrum.rows of them, without vectors
  CriticalRadius radius;
  std::optional<SketchDiagnosis> sketch;  ///< with the data, for models that drew one
};

/// From the file alone: the rows that an exact model or a sketch with anchors drawn uniformly keeps (up to 1000), or what
/// the recipe holds of all others. Nothing where k is not scalar (fields), was learned (processes but exact ones) or the
/// file is older than the entry.
std::optional<Diagnosis> diagnose(const Model& model);

/// With the rows of the fit, in the user's units. Of a model with a sketch they must be those very rows in their order, else
/// throws Error: the sketch is drawn again from the recipe and its anchors are compared with the model's. Its measures need
/// eigenvectors over all n rows: 24·n·rank bytes, of at most `memory_bytes`. Other models: eigenvalues of up to 2000 rows.
/// Throws Error where there is no scalar kernel.
Diagnosis diagnose(const Model& model, RowSource& raw, double confidence, Index memory_bytes, Progress* progress);

/// What a recipe stores for models that keep no uniform sample of their rows (Fourier, leverage, rpcholesky): the spectrum
/// of 500 rows of the sample, from 128 pivots. Nothing for others, and for kernels that are not scalar. Some 5 ms.
std::optional<GramSpectrum> sampled_spectrum(const Recipe& recipe, const RowSummary& summary);

}  // namespace mercer
