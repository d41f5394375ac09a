#include <cmath>

#include "unit/io/odd_table.hpp"

namespace mercer {
namespace {

class OddFormats : public OddTables {};

std::string idx_header(std::initializer_list<unsigned> sizes, char type = 8) {
  std::string bytes{0, 0, type, static_cast<char>(sizes.size())};
  for (const unsigned size : sizes) {
    for (const unsigned shift : {24U, 16U, 8U, 0U}) bytes += static_cast<char>(size >> shift);
  }
  return bytes;
}

std::string npy(const std::string& dictionary, const std::string& data, int version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(version);
  bytes += '\0';
  const std::size_t n = dictionary.size();
  bytes += static_cast<char>(n & 0xffU);
  bytes += static_cast<char>(n >> 8U);
  if (version > 1) bytes += std::string(2, '\0');
  return bytes + dictionary + data;
}

std::string raw(const std::vector<double>& values) {
  std::string bytes(values.size() * sizeof(double), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<OddTable> other_formats() {
  const std::string relation = "@RELATION r\n@Attribute a NUMERIC\n@attribute 'b c' {u,'v w',\"x\"}\n@ATTRIBUTE y real\n";
  const std::string f8 = "{'descr': '<f8', 'fortran_order': False, 'shape': ";
  return {
      {"arff",
       relation + "% note\n@DATA\n1,u,2\n% c\n\n?,'v w',3\n",
       "target=y inputs=a missing=drop",
       {{1}},
       {{2}},
       {},
       "t.arff"},
      {"arff one hot",
       relation + "@data\n1,u,2\n2,\"v w\",3\n",
       "target=y one_hot",
       {{1, 1, 0}, {2, 0, 1}},
       {{2}, {3}},
       {},
       "t.arff"},
      {"arff nominal target", relation + "@data\n1,x,2\n2,u,3\n", "target=1", {{1, 2}, {2, 3}}, {{1}, {0}}, {}, "t.arff"},
      {"arff sparse",
       relation + "@data\n{0 5,2 7}\n{ 1 'v w' }\n{}\n",
       "target=1",
       {{5, 7}, {0, 0}, {0, 0}},
       {{0}, {1}, {0}},
       {},
       "t.arff"},
      {"arff by content", relation + "@data\n1,u,2\n", "target=1", {{1, 2}}, {{0}}, {}, "t"},
      {"arff nested quotes",
       "@relation r\n@attribute \"'depart'\" numeric\n@attribute b integer\n@data\n1,2\n",
       "target=depart",
       {{2}},
       {{1}},
       {},
       "t.arff"},
      {"arff glued braces",
       "@relation r\n@attribute a{0,1}\n@attribute b numeric\n@data\n1 2\n",
       "target=a",
       {{2}},
       {{0}},
       {},
       "t.arff"},
      {"arff text input", relation + "@data\n1,u,2\n", "target=y", {}, {}, {"'b c' holds text", "--one-hot"}, "t.arff"},
      {"arff date", "@relation r\n@attribute d date 'yyyy'\n@data\n1\n", "", {}, {}, {"line 2", "'d' is a date"}, "t.arff"},
      {"arff unknown type",
       "@relation r\n@attribute d relational\n@data\n1\n",
       "",
       {},
       {},
       {"unknown type 'relational'"},
       "t.arff"},
      {"arff unlisted value", relation + "@data\n1,uu,2\n", "target=1", {}, {}, {"line 6", "'b c'", "'uu'"}, "t.arff"},
      {"arff ragged", relation + "@data\n1,u\n", "target=1", {}, {}, {"line 6", "2 cells, expected 3"}, "t.arff"},
      {"arff without data", relation, "", {}, {}, {"no @data"}, "t.arff"},
      {"arff without rows", relation + "@data\n", "target=1", {}, {}, {"no rows"}, "t.arff"},
      {"arff duplicate",
       "@relation r\n@attribute a numeric\n@attribute a numeric\n@data\n1,2\n",
       "",
       {},
       {},
       {"both called 'a'"},
       "t.arff"},
      {"arff open brace", "@relation r\n@attribute a {u,v\n@data\nu\n", "", {}, {}, {"line 2", "no closing }"}, "t.arff"},
      {"arff sparse index", relation + "@data\n{3 1}\n", "target=1", {}, {}, {"line 6", "index 3"}, "t.arff"},
      {"arff sparse order", relation + "@data\n{2 1, 0 1}\n", "target=1", {}, {}, {"index 0"}, "t.arff"},
      {"arff open quote", relation + "@data\n1,'u,2\n", "target=1", {}, {}, {"quote is never closed"}, "t.arff"},
      {"arff text in a number", relation + "@data\n1,u,z\n", "target=y inputs=a classify", {{1}}, {{0}}, {}, "t.arff"},
      {"svmlight",
       "1 1:0.5 3:2 # c\n-1 qid:7 2:1\n# all\n\n1\n",
       "",
       {{0.5, 0, 2}, {0, 1, 0}, {0, 0, 0}},
       {{1}, {-1}, {1}},
       {},
       "t.svm"},
      {"svmlight from zero", "1 0:5 2:2\n2 1:1\n", "", {{5, 0, 2}, {0, 1, 0}}, {{1}, {2}}, {}, "t.libsvm"},
      {"svmlight by content",
       "+1 1:0.5 2:3\n-1 2:1\n",
       "classify target=target",
       {{0.5, 3}, {0, 1}},
       {{1}, {0}},
       {},
       "t.txt"},
      {"svmlight columns", "1 1:0.5 3:2\n", "inputs=x2", {{2}}, {{1}}, {}, "t.svm"},
      {"svmlight empty", "# nothing\n", "", {}, {}, {"empty"}, "t.svm"},
      {"svmlight order", "1 2:1 1:1\n", "", {}, {}, {"line 1", "index 1 comes after index 2"}, "t.svm"},
      {"svmlight huge index", "1 99999999999999999999:1\n", "", {}, {}, {"line 1", "beyond"}, "t.svm"},
      {"svmlight large index", "1 200001:1\n", "", {}, {}, {"line 1", "beyond"}, "t.svm"},
      {"svmlight too sparse",
       "1 200000:1\n" +
           [] {
             std::string rows;
             for (int i = 0; i < 100; ++i) rows += "1\n";
             return rows;
           }(),
       "",
       {},
       {},
       {"101 rows", "too sparse"},
       "t.svm"},
      {"svmlight negative index", "1 -1:1\n", "", {}, {}, {"'-1:1' is not index:value"}, "t.svm"},
      {"svmlight no colon", "1 2\n", "", {}, {}, {"'2' is not index:value"}, "t.svm"},
      {"svmlight text", "1 1:1\n1 1:abc\n", "", {}, {}, {"line 2", "'x0'", "'abc' is not a number"}, "t.svm"},
      {"svmlight no value", "1 1:\n", "", {}, {}, {"index 1 has no value"}, "t.svm"},
      {"npy", npy(f8 + "(2, 3), }", raw({1, 2, 3, 4, 5, 6})), "target=last:1", {{1, 2}, {4, 5}}, {{3}, {6}}, {}, "t.npy"},
      {"npy by content", npy(f8 + "(2, 1), }", raw({1, 2})), "", {{1}, {2}}, {}, {}, "t"},
      {"npy 1-D", npy(f8 + "(2,), }", raw({1, 2})), "", {{1}, {2}}, {}, {}, "t.npy"},
      {"npy gz", gzip(npy(f8 + "(2,), }", raw({1, 2}))), "", {{1}, {2}}, {}, {}, "t.npy.gz"},
      {"npy version 2", npy(f8 + "(1, 2)}", raw({1, 2}), 2), "", {{1, 2}}, {}, {}, "t.npy"},
      {"npy Fortran",
       npy("{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3), }", raw({1, 4, 2, 5, 3, 6})),
       "target=x1",
       {{1, 3}, {4, 6}},
       {{2}, {5}},
       {},
       "t.npy"},
      {"npy gap", npy(f8 + "(2, 2), }", raw({1, nan, 3, 5})), "missing=mean", {{1, 5}, {3, 5}}, {}, {}, "t.npy"},
      {"npy infinity", npy(f8 + "(1, 2), }", raw({1, INFINITY})), "", {}, {}, {"row 1", "'x1'", "'inf'"}, "t.npy"},
      {"npy huge", npy(f8 + "(4611686018427387904, 4), }", raw({1})), "", {}, {}, {"more than any file holds"}, "t.npy"},
      {"npy wide", npy(f8 + "(1, 4611686018427387904), }", raw({1})), "", {}, {}, {"columns; at most"}, "t.npy"},
      {"npy overflowing shape",
       npy(f8 + "(99999999999999999999, 1), }", raw({1})),
       "",
       {},
       {},
       {"shape that cannot be"},
       "t.npy"},
      {"npy negative shape", npy(f8 + "(-1, 1), }", raw({1})), "", {}, {}, {"shape that cannot be"}, "t.npy"},
      {"npy truncated",
       npy(f8 + "(2, 2), }", raw({1, 2, 3})),
       "",
       {},
       {},
       {"promises 32 bytes of data, the file holds 24"},
       "t.npy"},
      {"npy too long",
       npy(f8 + "(1, 2), }", raw({1, 2, 3})),
       "",
       {},
       {},
       {"promises 16 bytes of data, the file holds 24"},
       "t.npy"},
      {"npy gz truncated", gzip(npy(f8 + "(2, 2), }", raw({1, 2, 3}))), "", {}, {}, {"ends after 1 of 2 rows"}, "t.npy"},
      {"npy gz too long", gzip(npy(f8 + "(1, 2), }", raw({1, 2, 3}))), "", {}, {}, {"goes on after its data"}, "t.npy"},
      {"npy no rows", npy(f8 + "(0, 2), }", ""), "", {}, {}, {"no rows"}, "t.npy"},
      {"npy no columns", npy(f8 + "(2, 0), }", ""), "", {}, {}, {"no columns"}, "t.npy"},
      {"npy 3-D", npy(f8 + "(1, 1, 1), }", raw({1})), "", {}, {}, {"3-dimensional"}, "t.npy"},
      {"npy scalar", npy(f8 + "(), }", raw({1})), "", {}, {}, {"0-dimensional"}, "t.npy"},
      {"npy complex",
       npy("{'descr': '<c16', 'fortran_order': False, 'shape': (1,), }", raw({1, 2})),
       "",
       {},
       {},
       {"'<c16' is not read"},
       "t.npy"},
      {"npy objects",
       npy("{'descr': '|O8', 'fortran_order': False, 'shape': (1,), }", raw({1})),
       "",
       {},
       {},
       {"'|O8' is not read"},
       "t.npy"},
      {"npy structured",
       npy("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }", raw({1})),
       "",
       {},
       {},
       {"structured"},
       "t.npy"},
      {"npy key twice",
       npy("{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (1,), }", raw({1})),
       "",
       {},
       {},
       {"comes twice"},
       "t.npy"},
      {"npy key lacking", npy("{'descr': '<f8', 'shape': (1,), }", raw({1})), "", {}, {}, {"missing"}, "t.npy"},
      {"npy version 9", npy(f8 + "(1,), }", raw({1}), 9), "", {}, {}, {"version 9"}, "t.npy"},
      {"npy header cut", npy(f8 + "(1,), }", "").substr(0, 30), "", {}, {}, {"within its NPY header"}, "t.npy"},
      {"npy other magic", "hello world, this is text", "", {}, {}, {"not an NPY file"}, "t.npy"},
      {"idx images", idx_header({2, 1, 2}) + "\x01\x02\x03\xff", "", {{1, 2}, {3, 255}}, {}, {}, "t.idx"},
      {"idx labels", idx_header({3}) + "\x01\x02\x03", "", {{1}, {2}, {3}}, {}, {}, "t-labels-idx1-ubyte"},
      {"idx 16 bit", idx_header({2, 1}, 0x0b) + std::string("\x01\x00\xff\xfe", 4), "", {{256}, {-2}}, {}, {}, "t"},
      {"idx no rows", idx_header({0, 2}), "", {}, {}, {"no rows"}, "t.idx"},
      {"idx short",
       idx_header({2, 2}) + "\x01\x02\x03",
       "",
       {},
       {},
       {"promises 4 bytes of data, the file holds 3"},
       "t.idx"},
      {"idx long", idx_header({1, 2}) + "\x01\x02\x03", "", {}, {}, {"promises 2 bytes"}, "t.idx"},
      {"idx gz short", gzip(idx_header({2, 2}) + "\x01\x02\x03"), "", {}, {}, {"before its 2 items"}, "t.idx"},
      {"idx huge", idx_header({4294967295U, 4294967295U, 4294967295U}), "", {}, {}, {"not read"}, "t.idx"},
      {"idx type", idx_header({1}, 7) + "\x01", "", {}, {}, {"type 7"}, "t.idx"},
      {"idx magic", "abcdef", "", {}, {}, {"not an IDX"}, "t.idx"},
      {"idx header cut", idx_header({1, 2}).substr(0, 9), "", {}, {}, {"within its IDX header"}, "t.idx"},
      {"hdf5 that is not", "hello", "", {}, {}, {"HDF5"}, "t.h5"},
  };
}

TEST_P(OddFormats, GiveTheRowsOrSayWhy) {
  check(GetParam());
}

INSTANTIATE_TEST_SUITE_P(OtherFormats, OddFormats, testing::ValuesIn(other_formats()), test_name);

}  // namespace
}  // namespace mercer
