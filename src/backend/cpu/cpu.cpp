#include "backend/cpu/cpu.hpp"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace mercer {
namespace {

[[maybe_unused]] constexpr unsigned amx_bf16 = 1U << 22U;
[[maybe_unused]] constexpr unsigned amx_int8 = 1U << 25U;

/// Tile registers are lent by the kernel on request, once for the whole process (Documentation/arch/x86/xstate.rst).
/// `numbers`: the bit of what they multiply.
bool amx_allowed([[maybe_unused]] unsigned numbers) {
#if defined(__x86_64__) && defined(__linux__)
  static const unsigned allowed = []() -> unsigned {
    constexpr unsigned amx_tile = 1U << 24U;
    constexpr long request_permission = 0x1023;  // ARCH_REQ_XCOMP_PERM
    constexpr long tile_data = 18;
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return 0;
    if ((d & amx_tile) == 0 || syscall(SYS_arch_prctl, request_permission, tile_data) != 0) return 0;
    return d;
  }();
  return (allowed & numbers) != 0;
#else
  return false;
#endif
}

}  // namespace

CpuFeatures cpu_features() {
  CpuFeatures features;
#if defined(__x86_64__)
  __builtin_cpu_init();
  features.avx2_fma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  features.avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                    __builtin_cpu_supports("avx512cd");
  features.avx512_bf16 = features.avx512 && __builtin_cpu_supports("avx512bf16");
  features.fast_bf16 = features.avx512_bf16 && __builtin_cpu_is("amd");
  features.ample_loads = features.avx512 && __builtin_cpu_is("amd");
  features.avx512_vnni = features.avx512 && __builtin_cpu_supports("avx512vnni");
  features.amx_bf16 = amx_allowed(amx_bf16);
  features.amx_int8 = amx_allowed(amx_int8);
#endif
  return features;
}

}  // namespace mercer
