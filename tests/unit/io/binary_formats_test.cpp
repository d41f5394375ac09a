#include <algorithm>
#include <bit>
#include <limits>

#include "io/byte_source.hpp"
#include "unit/io/table_files.hpp"

namespace mercer {
namespace {

template <class T>
std::string bytes_of(const std::vector<T>& values, bool big_endian) {
  std::string bytes;
  for (const T& value : values) {
    std::string one(sizeof(T), '\0');
    std::memcpy(one.data(), &value, sizeof(T));
    if (big_endian) std::reverse(one.begin(), one.end());
    bytes += one;
  }
  return bytes;
}

std::string npy_of(const std::string& type, bool fortran, const std::string& shape, const std::string& data) {
  std::string dictionary =
      "{'descr': '" + type + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }";
  dictionary.append(117 - dictionary.size(), ' ');
  dictionary += '\n';
  return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + dictionary + data;
}

template <class T>
void check_npy_type(const std::string& type, const std::vector<T>& values) {
  const TempFolder folder;
  for (const bool big : {false, true}) {
    for (const bool fortran : {false, true}) {
      SCOPED_TRACE(type + (big ? " big" : " little") + (fortran ? " Fortran" : " C"));
      const std::string descr = (sizeof(T) == 1 ? "|" : big ? ">" : "<") + type;
      const auto path = folder.write("t.npy", npy_of(descr, fortran, "(3, 2)", bytes_of(values, big)));
      Rows expected(3, std::vector<double>(2));
      for (std::size_t i = 0; i < 3; ++i) {
        for (std::size_t j = 0; j < 2; ++j) expected[i][j] = static_cast<double>(values[fortran ? j * 3 + i : i * 2 + j]);
      }
      expect_same(read_pass(*open_dataset({path}, {}), 2).inputs, expected);
    }
  }
}

template <class T>
std::vector<T> extremes() {
  return {std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), T(0), T(1), T(2), T(100)};
}

TEST(Npy, ReadsEveryNumberTypeInBothByteOrdersAndLayouts) {
  check_npy_type<float>("f4", {-1.5F, 3e38F, 1e-40F, 0.1F, 0, 7});
  check_npy_type<double>("f8", {-1.5, 1e308, 1e-320, 0.1, 0, 7});
  check_npy_type("i1", extremes<std::int8_t>());
  check_npy_type("i2", extremes<std::int16_t>());
  check_npy_type("i4", extremes<std::int32_t>());
  check_npy_type("i8", extremes<std::int64_t>());
  check_npy_type("u1", extremes<std::uint8_t>());
  check_npy_type("u2", extremes<std::uint16_t>());
  check_npy_type("u4", extremes<std::uint32_t>());
  check_npy_type("u8", extremes<std::uint64_t>());
  check_npy_type<std::uint8_t>("b1", {0, 1, 1, 0, 1, 1});
}

TEST(Npy, RefusesAColumnMajorArrayBeyondMemory) {
  const TempFolder folder;
  const auto path = folder.write("t.npy", npy_of("<f8", true, "(3, 2)", bytes_of<double>({1, 2, 3, 4, 5, 6}, false)));
  DatasetOptions options;
  options.memory_bytes = 40;
  EXPECT_CONTAINS(open_error({path}, options), "column-major (Fortran order) array of 48 bytes does not fit");
}

/// A header that promises 2⁴⁰ rows in a gzip of a few bytes must not be believed.
TEST(Npy, AllocatesOnlyWhatArrives) {
  const TempFolder folder;
  const auto path = folder.write("t.npy.gz", gzip(npy_of("<f8", true, "(500000000, 2)", bytes_of<double>({1, 2}, false))));
  DatasetOptions options;
  options.memory_bytes = Index{1} << 40U;
  EXPECT_CONTAINS(open_error({path}, options), "ends within its data");
}

std::string be32(unsigned value) {
  std::string bytes;
  for (const unsigned shift : {24U, 16U, 8U, 0U}) bytes += static_cast<char>(value >> shift);
  return bytes;
}

