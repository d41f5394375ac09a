#include "backend/cpu/blas.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

#include "backend/cpu/cpu.hpp"
#include "base/fail.hpp"
#include "base/text.hpp"

namespace mercer {
namespace {

/// Sets an environment variable for the time of loading, unless the user has set it.
class ScopedEnvironment {
 public:
  ScopedEnvironment(const char* name, const std::string& value) : name_(name), ours_(std::getenv(name) == nullptr) {
    if (ours_ && !value.empty()) setenv(name, value.c_str(), 1);
  }
  ~ScopedEnvironment() {
    if (ours_) unsetenv(name_);
  }
  ScopedEnvironment(const ScopedEnvironment&) = delete;
  ScopedEnvironment& operator=(const ScopedEnvironment&) = delete;

 private:
  const char* name_;
  bool ours_;
};

/// The OpenBLAS kernels that fit this CPU whatever its model number; "" lets OpenBLAS decide.
std::string fitting_kernels() {
  const CpuFeatures cpu = cpu_features();
  if (cpu.avx512) return "SkylakeX";
  if (cpu.avx2_fma) return "Haswell";
  return "";
}

/// Whether these are half the width of the others, or old.
bool is_narrower(const std::string& kernels, const std::string& fitting) {
  constexpr std::array<const char*, 3> half_of_avx512 = {"Haswell", "Zen", "Sandybridge"};
  return fitting == "SkylakeX" && std::ranges::any_of(half_of_avx512, [&](const char* name) { return kernels == name; });
}

bool is_fallback(const std::string& kernels) {
  constexpr std::array<const char*, 9> old = {"Prescott", "Core2",  "Katmai",  "Coppermine", "Northwood",
                                              "Banias",   "Athlon", "Opteron", "Nehalem"};
  return std::ranges::any_of(old, [&](const char* name) { return kernels.starts_with(name); });
}

/// A BLAS that was packed with us, as in Python wheels: blas/libscipy_openblas.so beside the library this code is in. ""
/// when its full path is not known: never a library of whatever folder the user stands in.
std::string packed_library() {
  Dl_info here;
  if (dladdr(reinterpret_cast<const void*>(&packed_library), &here) == 0 || here.dli_fname == nullptr) return "";
  const std::string path = here.dli_fname;
  return !path.starts_with('/') ? "" : path.substr(0, path.rfind('/') + 1) + "blas/libscipy_openblas.so";
}

void* open_library(std::string& loaded) {
  std::vector<std::string> candidates;
  if (const char* chosen = std::getenv("MERCER_BLAS")) {
    candidates = {chosen};
  } else {
    candidates = {packed_library(), "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0",
                  "/usr/lib/aarch64-linux-gnu/openblas-pthread/libopenblas.so.0", "libopenblas.so.0", "libopenblas.so"};
  }
  std::erase(candidates, "");  // which dlopen takes for the program itself
  for (const auto& name : candidates) {
    if (void* handle = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL)) {
      loaded = name;
      return handle;
    }
  }
  fail_internal("no BLAS found (tried " + join(candidates, ", ") +
                "); install Debian's libopenblas0-pthread or point MERCER_BLAS at a libopenblas.so");
}

/// The symbol, or null. Wheels of OpenBLAS prefix theirs, so that several copies can live in one process.
template <class Function>
Function find(void* handle, const std::string& name) {
  for (const char* prefix : {"", "scipy_"}) {
    if (void* symbol = dlsym(handle, (prefix + name).c_str()))
      return reinterpret_cast<Function>(symbol);  // dlsym's contract
  }
  return nullptr;
}

template <class Function>
void bind(void* handle, const char* name, Function& function) {
  function = find<Function>(handle, name);
  if (function == nullptr) fail_internal(std::string("the BLAS library lacks ") + name);
}

Blas load() {
  Blas b;
  void* handle = nullptr;
  {
    const ScopedEnvironment core("OPENBLAS_CORETYPE", fitting_kernels());
    const ScopedEnvironment single("OPENBLAS_NUM_THREADS", "1");
    handle = open_library(b.library);
  }
  bind(handle, "sgemm_", b.sgemm);
  bind(handle, "dgemm_", b.dgemm);
  bind(handle, "sgemv_", b.sgemv);
  bind(handle, "dgemv_", b.dgemv);
  bind(handle, "ssyrk_", b.ssyrk);
  bind(handle, "dsyrk_", b.dsyrk);
  bind(handle, "strsm_", b.strsm);
  bind(handle, "dtrsm_", b.dtrsm);
  bind(handle, "spotrf_", b.spotrf);
  bind(handle, "dpotrf_", b.dpotrf);
  bind(handle, "dsyevd_", b.dsyevd);
  if (auto set_threads = find<void (*)(int)>(handle, "openblas_set_num_threads")) set_threads(1);
  if (auto corename = find<char* (*)()>(handle, "openblas_get_corename")) b.kernels = corename();
  if (auto config = find<char* (*)()>(handle, "openblas_get_config")) b.config = config();
  if (is_fallback(b.kernels) && cpu_features().avx2_fma) {
    b.warning = "OpenBLAS runs on its '" + b.kernels +
                "' kernels, several times slower than this CPU can; set OPENBLAS_CORETYPE=" + fitting_kernels() +
                " before the program that loads it starts";
  } else if (const char* chosen = std::getenv("OPENBLAS_CORETYPE");
             chosen != nullptr && is_narrower(b.kernels, fitting_kernels())) {
    b.note = "chosen by OPENBLAS_CORETYPE=" + std::string(chosen) + "; without it Mercer takes " + fitting_kernels() +
             ", whose vectors are twice as wide";
  }
  return b;
}

}  // namespace

const Blas& blas() {
  static const Blas instance = load();
  return instance;
}

}  // namespace mercer
