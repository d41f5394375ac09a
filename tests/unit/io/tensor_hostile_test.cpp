#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <mercer/error.hpp>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "io/tensor_file.hpp"
#include "unit/io/tensor_bytes.hpp"

namespace mercer {
namespace {

namespace fs = std::filesystem;
using tensor_bytes::file_of;
using tensor_bytes::little_endian;
using tensor_bytes::span_of;

/// The message with which these bytes are refused: Error(file), one line, the path first. "" when they are not.
std::string refusal(const std::string& bytes) {
  try {
    TensorFile::parse(span_of(bytes), "field.mercer");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::file) << error.what();
    const std::string message = error.what();
    EXPECT_TRUE(message.starts_with("field.mercer: ")) << message;
    EXPECT_LT(message.size(), 250U) << message;
    for (const char c : message) EXPECT_GE(static_cast<unsigned char>(c), 0x20) << message;
    return message;
  }
  return {};
}

const std::string zeros(32, '0');
const std::string meta = R"("__metadata__":{"mercer.checksum":")" + zeros + R"("})";

std::string with_meta(const std::string& rest) {
  return "{" + meta + rest + "}";
}

/// A header with one tensor "w" of the given fields.
std::string one(const std::string& fields) {
  return with_meta(R"(,"w":{)" + fields + "}");
}

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return ",\"" + name + R"(":{"dtype":")" + dtype + R"(","shape":[)" + shape + R"(],"data_offsets":[)" + offsets + "]}";
}

