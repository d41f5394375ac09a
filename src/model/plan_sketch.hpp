#pragma once
#include <mercer/model.hpp>

#include <optional>
#include <string>
#include <vector>

#include "model/recipe.hpp"
#include "theory/sketch_theory.hpp"
#include "theory/spectrum.hpp"

namespace mercer {

/// What one draw of a sketch does to the kernel: of up to 2000 rows at all of them; of a sample of 2000 at 500 further rows,
/// since among the sample the sketch would know more of the rows than among all.
struct SketchPlanRow {
  Index size = 0;           ///< s
  std::optional<double> p;  ///< of all rows, for p-SR and p-SG
  double anchors = 0;       ///< E s' for all rows
  Index features = 0;       ///< rank of S K Sᵀ
  double mean_error = 0;    ///< KernelError
  double largest_error = 0;
  Satisfiability satisfied;  ///< for δ_n and d_n of all rows
  double memory_bytes = 0;   ///< of the fit
  double seconds = 0;        ///< of the fit on all rows: what the sample took, carried over
};

struct SketchPlan {
  Index rows = 0;         ///< of positive weight
  std::string kernel;     ///< resolved
  std::string loss;       ///< that memory and time are for
  std::string law;        ///< "p-sr", "nystrom,leverage", …
  GramSpectrum spectrum;  ///< of the rows looked at, without vectors
  CriticalRadius radius;
  std::vector<SketchPlanRow> table;
  std::optional<SketchPlanRow> judged;       ///< the sketch that was asked for
  std::optional<SketchPlanRow> advised;      ///< smallest size, then sparsest p, whose mean error is at most the wanted one
  std::string advised_map;                   ///< as --map reads it
  std::optional<SketchPlanRow> satisfiable;  ///< the first of the table to be K-satisfiable
  std::optional<double> theorem_p;           ///< of theorem 5; none for laws it does not speak of
  double theorem_size = 0;                   ///< s that it asks for
  double theorem_constant = 0;               ///< c that it gives
  std::optional<RiskBound> bound;            ///< for the sketch judged, or else the first that is K-satisfiable
};

/// Whether this text of --map names a sketch.
bool names_sketch(const std::string& map);

/// Statistical dimension and advice on s and p for a sketch without a size ("p-sr"), a verdict on one with ("p-sr:200"),
/// measured on at most 2000 rows.
SketchPlan make_sketch_plan(RowSource& raw, const FitOptions& options, double error, double confidence);

}  // namespace mercer
