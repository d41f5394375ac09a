#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <string>

#include "backend/backend.hpp"
#include "backend/cpu/cos_sin.hpp"
#include "backend/cpu/cpu.hpp"
#include "base/fail.hpp"

namespace mercer {
namespace {

Simd best_simd() {
  if (simd_supported(Simd::avx512)) return Simd::avx512;
  if (simd_supported(Simd::avx2)) return Simd::avx2;
  return Simd::portable;
}

Simd chosen_at_start() {
  const char* wish = std::getenv("MERCER_SIMD");
  if (wish == nullptr || *wish == '\0') return best_simd();
  for (const Simd level : {Simd::portable, Simd::avx2, Simd::avx512}) {
    if (std::string(wish) != to_string(level)) continue;
    if (!simd_supported(level)) fail_argument(std::string("MERCER_SIMD=") + wish + ", but this CPU does not have it");
    return level;
  }
  fail_argument(std::string("MERCER_SIMD is '") + wish + "', not one of portable, avx2, avx512");
}

std::atomic<Simd> active{Simd::automatic};

/// Largest phase for which q·(first piece of π/2) is exact.
template <class Real>
constexpr Real reduction_limit = sizeof(Real) == sizeof(float) ? Real(8192) : Real(1e6);

template <class Real>
struct Loops {
  bool (*within)(const Real* phase, std::ptrdiff_t count, Real limit);
  void (*cos_sin)(const Real* phase, std::ptrdiff_t count, Real scale, Real* cosine, Real* sine);
};

template <class Real>
Loops<Real> loops() {
  switch (active_simd()) {
    case Simd::avx512:
      return {simd_avx512::within, simd_avx512::cos_sin};
    case Simd::avx2:
      return {simd_avx2::within, simd_avx2::cos_sin};
    case Simd::portable:
    case Simd::automatic:
      break;
  }
  return {simd_portable::within, simd_portable::cos_sin};
}

}  // namespace

const char* to_string(Simd level) {
  switch (level) {
    case Simd::avx512:
      return "avx512";
    case Simd::avx2:
      return "avx2";
    case Simd::portable:
      return "portable";
    case Simd::automatic:
      break;
  }
  return "automatic";
}

bool simd_supported(Simd level) {
  switch (level) {
    case Simd::avx512:
      return cpu_features().avx512;
    case Simd::avx2:
      return cpu_features().avx2_fma;
    case Simd::portable:
    case Simd::automatic:
      break;
  }
  return true;
}

void force_simd(Simd level) {
  if (!simd_supported(level)) fail_argument(std::string("this CPU has no ") + to_string(level));
  active.store(level == Simd::automatic ? best_simd() : level);
}

Simd active_simd() {
  Simd level = active.load(std::memory_order_relaxed);
  if (level == Simd::automatic) {
    level = chosen_at_start();
    active.store(level);
  }
  return level;
}

template <class Real>
void cos_sin(const Real* phase, Index count, Real scale, Real* cosine, Real* sine) {
  constexpr Index chunk = 1024;  // stays in the first cache between the range check and the work
  const Loops<Real> l = loops<Real>();
  Real copy[chunk];
  for (Index first = 0; first < count; first += chunk) {
    const Index n = std::min(chunk, count - first);
    std::copy_n(phase + first, n, copy);
    if (!l.within(copy, n, reduction_limit<Real>)) {
      for (Index i = 0; i < n; ++i) {
        const Real x = copy[i];
        cosine[first + i] = scale * std::cos(x);
        sine[first + i] = scale * std::sin(x);
      }
      continue;
    }
    l.cos_sin(copy, n, scale, cosine + first, sine + first);
  }
}

template void cos_sin(const float*, Index, float, float*, float*);
template void cos_sin(const double*, Index, double, double*, double*);

}  // namespace mercer