std::string repeat(const std::string& text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

struct Hostile {
  std::string name;
  std::string header;
  std::size_t data_size;
  std::string reason;  // part of the message: it must be refused for this and for nothing else
};

std::vector<Hostile> hostile_headers() {
  const auto tensor = [](const std::string& shape, const std::string& offsets) {
    return with_meta(entry("w", "F64", shape, offsets));
  };
  std::vector<Hostile> cases = {
      // sizes
      {"product wraps to 0", tensor("4294967296,4294967296", "0,0"), 0, "shape too large"},
      {"product wraps to 8", tensor("2305843009213693953", "0,8"), 8, "shape too large"},
      {"product 2^63", tensor("1073741824,1073741824", "0,8"), 8, "shape too large"},
      {"2^40 rows of nothing", tensor("1099511627776,0", "0,0"), 0, "is empty and yet"},
      {"nothing of 2^62", tensor("0,4611686018427387904", "0,0"), 0, "is empty and yet"},
      {"negative dimension", tensor("-1", "0,8"), 8, "negative"},
      {"minus zero", tensor("-0", "0,0"), 0, "negative"},
      {"two negative", tensor("-1,-1", "0,8"), 8, "negative"},
      {"1e20", tensor("1e20", "0,8"), 8, "'1e20'"},
      {"1e0 goes through double", tensor("1e0", "0,8"), 8, "'1e0'"},
      {"1.0 goes through double", tensor("1.0", "0,8"), 8, "'1.0'"},
      {"2^64", tensor("18446744073709551616", "0,8"), 8, "whole number"},
      {"2^64 - 1", tensor("18446744073709551615", "0,8"), 8, "too large"},
      {"2^63", tensor("9223372036854775808", "0,8"), 8, "too large"},
      {"400 digits", tensor(std::string(400, '9'), "0,8"), 8, "not valid JSON"},
      {"1e400", tensor("1e400", "0,8"), 8, "not valid JSON"},
      {"nine dimensions", tensor("1,1,1,1,1,1,1,1,1", "0,8"), 8, "more than 8"},
      {"a million dimensions", tensor(repeat("1,", 1000000) + "1", "0,8"), 8, "more than 8"},
      {"shape larger than data", tensor("2", "0,8"), 8, "do not fit"},
      {"shape smaller than data", tensor("1", "0,16"), 16, "do not fit"},
      {"wrong type for the bytes", with_meta(entry("w", "F32", "1", "0,8")), 8, "do not fit"},
      // offsets
      {"offsets backwards", tensor("1", "8,0"), 8, "ends before"},
      {"offsets beyond the end", tensor("2", "0,16"), 8, "truncated"},
      {"far beyond the end", tensor("1", "9223372036854775799,9223372036854775807"), 8, "truncated"},
      {"offset 2^63", tensor("1", "0,9223372036854775808"), 8, "too large"},
      {"negative offset", tensor("1", "-8,0"), 8, "negative"},
      {"offset as double", tensor("1", "0,8.0"), 8, "whole number"},
      {"one offset", tensor("1", "8"), 8, "1 data_offsets"},
      {"no offsets", tensor("1", ""), 8, "0 data_offsets"},
      {"three offsets", tensor("1", "0,8,8"), 8, "3 data_offsets"},
      {"hole at the start", tensor("1", "8,16"), 16, "begins at byte 8"},
      {"hole at the end", tensor("1", "0,8"), 9, "belong to no tensor"},
      {"no tensor for the data", with_meta(""), 8, "belong to no tensor"},
      {"hole between", with_meta(entry("a", "F64", "1", "0,8") + entry("b", "F64", "1", "16,24")), 24, "instead of 8"},
      {"overlap", with_meta(entry("a", "F64", "2", "0,16") + entry("b", "F64", "2", "8,24")), 24, "instead of 16"},
      {"same place", with_meta(entry("a", "F64", "1", "0,8") + entry("b", "F64", "1", "0,8")), 8, "instead of 8"},
      {"empty one inside another", with_meta(entry("a", "F64", "1", "0,8") + entry("b", "U8", "0", "4,4")), 8,
       "instead of 8"},
      {"empty one beyond", with_meta(entry("a", "F64", "1", "0,8") + entry("b", "U8", "0", "9,9")), 8, "truncated"},
      // fields
      {"missing dtype", one(R"("shape":[1],"data_offsets":[0,8])"), 8, "has no dtype"},
      {"missing shape", one(R"("dtype":"F64","data_offsets":[0,8])"), 8, "has no shape"},
      {"missing offsets", one(R"("dtype":"F64","shape":[1])"), 8, "has no data_offsets"},
      {"no fields", one(""), 8, "has no dtype"},
      {"unknown field", one(R"("dtype":"F64","shape":[1],"data_offsets":[0,8],"x":1)"), 8, "not part of the format"},
      {"dtype twice", one(R"("dtype":"F64","dtype":"F64","shape":[1],"data_offsets":[0,8])"), 8, "twice"},
      {"shape twice", one(R"("dtype":"F64","shape":[1],"shape":[1],"data_offsets":[0,8])"), 8, "twice"},
      {"offsets twice", one(R"("dtype":"F64","shape":[1],"data_offsets":[0,8],"data_offsets":[0,8])"), 8, "twice"},
      {"dtype escaped twice", one(R"("dtype":"F64","\u0064type":"F64","shape":[1],"data_offsets":[0,8])"), 8, "twice"},
      {"dtype number", one(R"("dtype":64,"shape":[1],"data_offsets":[0,8])"), 8, "a number"},
      {"dtype null", one(R"("dtype":null,"shape":[1],"data_offsets":[0,8])"), 8, "null"},
      {"dtype list", one(R"("dtype":["F64"],"shape":[1],"data_offsets":[0,8])"), 8, "a list"},
      {"dtype object", one(R"("dtype":{},"shape":[1],"data_offsets":[0,8])"), 8, "an object"},
      {"dtype lower case", with_meta(entry("w", "f64", "1", "0,8")), 8, "'f64'"},
      {"dtype empty", with_meta(entry("w", "", "1", "0,8")), 8, "type ''"},
      {"dtype BF16", with_meta(entry("w", "BF16", "4", "0,8")), 8, "'BF16'; Mercer reads F32, F64 and U8"},
      {"dtype I64", with_meta(entry("w", "I64", "1", "0,8")), 8, "'I64'"},
      {"dtype of control characters", with_meta(entry("w", R"(\n\u0007\u001b[2J)", "1", "0,8")), 8, "\\x0a\\x07\\x1b[2J"},
      {"shape number", one(R"("dtype":"F64","shape":1,"data_offsets":[0,8])"), 8, "a number"},
      {"shape text", one(R"("dtype":"F64","shape":"1","data_offsets":[0,8])"), 8, "text"},
      {"shape of text", tensor(R"("1")", "0,8"), 8, "text"},
      {"shape of true", tensor("true", "0,8"), 8, "true or false"},
      {"shape of null", tensor("null", "0,8"), 8, "null"},
      {"shape of lists", tensor("[1]", "0,8"), 8, "a list"},
      {"shape of objects", tensor("{}", "0,8"), 8, "an object"},
      {"offsets object", one(R"("dtype":"F64","shape":[1],"data_offsets":{})"), 8, "an object"},
      // names
      {"name twice", with_meta(entry("w", "U8", "0", "0,0") + entry("w", "U8", "0", "0,0")), 0, "'w' is there twice"},
      {"name twice, escaped", with_meta(entry("w", "U8", "0", "0,0") + entry("\\u0077", "U8", "0", "0,0")), 0, "twice"},
      {"metadata object twice", with_meta("," + meta), 0, "twice"},
      {"tensor is null", with_meta(R"(,"w":null)"), 0, "null"},
      {"tensor is a number", with_meta(R"(,"w":1)"), 0, "a number"},
      {"tensor is negative", with_meta(R"(,"w":-1)"), 0, "negative"},
      {"tensor is a list", with_meta(R"(,"w":[])"), 0, "a list"},
      {"tensor is text", with_meta(R"(,"w":"x")"), 0, "text"},
      {"tensor is true", with_meta(R"(,"w":true)"), 0, "true or false"},
      // metadata
      {"metadata key twice", R"({"__metadata__":{"a":"","a":"","mercer.checksum":")" + zeros + "\"}}", 0,
       "'a' is there twice"},
      {"metadata number", R"({"__metadata__":{"a":1,"mercer.checksum":")" + zeros + "\"}}", 0, "a number"},
      {"metadata null", R"({"__metadata__":{"a":null,"mercer.checksum":")" + zeros + "\"}}", 0, "null"},
      {"metadata list", R"({"__metadata__":{"a":[],"mercer.checksum":")" + zeros + "\"}}", 0, "a list"},
      {"metadata object", R"({"__metadata__":{"a":{},"mercer.checksum":")" + zeros + "\"}}", 0, "an object"},
      {"metadata is a list", R"({"__metadata__":[]})", 0, "a list"},
      {"metadata is text", R"({"__metadata__":"mercer"})", 0, "text"},
      {"metadata is null", R"({"__metadata__":null})", 0, "null"},
      {"checksum twice", R"({"__metadata__":{"mercer.checksum":")" + zeros + R"(","mercer.checksum":")" + zeros + "\"}}", 0,
       "twice"},
      {"no checksum", R"({"__metadata__":{}})", 0, "no checksum"},
      {"no metadata", "{}", 0, "no checksum"},
      {"empty checksum", R"({"__metadata__":{"mercer.checksum":""}})", 0, "checksum in the header is damaged"},
      {"short checksum", R"({"__metadata__":{"mercer.checksum":"0123"}})", 0, "checksum in the header is damaged"},
      {"long checksum", R"({"__metadata__":{"mercer.checksum":")" + zeros + "0\"}}", 0, "checksum in the header is damaged"},
      {"spaced checksum", R"({"__metadata__":{"mercer.checksum" : ")" + zeros + "\"}}", 0,
       "checksum in the header is damaged"},
      {"escaped checksum key", R"({"__metadata__":{"mercer\u002echecksum":")" + zeros + "\"}}", 0,
       "checksum in the header is damaged"},
      {"checksum as a tensor", R"({"mercer.checksum":")" + zeros + "\"}", 0, "text"},
      // JSON
      {"no JSON", "hello, this is not json", 0, "no JSON object"},
      {"a list", "[]", 0, "no JSON object"},
      {"leading space", " " + with_meta(""), 0, "no JSON object"},
      {"byte order mark", "\xef\xbb\xbf" + with_meta(""), 0, "no JSON object"},
      {"only {", "{", 0, "not valid JSON"},
      {"unfinished", with_meta("").substr(0, 20), 0, "not valid JSON"},
      {"unfinished text", R"({"__metadata__":{"mercer)", 0, "not valid JSON"},
      {"comment", with_meta("/* */"), 0, "not valid JSON"},
      {"trailing comma", with_meta(","), 0, "not valid JSON"},
      {"missing colon", with_meta(R"(,"w"{})"), 0, "not valid JSON"},
      {"two documents", with_meta("") + "{}", 0, "not valid JSON"},
      {"junk after", with_meta("") + "x", 0, "not valid JSON"},
      {"NUL after", with_meta("") + std::string(8, '\0'), 0, "no JSON object"},
      {"NUL hides junk", with_meta("") + std::string("\0{}", 3), 0, "no JSON object"},
      {"NaN", tensor("NaN", "0,8"), 8, "not valid JSON"},
      {"Infinity", tensor("Infinity", "0,8"), 8, "not valid JSON"},
      {"leading zero", tensor("01", "0,8"), 8, "not valid JSON"},
      {"leading plus", tensor("+1", "0,8"), 8, "not valid JSON"},
      {"hexadecimal", tensor("0x1", "0,8"), 8, "not valid JSON"},
      {"single quotes", with_meta(",'w':{}"), 0, "not valid JSON"},
      {"lists 10000 deep", with_meta(R"(,"w":)" + repeat("[", 10000) + repeat("]", 10000)), 0, "a list"},
      {"objects 10000 deep", with_meta(R"(,"w":)" + repeat(R"({"shape":)", 10000) + "1" + repeat("}", 10000)), 0,
       "an object"},
      {"lists 10000 deep in a shape", tensor(repeat("[", 10000) + repeat("]", 10000), "0,8"), 8, "a list"},
      {"objects 800000 deep", repeat(R"({"shape":)", 800000), 0, "an object"},
      // text
      {"name not UTF-8", with_meta(entry("caf\xe9", "U8", "0", "0,0")), 0, "not valid JSON"},
      {"overlong UTF-8", with_meta(entry("\xc0\xaf", "U8", "0", "0,0")), 0, "not valid JSON"},
      {"UTF-8 surrogate", with_meta(entry("\xed\xa0\x80", "U8", "0", "0,0")), 0, "not valid JSON"},
      {"cut UTF-8", with_meta(entry("\xe4\xb8", "U8", "0", "0,0")), 0, "not valid JSON"},
      {"beyond Unicode", with_meta(entry("\xf4\x90\x80\x80", "U8", "0", "0,0")), 0, "not valid JSON"},
      {"lone surrogate escape", with_meta(entry("\\ud800", "U8", "0", "0,0")), 0, "not valid JSON"},
      {"control character", with_meta(entry("a\nb", "U8", "0", "0,0")), 0, "not valid JSON"},
      {"wrong escape", with_meta(entry("\\x41", "U8", "0", "0,0")), 0, "not valid JSON"},
  };
  return cases;
}

