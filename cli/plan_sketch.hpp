#pragma once
#include "console.hpp"
#include "model/plan_sketch.hpp"

namespace mercer::cli {

/// What memory and time of a plan are about, when not ridge.
void say_loss(const Console& console, const std::string& loss);
void say_sketch(const Console& console, const SketchPlan& plan, double error, double confidence);

}  // namespace mercer::cli
