#include <gtest/gtest.h>
#include <mercer/model.hpp>

#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <utility>

#include "base/text.hpp"
#include "io/dataset.hpp"
#include "io/tensor_file.hpp"
#include "model/state.hpp"
#include "unit/model/model_kinds.hpp"

namespace mercer {
namespace {

using namespace samples;

void expect_same(const Model& before, const Model& after, ConstMatrix x, const std::string& where) {
  const Answer a = answer(before, x);
  const Answer b = answer(after, x);
  EXPECT_TRUE(std::ranges::equal(a.mean.values(), b.mean.values())) << where;
  ASSERT_EQ(a.deviation.size(), b.deviation.size()) << where;
  EXPECT_TRUE(std::ranges::equal(a.deviation.values(), b.deviation.values())) << where;
}

TEST(ModelFile, RoundTripsEveryKindBitForBit) {
  const Scratch file("model.mercer");
  for (const Kind& k : model_kinds()) {
    const Model model = fit_kind(k);
    model.save(file.path());
    const Model loaded = Model::load(file.path());
    expect_same(model, loaded, normals(25, k.inputs, "fresh"), k.name);
    const FitSummary& a = model.summary();
    const FitSummary& b = loaded.summary();
    EXPECT_EQ(a.kernel, b.kernel);
    EXPECT_EQ(a.map, b.map);
    EXPECT_EQ(a.solver, b.solver);
    EXPECT_EQ(a.penalty, b.penalty);
    EXPECT_EQ(a.penalty_path, b.penalty_path);
    EXPECT_EQ(a.leave_one_out_rmse, b.leave_one_out_rmse);
    EXPECT_EQ(a.notes, b.notes);
    EXPECT_EQ(a.degrees_of_freedom, b.degrees_of_freedom);
    if (k.name.find("sum") == std::string::npos) continue;
    const std::vector<char> first = bytes_of(file.path());
    loaded.save(file.path());
    EXPECT_EQ(first, bytes_of(file.path())) << k.name << ": saving again must write the same file";
  }
}

TEST(ModelFile, InMemoryIsWhatIsWritten) {
  const Scratch file("model.mercer");
  const Kind kind = model_kinds().front();
  const Model model = fit_kind(kind);
  model.save(file.path());
  const std::vector<std::byte> bytes = model.to_bytes();
  const std::vector<char> written = bytes_of(file.path());
  ASSERT_EQ(bytes.size(), written.size());
  EXPECT_EQ(std::memcmp(bytes.data(), written.data(), written.size()), 0);
  expect_same(model, Model::from_bytes(bytes), normals(25, kind.inputs, "fresh"), kind.name);
  EXPECT_THROW(Model::from_bytes(std::span(bytes).first(bytes.size() - 1)), Error);
}

TEST(ModelFile, ModelsOfArraysReadFilesWithoutAHeader) {
  const Scratch file("array.mercer");
  const Scratch table("rows.csv");
  const Kind kind = model_kinds().front();
  fit_kind(kind).save(file.path());
  const Model loaded = Model::load(file.path());
  std::ofstream(table.path()) << [&] {
    std::string line = "0.5";
    for (Index k = 1; k < kind.inputs; ++k) line += ",0.25";
    return line + "\n";
  }();
  DatasetOptions options;
  options.like = &loaded.state().recipe.schema;
  options.targets_optional = true;
  const auto data = open_dataset({table.path()}, options);
  EXPECT_EQ(data->row_count(), 1);
  EXPECT_EQ(data->input_count(), kind.inputs);
}

TEST(ModelFile, RoundTripsClassesBitForBit) {
  const Scratch file("model.mercer");
  const Data s = class_data(60);
  for (const char* map : {"fourier:15", "exact"}) {
    for (const char* kernel : {"gaussian(median)", "decomposable(gaussian(1), [[1,0.3],[0.3,0.8]])"}) {
      FitOptions options;
      options.map = map;
      options.kernel = kernel;
      options.classes = {"naïve", "\"quoted\"", ""};
      ArrayRows rows = s.rows();
      const Model model = fit(rows, options);
      model.save(file.path());
      const Model loaded = Model::load(file.path());
      EXPECT_EQ(loaded.classes(), options.classes);
      expect_same(model, loaded, s.x, map);
      EXPECT_EQ(model.classify(s.x), loaded.classify(s.x));
    }
  }
}

TEST(ModelFile, NamesThatAreNotTextAreRefusedWhenSaving) {
  const Scratch file("model.mercer");
  const Data s = class_data(30);
  FitOptions options;
  options.map = "fourier:5";
  options.classes = {"a", "caf\xe9", "c"};
  ArrayRows rows = s.rows();
  const Model model = fit(rows, options);
  EXPECT_THROW(model.save(file.path()), Error);
}

Model small_model() {
  Kind k{"small", 2, 1, {}};
  k.options.map = "fourier:2";
  k.options.penalty = 1e-2;
  return fit_kind(k);
}

TEST(ModelFile, EveryFlippedByteIsRefused) {
  const Scratch file("model.mercer");
  small_model().save(file.path());
  const std::vector<char> good = bytes_of(file.path());
  ASSERT_GT(good.size(), 1000U);
  for (std::size_t i = 0; i < good.size(); ++i) {
    const int mask = i % 3 == 0 ? 0x01 : (i % 3 == 1 ? 0x20 : 0xff);  // 0x20 turns letters into their other case
    put_byte(file.path(), i, static_cast<char>(good[i] ^ mask));
    EXPECT_THROW(Model::load(file.path()), Error) << "byte " << i << " mask " << mask;
    put_byte(file.path(), i, good[i]);
  }
}

TEST(ModelFile, EveryTruncationIsRefused) {
  const Scratch file("model.mercer");
  small_model().save(file.path());
  const std::vector<char> good = bytes_of(file.path());
  for (std::size_t size = 0; size < good.size(); size += 7) {
    write_bytes(file.path(), {good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)});
    EXPECT_THROW(Model::load(file.path()), Error) << size;
  }
  EXPECT_THROW(Model::load(file.path() + ".absent"), Error);
}

/// Writes a file whose checksum is right and whose content is not: with other metadata, and tensors that replace those of
/// the same name.
void expect_refused(const std::string& path, const std::function<void(TensorFile&)>& change) {
  const TensorFile good = TensorFile::load(path);
  TensorFile bad;
  change(bad);
  const std::map<std::string, std::string> changes = std::exchange(bad.metadata, good.metadata);
  for (const auto& [key, value] : changes) {
    if (value.starts_with("s/")) {
      const auto parts = split(value, '/');
      std::string& text = bad.metadata[key];
      const auto at = text.find(parts.at(1));
      ASSERT_NE(at, std::string::npos) << parts[1] << " in " << text;
      text.replace(at, parts[1].size(), parts.at(2));
    } else if (value == "absent") {
      bad.metadata.erase(key);
    } else {
      bad.metadata[key] = value;
    }
  }
  for (const char* name : {"weights", "intercept", "noise", "target_mean", "scaling.input_shift", "scaling.input_scale",
                           "scaling.target_shift", "scaling.target_scale", "posterior.mean_feature", "posterior.factor",
                           "anchors", "anchor_weights", "coefficients", "factor.0", "factor.1"}) {
    if (!good.has(name) || bad.has(name)) continue;
    try {
      bad.add(name, good.vector(name));
    } catch (const Error&) {
      bad.add(name, good.matrix(name).view());
    }
  }
  bad.save(path + ".bad");
  EXPECT_THROW(Model::load(path + ".bad"), Error);
}

std::function<void(TensorFile&)> replaced(const std::string& key, const std::string& from, const std::string& to) {
  return [=](TensorFile& file) { file.metadata[key] = "s/" + from + "/" + to; };
}

TEST(ModelFile, InconsistentContentIsRefused) {
  const Scratch file("model.mercer");
  small_model().save(file.path());
  const std::string& path = file.path();
  const auto tensor = [](const char* name, Index rows, Index cols, double value) {
    return [=](TensorFile& f) {
      Matrix<double> m(rows, cols);
      std::ranges::fill(m.values(), value);
      f.add(name, m.view());
    };
  };
  const auto numbers = [](const char* name, std::vector<double> values) {
    return [=](TensorFile& f) { f.add(name, std::span<const double>(values)); };
  };
  expect_refused(path, tensor("weights", 3, 1, 0));
  expect_refused(path, tensor("weights", 4, 2, 0));
  expect_refused(path, numbers("intercept", {1, 2}));
  expect_refused(path, numbers("noise", {-1}));
  expect_refused(path, numbers("noise", {std::nan("")}));
  expect_refused(path, numbers("scaling.input_scale", {1, 0}));
  expect_refused(path, numbers("scaling.input_scale", {1, -1}));
  expect_refused(path, numbers("scaling.input_shift", {1}));
  expect_refused(path, numbers("scaling.target_shift", {1, 1}));
  expect_refused(path, numbers("posterior.mean_feature", {1}));
  expect_refused(path, numbers("posterior.factor", {1, 2, 3}));
  expect_refused(path, numbers("posterior.factor", std::vector<double>(10, 0.0)));
  const std::string model = "mercer.model";
  expect_refused(path, replaced(model, "fourier:2", "fourier:4000000"));
  expect_refused(path, replaced(model, "fourier:2", "exact"));
  expect_refused(path, replaced(model, "gaussian(", "curl_free(gaussian(1)) + gaussian("));
  expect_refused(path, replaced(model, "\"seed\":\"0\"", "\"seed\":\"1\""));
  expect_refused(path, replaced(model, "\"seed\":\"0\"", "\"seed\":0"));
  expect_refused(path, replaced(model, "\"posterior\":1", "\"posterior\":2"));
  expect_refused(path, replaced(model, "\"posterior\":1", "\"posterior\":3"));
  expect_refused(path, replaced(model, "\"posterior\":1", "\"posterior\":77"));
  expect_refused(path, replaced(model, "\"classes\":[]", "\"classes\":[\"one\"]"));
  expect_refused(path, replaced(model, "\"intercept\":true", "\"intercept\":3"));
  expect_refused(path, [](TensorFile& f) { f.metadata["mercer.kind"] = "statistics"; });
  expect_refused(path, [](TensorFile& f) { f.metadata["mercer.format"] = "2"; });
  expect_refused(path, [](TensorFile& f) { f.metadata["mercer.model"] = "[]"; });
  expect_refused(path, [](TensorFile& f) { f.metadata["mercer.model"] = "{}"; });
  expect_refused(path, [](TensorFile& f) { f.metadata["mercer.summary"] = "absent"; });
}

// A decomposable kernel of two eigenvalues needs two factors: one too few would be read past its end when asked for
// deviations.
TEST(ModelFile, ExactModelsNeedTheirFactors) {
  const Scratch file("model.mercer");
  Kind k{"exact", 2, 2, {}};
  k.options.kernel = "decomposable(gaussian(1), [[2,0.5],[0.5,1]])";
  k.options.map = "exact";
  k.options.penalty = 1e-2;
  fit_kind(k).save(file.path());
  EXPECT_NO_THROW(Model::load(file.path()));
  expect_refused(file.path(), replaced("mercer.model", "\"factors\":2", "\"factors\":1"));
  expect_refused(file.path(), replaced("mercer.model", "\"factors\":2", "\"factors\":3"));
  expect_refused(file.path(), replaced("mercer.model", "\"factors\":2", "\"factors\":-1"));
  expect_refused(file.path(), [](TensorFile& f) { f.add("anchor_weights", std::vector<double>(30, 0.0)); });
  expect_refused(file.path(), [](TensorFile& f) { f.add("anchors", Matrix<double>(29, 2).view()); });
  expect_refused(file.path(), [](TensorFile& f) { f.add("factor.1", std::vector<double>(3, 1.0)); });
  expect_refused(file.path(), [](TensorFile& f) {
    f.add("anchors", Matrix<double>(0, 2).view());
    f.add("anchor_weights", std::vector<double>());
    f.add("coefficients", Matrix<double>(0, 2).view());
    f.add("factor.0", std::vector<double>());
    f.add("factor.1", std::vector<double>());
  });
}

}  // namespace
}  // namespace mercer