TEST(TensorHostile, TheTableItselfIsSound) {
  EXPECT_EQ(refusal(file_of(with_meta(""), "")), "");
  EXPECT_EQ(refusal(file_of(with_meta(entry("w", "F64", "1", "0,8")), std::string(8, '\0'))), "");
  EXPECT_EQ(refusal(file_of(one(R"("data_offsets":[0,8],"dtype":"F64","shape":[1])") + "   ", std::string(8, '\0'))), "");
  EXPECT_EQ(refusal(file_of(with_meta(entry("b", "U8", "0", "1,1") + entry("a", "U8", "1", "0,1")), "x")), "");
  EXPECT_EQ(refusal(file_of(with_meta(entry("scalar", "F32", "", "0,4")), "\1\2\3\4")), "");
}

TEST(TensorHostile, EveryHostileHeaderIsRefusedForItsOwnReason) {
  const auto cases = hostile_headers();
  EXPECT_GE(cases.size(), 60U);
  for (const auto& hostile : cases) {
    const std::string message = refusal(file_of(hostile.header, std::string(hostile.data_size, '\0')));
    EXPECT_NE(message.find(hostile.reason), std::string::npos) << hostile.name << ": " << message;
  }
}

TEST(TensorHostile, WrongHeaderLengths) {
  const std::string header = with_meta("");
  for (const std::uint64_t length :
       {std::uint64_t{0}, std::uint64_t{1}, header.size() - 1, header.size() + 1, std::uint64_t{100'000'001},
        std::uint64_t{1} << 31, std::uint64_t{1} << 32, std::uint64_t{1} << 62, (std::uint64_t{1} << 63) - 8,
        std::uint64_t{1} << 63, (std::uint64_t{1} << 63) + header.size(), std::numeric_limits<std::uint64_t>::max() - 7,
        std::numeric_limits<std::uint64_t>::max()}) {
    EXPECT_NE(refusal(tensor_bytes::with_checksum(little_endian(length) + header)), "") << length;
  }
  const std::string large =
      R"({"__metadata__":{"mercer.checksum":")" + zeros + R"(","a":")" + std::string(8'000'000, 'x') + "\"}}";
  EXPECT_NE(refusal(file_of(large, "")).find("longer than 8 MB"), std::string::npos);
}

