#pragma once
#include <nlohmann/json_fwd.hpp>

namespace mercer::cli {

/// What this machine can do, measured now: cpu, threads, blas_kernels, simd, int8, bf16, peak_f32 and peak_f64
/// (multiply-adds, flops per second), gram_int8 and gram_bf16 (the Gram update in them, likewise), cos_sin_f32 and
/// cos_sin_f64 (pairs per second).
nlohmann::json machine_speed();

}  // namespace mercer::cli