TEST(Idx, JoinsImagesWithTheirLabels) {
  const TempFolder folder;
  const std::string images = std::string("\0\0\x08\x03", 4) + be32(3) + be32(1) + be32(2) + "\x01\x02\x03\x04\x05\x06";
  const std::string labels = std::string("\0\0\x08\x01", 4) + be32(3) + "\x09\x07\x09";
  const auto path = folder.write("train-images-idx3-ubyte", images);
  DatasetOptions options;
  options.targets = "label";
  EXPECT_CONTAINS(open_error({path}, options), "no column 'label'");
  folder.write("train-labels-idx1-ubyte.gz", gzip(labels));
  options.classify = true;
  const auto data = open_dataset({path}, options);
  EXPECT_EQ(data->schema().classes, (std::vector<std::string>{"7", "9"}));
  EXPECT_EQ(data->schema().inputs[1].name, "x1");
  const Table table = read_pass(*data, 2);
  expect_same(table.inputs, {{1, 2}, {3, 4}, {5, 6}});
  expect_same(table.targets, {{1}, {0}, {1}});
  folder.write("train-labels-idx1-ubyte", std::string("\0\0\x08\x01", 4) + be32(2) + "\x09\x07");
  EXPECT_CONTAINS(open_error({path}, options), "3 items, but");
}

TEST(Idx, ReadsFloatingPoint) {
  const TempFolder folder;
  const std::string data = bytes_of<float>({1.5F, -2.25F}, true);
  const auto path = folder.write("t.idx", std::string("\0\0\x0d\x02", 4) + be32(2) + be32(1) + data);
  expect_same(read_pass(*open_dataset({path}, {}), 2).inputs, {{1.5}, {-2.25}});
}

/// Files written by h5py 3 (libver "latest"), gzipped, as hexadecimal.
std::string packed_bytes(const std::string& hex) {
  std::string packed;
  for (std::size_t i = 0; i < hex.size(); i += 2) packed += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return packed;
}

std::string from_hex(const std::string& hex) {
  const std::string packed = packed_bytes(hex);
  const auto source = gunzip(bytes_in_memory("fixture", std::vector<char>(packed.begin(), packed.end())));
  std::string bytes;
  std::vector<char> buffer(4096);
  while (const std::size_t got = source->read(buffer)) bytes.append(buffer.data(), got);
  return bytes;
}

/// One dataset /t: int16 3 × 2, 0 … 5.
const char* const one_dataset =
    "1f8b0800000000000203ebf47071e3e592e262e6e0608081ff50c0031532808a1b3c3b72c9dfc3258889a182490859210c703131303230"
    "b0f1300029c692cd30f33c18a806a27867cf023b016801a30a03031313232333548e094a63f07918180538607c010656a02b99b938803e"
    "606664807a910766c10a862103b40cc526308c8251300a46c1281805e4014660c5c8ccc0c2c0ca0000fb554b7e0c080000";

/// /g/x float32 [[1.5, 2.5], [3.5, nan]], /g/y float64 [7, 8], /s strings, /cube 1 × 1 × 1.
const char* const many_datasets =
    "1f8b0800000000000203ebf47071e3e592e262e6e0608081ff50a0031532808abf5877e597bf874b101343059310b24218e06262606460"
    "60e36100528ce99ba1daa0fc623f66289f1fc467492e4d4a8d6281aa5165200e94bed87e967827549831a238a1d289096a8e0503f9e026"
    "f71cb013800632aa303030313132c28cc545338b30300a2ac83340bcabc020cec1205e0f64b1025dcbccc501f40933230334b40560f62c"
    "6018f4e0577e7a233c2c4480fe65c40c0b88dfeda1de736030e16630f9cf8cea770174bf6f601872e0eab1221b8261c1c1c028cc08e123"
    "fb5f01ea7f587660d8c330a481d381be4df0b03001fa971918185039626962d28d0a34dce065d784c1171651510b66328c82513048c101"
    "7b608de4c0c09000c407ea2162320e105ac121312919ae12004d5d8a302c080000";

/// /t: float32 2^40 × 2 in chunks of 4 × 2, of which none was written.
const char* const hollow_dataset =
    "1f8b0800000000000203ebf47071e3e592e26200010e0e061606010664f01f0a2a5851f930f90428cd08a53ba0f40a26983823584e022a"
    "2e08351f5d5d4890ab2b48f57f3400b3c780054273308c8291083c5c1d03407404940f4ba5279850d595a0a5470f0aed6564608598c508"
    "e36b4068264664450c4ca89ae07c6660ca07a9145490678024610506710e06f17aa83c2b304583e4999821067240730a3313332c0b80b4"
    "818c83e6808a018d87603f7f17508e86e54305e6d1b4490e00007fd3722378050000";