TEST(TensorHostile, TooManyEntries) {
  std::string tensors;
  std::string metadata = R"({"__metadata__":{"mercer.checksum":")" + zeros + "\"";
  for (int i = 0; i <= 50'000; ++i) {
    tensors += entry(std::to_string(i), "U8", "0", "0,0");
    metadata += ",\"" + std::to_string(i) + "\":\"\"";
  }
  EXPECT_NE(refusal(file_of(with_meta(tensors), "")).find("more than 50000 tensors"), std::string::npos);
  EXPECT_NE(refusal(file_of(metadata + "}}", "")).find("more than 50000 metadata"), std::string::npos);
}

/// A whole small file of every type.
std::string good_file() {
  const std::string header = R"({"__metadata__":{"a":"é","mercer.checksum":")" + zeros + "\"}" +
                             entry("m", "F64", "1,2", "0,16") + entry("n", "F32", "1", "16,20") +
                             entry("o", "U8", "3", "20,23") + entry("p", "F64", "0,4", "23,23") + "}  ";
  return file_of(header, std::string("\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\x40\0\0\x80\x3f\1\2\3", 23));
}

TEST(TensorHostile, EveryByteFlipIsRefused) {
  const std::string good = good_file();
  ASSERT_EQ(refusal(good), "");
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (int change = 1; change < 256; ++change) {
      std::string bad = good;
      bad[i] = static_cast<char>(static_cast<unsigned char>(bad[i]) ^ change);
      ASSERT_NE(refusal(bad), "") << "byte " << i << " xor " << change;
    }
  }
}

