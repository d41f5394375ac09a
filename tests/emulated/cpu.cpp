// A CPU with tiles, in place of src/backend/cpu/cpu.cpp, wherever it has the vectors that go with them.
#define cpu_features cpu_features_of_this_machine
#include "backend/cpu/cpu.cpp"
#undef cpu_features

#include <gtest/gtest.h>

#include "backend/packed_rows.hpp"

namespace mercer {

CpuFeatures cpu_features();
CpuFeatures cpu_features() {
  CpuFeatures features = cpu_features_of_this_machine();
  features.amx_bf16 = features.avx512 && features.avx512_bf16;
  features.amx_int8 = features.avx512 && features.avx512_vnni;
  return features;
}

namespace {

TEST(EmulatedTiles, AreUsedWhereThereAreVectors) {
  if (!cpu_features().amx_bf16) GTEST_SKIP() << "this CPU has no AVX-512 with bfloat16";
  EXPECT_EQ(active_path(LowNumber::bf16), PackedPath::amx);
}

}  // namespace
}  // namespace mercer
