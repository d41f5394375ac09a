#include "io/tensor_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <mercer/error.hpp>

#include <algorithm>
#include <bit>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "io/checksum.hpp"
#include "unit/io/tensor_bytes.hpp"

namespace mercer {
namespace {

namespace fs = std::filesystem;

class TensorFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "mercer-tensor-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  static std::string content(const std::string& name) {
    std::ifstream in(name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::string folder_;
};

/// Every kind of tensor, the extremes of double and float, empty shapes, and text that JSON must escape.
TensorFile sample() {
  using D = std::numeric_limits<double>;
  TensorFile file;
  file.metadata["mercer.format"] = "1";
  file.metadata["note"] = "line\nbreak \"quotes\" \\ tab\t é 世界 \x01";
  file.metadata[""] = "";
  file.add("matrix", Matrix<double>(2, 3, {0.1, -0.0, D::denorm_min(), D::max(), -D::min(), 1.0 / 3}));
  file.add("single", Matrix<float>(2, 2, {0.1F, -2.5F, std::numeric_limits<float>::max(), 1e-45F}));
  file.add("vector", std::vector<double>{1, 2, 3, 4.5});
  file.add("no rows", Matrix<double>(0, 5));
  file.add("no cols", Matrix<double>(7, 0));
  file.add("none", std::vector<double>{});
  const std::vector<std::byte> bytes{std::byte{0}, std::byte{255}, std::byte{34}};
  file.add_bytes("bytes", bytes);
  file.add_bytes("ünïcode \"name\"\n", {});
  return file;
}

bool same_bits(std::span<const double> a, std::span<const double> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](double x, double y) { return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y); });
}

TEST_F(TensorFileTest, RoundTripIsBitEqual) {
  const TensorFile saved = sample();
  saved.save(path("a"));
  const TensorFile loaded = TensorFile::load(path("a"));
  EXPECT_EQ(loaded.metadata, saved.metadata);
  for (const char* name : {"matrix", "single", "no rows", "no cols"}) {
    const Matrix<double> a = saved.matrix(name);
    const Matrix<double> b = loaded.matrix(name, a.rows(), a.cols());
    EXPECT_TRUE(same_bits(a.values(), b.values())) << name;
  }
  EXPECT_EQ(loaded.matrix("no rows").cols(), 5);
  EXPECT_EQ(loaded.matrix("no cols").rows(), 7);
  EXPECT_EQ(loaded.matrix("single")(0, 0), static_cast<double>(0.1F));
  EXPECT_TRUE(same_bits(loaded.vector("vector", 4), saved.vector("vector")));
  EXPECT_TRUE(loaded.vector("none", 0).empty());
  EXPECT_EQ(loaded.bytes("bytes"), saved.bytes("bytes"));
  EXPECT_TRUE(loaded.bytes("ünïcode \"name\"\n").empty());
  EXPECT_TRUE(loaded.has("none"));
  EXPECT_FALSE(loaded.has("nonesuch"));
}

TEST_F(TensorFileTest, EmptyFileOfNoTensorsRoundTrips) {
  TensorFile().save(path("a"));
  EXPECT_TRUE(TensorFile::load(path("a")).metadata.empty());
}

TEST_F(TensorFileTest, StridedViewsAreSavedByTheirRows) {
  const Matrix<double> wide(2, 4, {1, 2, 3, 4, 5, 6, 7, 8});
  TensorFile file;
  file.add("part", wide.view().col_range(1, 2));
  file.save(path("a"));
  const Matrix<double> part = TensorFile::load(path("a")).matrix("part", 2, 2);
  EXPECT_TRUE(same_bits(part.values(), std::vector<double>{2, 3, 6, 7}));
}

TEST_F(TensorFileTest, SameContentSameBytesInWhateverOrderItIsAdded) {
  sample().save(path("a"));
  sample().save(path("b"));
  EXPECT_EQ(content(path("a")), content(path("b")));
  TensorFile forward;
  TensorFile backward;
  for (const char* name : {"a", "b", "c"}) forward.add(name, std::vector<double>{1});
  for (const char* name : {"c", "b", "a"}) backward.add(name, std::vector<double>{1});
  forward.save(path("a"));
  backward.save(path("b"));
  EXPECT_EQ(content(path("a")), content(path("b")));
  TensorFile::load(path("a")).save(path("b"));
  EXPECT_EQ(content(path("a")), content(path("b")));
}

TEST_F(TensorFileTest, DataBeginsAndStaysAligned) {
  sample().save(path("a"));
  const std::string file = content(path("a"));
  const std::size_t header = tensor_bytes::length_of(file);
  EXPECT_EQ(header % 8, 0U);
  EXPECT_EQ(file.size(), 8 + header + (6 + 4) * 8 + 4 * 4 + 3);
  // The first eight bytes of data are the double 0.1: F64 comes before F32 before U8, by name within a type.
  EXPECT_EQ(file.substr(8 + header, 8), std::string("\x9a\x99\x99\x99\x99\x99\xb9\x3f"));
}

/// The empty digest is published with xxHash; the other one is of the bytes of a saved file with its 32 digits set to '0'.
TEST_F(TensorFileTest, ChecksumIsXxh3OverTheFileWithZeroDigits) {
  EXPECT_EQ(Checksum().hex(), "99aa06d3014798d86001c324468d497f");
  sample().save(path("a"));
  const std::string file = content(path("a"));
  EXPECT_EQ(tensor_bytes::with_checksum(file), file);
}