TEST(TensorHostile, EveryTruncationAndExtensionIsRefused) {
  const std::string good = good_file();
  for (std::size_t size = 0; size < good.size(); ++size) ASSERT_NE(refusal(good.substr(0, size)), "") << size;
  for (std::size_t more = 1; more < 20; ++more) {
    ASSERT_NE(refusal(good + std::string(more, '\0')), "") << more;
    ASSERT_NE(refusal(good + good.substr(0, more)), "") << more;
  }
  for (std::size_t i = 0; i < good.size(); ++i) {
    ASSERT_NE(refusal(std::string(good).erase(i, 1)), "") << i;
    ASSERT_NE(refusal(std::string(good).insert(i, 1, ' ')), "") << i;
  }
}

TEST(TensorHostile, DamagedDataIsCalledDamaged) {
  std::string bad = good_file();
  bad.back() = 'x';
  EXPECT_EQ(refusal(bad), "field.mercer: checksum does not match: the file is damaged (truncated copy? edited?)");
}

/// What a reader of a well-formed file must still refuse: the message names file and tensor.
TEST(TensorHostile, WrongTensorsAreRefusedWhenAskedFor) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  TensorFile built;
  built.add("m", Matrix<double>(2, 3));
  built.add("v", std::vector<double>{1, 2});
  built.add("nan", Matrix<double>(1, 2, {0, nan}));
  built.add("inf", std::vector<double>{0, 0, -inf});
  built.add("f32", Matrix<float>(1, 1, {std::numeric_limits<float>::infinity()}));
  built.add_bytes("b", {});
  const std::string name = ::testing::TempDir() + "mercer-wrong-" + std::to_string(getpid());
  built.save(name);
  const TensorFile file = TensorFile::load(name);
  fs::remove(name);
  const auto refused = [&](const std::function<void()>& work, const std::string& reason) {
    try {
      work();
      ADD_FAILURE() << reason << ": no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::file);
      EXPECT_EQ(error.what(), name + ": tensor " + reason);
    }
  };
  refused([&] { file.matrix("x"); }, "'x' is missing");
  refused([&] { file.vector("x"); }, "'x' is missing");
  refused([&] { file.bytes("x"); }, "'x' is missing");
  refused([&] { file.matrix("v"); }, "'v' has shape [2] instead of [any, any]");
  refused([&] { file.vector("m"); }, "'m' has shape [2, 3] instead of [any]");
  refused([&] { file.matrix("m", 3); }, "'m' has shape [2, 3] instead of [3, any]");
  refused([&] { file.matrix("m", 2, 2); }, "'m' has shape [2, 3] instead of [2, 2]");
  refused([&] { file.vector("v", 3); }, "'v' has shape [2] instead of [3]");
  refused([&] { file.matrix("b"); }, "'b' holds bytes (U8) instead of numbers");
  refused([&] { file.vector("b"); }, "'b' holds bytes (U8) instead of numbers");
  refused([&] { file.bytes("m"); }, "'m' has type F64 and shape [2, 3] instead of U8 and [any]");
  refused([&] { file.matrix("nan"); }, "'nan' holds nan at position 1");
  refused([&] { file.vector("inf"); }, "'inf' holds -inf at position 2");
  refused([&] { file.matrix("f32"); }, "'f32' holds inf at position 0");
}