/// 2 × 2 each: /lzf packed by a filter of h5py's own, /half float16 0 … 3, /wide in chunks of 2 GiB, /outside in a file of
/// its own, /virtual made of another, /bits integers of 17 bits; /away is a link into another file.
const char* const odd_datasets =
    "1f8b0800000000000203ed9acd6b134114c0dfcc6c9a61cb924dd24af09453f164442af42034d6467b105ba2078f46b225914024dd7e18"
    "28484fea493c79f4e851fc07044fe24d8f9e3c0b82574f7167e7636797d812888dd8f783f076dfbc99d97dfb6698f7c8b38df51b9e7bde"
    "0501e7e0800f3623c5f3a5f4bd6ebfaf2451f2a9926fa8d67b715b45e97d35fef7a2bc7fa5f4779b8d86b01e65d0f35c72a4ac007216d9"
    "685cdb12f29ebaaf2af991a6ed7ac3ed58765abdf862bfdb0eecf85c99705e0273b22fd1f717a4a452a1a7ff936451c40acb62751578ac"
    "a9c3f23c2c8f986ccf455ad14e991c703e1a5f5c10fdc087a29d99f712cb204792f7e76a4530ca0e72c9d4346e929e9bea77b8737b735d"
    "3c8fde253e148eb7e7fa7bb1e3edf4bafeea9f8d7816fb1d19b3df954ee8f736e3ef6cbc71dc2a100441100441fe2ba2a3ff3706e4e7ea"
    "6b0fea4ff284d74994434c274329289d0f6e0e5c7dd034190a95039a8c837cf1c79f390f66eda4ab5192b536a95fb227f14933372b1333"
    "c58b7adc4b3b68b67ea126c71a5f6371d5fb40a652f3a99cce9cb5beb4a82a33197d73296d3fa7e68d42d569edb71e7b00fdb0130c2e76"
    "ae402d3cc50c5bc56f5e67d8f18fc0cbf2f828d6de49e25d6baad9dac45fa9745492151ff3ae9cb6abb583bdda3018f48d9f7d65ef88e2"
    "8749cc8dff21dfdf0d77baede0a834dd0a871f77f5b9ac4e30289eb06f683fa653fd92fa02c2d8fbfceb21c0a399ac93c48fac37dc4eea"
    "16967f1f74c31dba30a30a1157cfe1b0e6393b42fe15ffddbcbe798bc80d2115bf5b900968b30b84c02cb5f60db12a4334d3aed7efe18f"
    "f797b5ee45014f0708822008822008822008725a587512f1e71bf3870eab0eb5d71d84bbaddedaa2ddef3776018be38a260000";

bool built_with_hdf5(const TempFolder& folder) {
  return open_error({folder.write("probe.h5", "x")}, {}).find("reads no HDF5") == std::string::npos;
}

TEST(Hdf5, ReadsTheOnlyDataset) {
  const TempFolder folder;
  if (!built_with_hdf5(folder)) GTEST_SKIP() << "this build has no HDF5";
  const auto path = folder.write("one.h5", from_hex(one_dataset));
  DatasetOptions options;
  options.targets = "1";
  const auto data = open_dataset({path}, options);
  for (int pass = 0; pass < 2; ++pass) {
    const Table table = read_pass(*data, 2);
    expect_same(table.inputs, {{0}, {2}, {4}});
    expect_same(table.targets, {{1}, {3}, {5}});
  }
  const auto unnamed = folder.write("unnamed", from_hex(one_dataset));
  EXPECT_EQ(open_dataset({unnamed}, {})->row_count(), 3);
}

