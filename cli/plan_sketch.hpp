#pragma once
#include "console.hpp"
#include "model/plan_sketch.hpp"

namespace mercer::cli {

void say_sketch(const Console& console, const SketchPlan& plan, double error, double confidence);

}  // namespace mercer::cli