TEST(TensorHostile, OnlyRegularFilesAreLoaded) {
  std::string folder = ::testing::TempDir() + "mercer-hostile-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const auto refused = [](const std::string& path, const std::string& reason) {
    try {
      TensorFile::load(path);
      ADD_FAILURE() << path << ": no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::file);
      EXPECT_NE(std::string(error.what()).find(path + ": " + reason), std::string::npos) << error.what();
    }
  };
  ASSERT_EQ(mkfifo((folder + "/fifo").c_str(), 0600), 0);
  std::ofstream(folder + "/empty").close();
  std::ofstream(folder + "/short") << "1234567";
  fs::create_symlink("nowhere", folder + "/dangling");
  refused(folder, "is a folder");
  refused(folder + "/fifo", "is a pipe or device");
  refused(folder + "/empty", "is empty");
  refused(folder + "/short", "is too short");
  refused(folder + "/none", "cannot open");
  refused(folder + "/dangling", "cannot open");
  refused(folder + "/short/x", "cannot open");
  refused("/dev/null", "is a pipe or device");
  refused("/dev/zero", "is a pipe or device");
  refused("/proc/self/status", "is empty");
  fs::remove_all(folder);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/// Most memory this process has ever had, in bytes.
std::size_t peak_memory() {
  std::ifstream in("/proc/self/status");
  for (std::string word; in >> word;) {
    if (word == "VmHWM:") {
      std::size_t kilobytes = 0;
      in >> kilobytes;
      return kilobytes * 1024;
    }
  }
  return 0;
}

/// Each file is loaded in a process of its own, so that the peak is that of the load.
void expect_modest_memory(const std::string& name, const std::string& bytes) {
  const std::string path = ::testing::TempDir() + "mercer-memory-" + std::to_string(getpid());
  std::ofstream(path, std::ios::binary) << bytes;
  const std::size_t allowed = bytes.size() + 64'000'000;
  const pid_t child = fork();
  if (child == 0) {
    std::ofstream("/proc/self/clear_refs") << "5";  // the peak starts again from here
    const std::size_t before = peak_memory();
    try {
      TensorFile::load(path);
    } catch (const Error&) {
      // Refused or not, what counts is what it took.
    }
    const std::size_t used = peak_memory() - before;
    if (used > allowed) std::fprintf(stderr, "%s: %zu bytes used, %zu allowed\n", name.c_str(), used, allowed);
    _exit(used <= allowed ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << name;
  fs::remove(path);
}

TEST(TensorHostile, LoadingTakesNoMoreThanTheFileAnd64Megabytes) {
  expect_modest_memory("large data",
                       file_of(with_meta(entry("w", "U8", "100000000", "0,100000000")), std::string(100'000'000, 'x')));
  expect_modest_memory(
      "one long text",
      file_of(R"({"__metadata__":{"mercer.checksum":")" + zeros + R"(","a":")" + std::string(7'999'900, 'x') + "\"}}", ""));
  std::string pairs;
  std::string tensors;
  for (int i = 0; i < 49'999; ++i) pairs += ",\"" + std::to_string(i) + std::string(130, 'x') + "\":\"\"";
  for (int i = 0; i < 49'999; ++i)
    tensors += entry(std::to_string(i) + std::string(80, 'x'), "F64", "0,1,1,1,1,1,1,1", "0,0");
  expect_modest_memory("many metadata",
                       file_of(R"({"__metadata__":{"mercer.checksum":")" + zeros + "\"" + pairs + "}}", ""));
  expect_modest_memory("many tensors", file_of(with_meta(tensors), ""));
}
#endif

}  // namespace
}  // namespace mercer