TEST_F(TensorFileTest, PythonsSafetensorsReadsIt) {
  const std::string python = std::string(MERCER_TEST_DIR) + "/../build/venv/bin/python";
  if (access(python.c_str(), X_OK) != 0) GTEST_SKIP() << python << " is not there";
  sample().save(path("a"));
  std::ofstream(path("check.py")) << R"(
import sys, numpy as np
from safetensors import safe_open
with safe_open(sys.argv[1], framework='numpy') as f:
    meta = f.metadata()
    assert meta['mercer.format'] == '1' and meta[''] == '' and len(meta['mercer.checksum']) == 32
    assert meta['note'] == 'line\nbreak "quotes" \\ tab\t é 世界 \x01', meta['note']
    assert set(f.keys()) == {'matrix', 'single', 'vector', 'no rows', 'no cols', 'none', 'bytes', 'ünïcode "name"\n'}
    m = f.get_tensor('matrix')
    tiny = np.finfo(np.float64)
    expected = np.array([[0.1, -0.0, 5e-324], [tiny.max, -tiny.tiny, 1 / 3]])
    assert m.dtype == np.float64 and m.shape == (2, 3) and m.tobytes() == expected.tobytes()
    s = f.get_tensor('single')
    assert s.dtype == np.float32 and s[0, 0] == np.float32(0.1) and s[1, 0] == np.finfo(np.float32).max
    assert f.get_tensor('vector').tolist() == [1, 2, 3, 4.5]
    assert f.get_tensor('no rows').shape == (0, 5) and f.get_tensor('no cols').shape == (7, 0)
    assert f.get_tensor('none').shape == (0,)
    assert f.get_tensor('bytes').tolist() == [0, 255, 34]
)";
  const std::string command = "'" + python + "' '" + path("check.py") + "' '" + path("a") + "' 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

TEST_F(TensorFileTest, SavingRefusesWhatItCouldNotReadBack) {
  const auto refused = [&](const TensorFile& file, const std::string& part) {
    try {
      file.save(path("a"));
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
    EXPECT_FALSE(fs::exists(path("a")));
  };
  TensorFile latin;
  latin.metadata["note"] = "caf\xe9";
  refused(latin, "UTF-8");
  TensorFile name;
  name.add("caf\xe9", std::vector<double>{1});
  refused(name, "UTF-8");
  TensorFile reserved;
  reserved.add("__metadata__", std::vector<double>{1});
  refused(reserved, "__metadata__");
  TensorFile rows;
  rows.add("x", Matrix<double>(Index{1} << 40, 0));
  refused(rows, "is empty");
  TensorFile large;
  large.metadata["note"] = std::string(8'000'000, 'x');
  refused(large, "8 MB");
  TensorFile many;
  for (int i = 0; i < 50'000; ++i) many.metadata[std::to_string(i)];
  refused(many, "50000");  // with the checksum it is one too many
}

TEST_F(TensorFileTest, AddingTwiceIsOurOwnFault) {
  TensorFile file;
  file.add("x", std::vector<double>{1});
  EXPECT_THROW(file.add_bytes("x", {}), Error);
}

TEST_F(TensorFileTest, LargestHeaderStillLoads) {
  TensorFile file;
  file.metadata["note"] = std::string(7'999'000, 'x');
  file.save(path("a"));
  EXPECT_EQ(TensorFile::load(path("a")).metadata, file.metadata);
}

TEST_F(TensorFileTest, FailedSaveLeavesTheOldFile) {
  EXPECT_THROW(sample().save("/dev/full"), Error);
  EXPECT_THROW(sample().save(path("no/such/folder")), Error);
  EXPECT_THROW(sample().save(folder_), Error);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 0);
}

/// The version stored in a file of save_versions; every number in it must say the same.
int version_of(const TensorFile& file) {
  const Matrix<double> values = file.matrix("values", 300, 100);
  for (const double value : values.values()) EXPECT_EQ(value, values(0, 0));
  EXPECT_EQ(file.metadata.at("version"), std::to_string(static_cast<int>(values(0, 0))));
  return static_cast<int>(values(0, 0));
}

[[noreturn]] void save_versions(const std::string& name) {
  for (int version = 1;; ++version) {
    Matrix<double> values(300, 100);
    std::fill(values.values().begin(), values.values().end(), version);
    TensorFile file;
    file.metadata["version"] = std::to_string(version);
    file.add("values", values);
    file.save(name);
  }
}

TEST_F(TensorFileTest, KilledSavesLeaveAWholeFile) {
  std::minstd_rand random(1);
  std::uniform_int_distribution<int> microseconds(0, 20000);
  int latest = 0;
  for (int round = 0; round < 50; ++round) {
    const pid_t child = fork();
    if (child == 0) save_versions(path("a"));
    if (round == 0) {
      while (!fs::exists(path("a"))) usleep(100);
    }
    usleep(static_cast<useconds_t>(microseconds(random)));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    latest = std::max(latest, version_of(TensorFile::load(path("a"))));
  }
  EXPECT_GT(latest, 1);
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const std::string name = entry.path().filename();
    EXPECT_TRUE(name == "a" || name.starts_with(".a.tmp-")) << name;
  }
}

}  // namespace
}  // namespace mercer
