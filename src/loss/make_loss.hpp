#pragma once
#include <mercer/view.hpp>

#include <memory>
#include <string_view>
#include <vector>

#include "loss/loss.hpp"

namespace mercer {

/// One loss as help and documentation show it.
struct LossName {
  std::string_view name;
  std::string_view parameters;  ///< as written after the name: ":K[,coordinates]"; "" for none
  std::string_view standard;    ///< the parameters that stand when none are written; "" where there are none
  std::string_view example;     ///< a whole text that can be copied
  std::string_view help;        ///< one line
};

/// Every loss make_loss knows, in the order to show them.
std::vector<LossName> loss_names();

/// Reads "name" or "name:parameters", for predictions with `outputs` entries. The parameter ",coordinates" of huber, epsilon
/// and epsilon2 sums the loss over the outputs instead of taking it of their Euclidean norm. A single level of pinball or
/// expectile serves every output; otherwise there is one per output. Throws Error(invalid_argument) that says how to write
/// it.
std::unique_ptr<Loss> make_loss(std::string_view text, Index outputs);

}  // namespace mercer
