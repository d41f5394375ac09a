#pragma once
#include <mercer/model.hpp>

#include <string>

#include "gp/mean_basis.hpp"

namespace mercer {

enum class ProcessKind { spectral_mixture, exact, variational };

/// What --gp asks for.
struct ProcessPlan {
  ProcessKind kind = ProcessKind::spectral_mixture;
  Index components = 10;                         ///< of a spectral mixture, here or as the kernel of the others
  Kernel envelope = {Gaussian{{{1.0}, false}}};  ///< law of its components
  Index inducing = 300;                          ///< of the variational bound
  bool mixture_kernel = true;                    ///< false: FitOptions::kernel is learned
  MeanForm mean = MeanForm::constant;
  bool open_mean = false;  ///< constant or linear, whichever the rows prefer
};

/// Reads options.gp and options.kernel; throws Error with what is allowed, also for what does not go with a process.
ProcessPlan process_plan(const FitOptions& options);

/// The options under which rows are scaled and the recipe is made: map and a kernel that stands in for one to be learned.
FitOptions process_options(const FitOptions& options);

/// A kernel whose size can be learned too: factors are put before terms that have none.
Kernel with_amplitudes(const Kernel& kernel);

}  // namespace mercer