TEST(Hdf5, ReadsANamedDataset) {
  const TempFolder folder;
  if (!built_with_hdf5(folder)) GTEST_SKIP() << "this build has no HDF5";
  const auto path = folder.write("two.h5", from_hex(many_datasets));
  expect_same(read_pass(*open_dataset({path + ":/g/y"}, {}), 2).inputs, {{7}, {8}});
  DatasetOptions options;
  options.missing = Missing::mean;
  expect_same(read_pass(*open_dataset({path + ":/g/x"}, options), 2).inputs, {{1.5, 2.5}, {3.5, 2.5}});
  EXPECT_CONTAINS(open_error({path + ":/g/x"}, {}), "1 missing cell in 1 column, first at row 2, column 'x1'");
  EXPECT_CONTAINS(open_error({path}, {}), "4 datasets (/cube, /g/x, /g/y, /s); say which, as in");
  EXPECT_CONTAINS(open_error({path + ":/g/z"}, {}), "no dataset '/g/z' (did you mean '/g/x'?)");
  EXPECT_CONTAINS(open_error({path + ":/s"}, {}), "does not hold numbers");
  EXPECT_CONTAINS(open_error({path + ":/cube"}, {}), "3 dimensions");
  EXPECT_CONTAINS(open_error({folder.file("none.h5:/g/x")}, {}), "No such file");
}

TEST(Hdf5, ReadsWhatIsGzipped) {
  const TempFolder folder;
  if (!built_with_hdf5(folder)) GTEST_SKIP() << "this build has no HDF5";
  const auto path = folder.write("one.h5.gz", packed_bytes(one_dataset));
  expect_same(read_pass(*open_dataset({path}, {}), 2).inputs, {{0, 1}, {2, 3}, {4, 5}});
  const auto named = folder.write("many.h5.gz", packed_bytes(many_datasets));
  expect_same(read_pass(*open_dataset({named + ":/g/y"}, {}), 2).inputs, {{7}, {8}});
  DatasetOptions options;
  options.memory_bytes = 1000;  // less than the 2 KiB that it unpacks to
  EXPECT_CONTAINS(open_error({path}, options), "gunzip it first");
}

TEST(Hdf5, SeveralFilesRestBetweenTurns) {
  const TempFolder folder;
  if (!built_with_hdf5(folder)) GTEST_SKIP() << "this build has no HDF5";
  const auto one = folder.write("a.h5", from_hex(one_dataset));
  const auto two = folder.write("b.h5.gz", packed_bytes(one_dataset));
  const auto data = open_dataset({one, two}, {});
  for (int pass = 0; pass < 2; ++pass) {
    expect_same(read_pass(*data, 2).inputs, {{0, 1}, {2, 3}, {4, 5}, {0, 1}, {2, 3}, {4, 5}});
  }
}

TEST(Hdf5, RefusesWhatIsNotThere) {
  const TempFolder folder;
  if (!built_with_hdf5(folder)) GTEST_SKIP() << "this build has no HDF5";
  EXPECT_CONTAINS(open_error({folder.write("hollow.h5", from_hex(hollow_dataset))}, {}), "most of it was never written");
  const auto odd = folder.write("odd.h5", from_hex(odd_datasets));
  EXPECT_CONTAINS(open_error({odd + ":/lzf"}, {}), "packed by filter 32000");
  EXPECT_CONTAINS(open_error({odd + ":/wide"}, {}), "2.15 GB");
  EXPECT_CONTAINS(open_error({odd + ":/outside"}, {}), "in other files");
  EXPECT_CONTAINS(open_error({odd + ":/virtual"}, {}), "in other files");
  EXPECT_CONTAINS(open_error({odd + ":/bits"}, {}), "unusual layout");
  EXPECT_CONTAINS(open_error({odd + ":/away"}, {}), "no dataset '/away'");
  expect_same(read_pass(*open_dataset({odd + ":/half"}, {}), 2).inputs, {{0, 1}, {2, 3}});
}

/// Many bytes of a good file changed in turn, and the file cut there: libhdf5 crashes on some, and must not take us
/// with it.
TEST(Hdf5, DamageIsReadOrRefused) {
  const TempFolder folder;
  if (!built_with_hdf5(folder)) GTEST_SKIP() << "this build has no HDF5";
  const std::string good = from_hex(one_dataset);
  int refused = 0;
  for (std::size_t i = 0; i < good.size(); i += 13) {
    std::string bad = good;
    bad[i] = static_cast<char>(~bad[i]);
    for (const std::string& bytes : {bad, good.substr(0, i)}) {
      const auto path = folder.write("bad.h5", bytes);
      try {
        const auto data = open_dataset({path}, {});
        EXPECT_EQ(read_pass(*data, 2).inputs.size(), static_cast<std::size_t>(data->row_count()));
      } catch (const Error& error) {
        EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace mercer
