#include "io/safetensors_header.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "base/text.hpp"

namespace mercer {

namespace {

using Json = nlohmann::json;

constexpr std::string_view metadata_key = "__metadata__";

std::optional<Dtype> dtype_named(std::string_view name) {
  for (const Dtype type : {Dtype::f64, Dtype::f32, Dtype::u8}) {
    if (name == name_of(type)) return type;
  }
  return std::nullopt;
}

/// "": fine; else what is wrong with the shape.
std::string shape_problem(const std::vector<Index>& shape) {
  if (shape.size() > most_dimensions) return "has more than " + std::to_string(most_dimensions) + " dimensions";
  const bool empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  const bool long_empty = empty && *std::max_element(shape.begin(), shape.end()) > longest_empty;
  return long_empty ? "is empty and yet has a dimension over " + std::to_string(longest_empty) : "";
}

/// Builds the header event by event, so that what a JSON document object would hide (a key that comes twice, a size that
/// went through double, endless nesting) is seen. Each event is legal in the places named in it and refused everywhere else.
class HeaderReader final : public nlohmann::json_sax<Json> {
 public:
  explicit HeaderReader(const std::string& path) : path_(path) {}
  TensorHeader take() { return std::move(header_); }

  bool null() override { refuse_value("null"); }
  bool boolean(bool) override { refuse_value("true or false"); }
  bool binary(binary_t&) override { refuse_value("binary data"); }
  bool number_float(number_float_t, const string_t& text) override {
    refuse_value("the number " + mercer::quoted(text) + " (no whole number from 0 to 2^63 - 1)");
  }
  bool number_integer(number_integer_t value) override { refuse_value("the negative number " + std::to_string(value)); }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ != Place::shape && place_ != Place::offsets) refuse_value("a number");
    if (value > static_cast<std::uint64_t>(std::numeric_limits<Index>::max())) {
      refuse_value("the number " + std::to_string(value) + ", which is too large");
    }
    auto& numbers = place_ == Place::shape ? entry_.shape : offsets_;
    if (numbers.size() >= most_dimensions)
      refuse(where() + " has more than " + std::to_string(most_dimensions) + " numbers");
    numbers.push_back(static_cast<Index>(value));
    return true;
  }

  bool string(string_t& text) override {
    if (place_ == Place::metadata) {
      header_.metadata.find(key_)->second = std::move(text);
    } else if (place_ == Place::tensor && key_ == "dtype") {
      const auto type = dtype_named(text);
      if (!type)
        refuse("tensor " + mercer::quoted(entry_.name) + " has type " + mercer::quoted(text) +
               "; Mercer reads F32, F64 and U8");
      entry_.type = *type;
    } else {
      refuse_value("text");
    }
    return true;
  }

  bool start_object(std::size_t) override {
    if (place_ == Place::outside) {
      place_ = Place::top;
    } else if (place_ == Place::top && key_ == metadata_key) {
      place_ = Place::metadata;
    } else if (place_ == Place::top) {
      place_ = Place::tensor;
      entry_ = TensorEntry{.name = std::move(key_), .type = {}, .shape = {}, .begin = 0, .end = 0};
      offsets_.clear();
      fields_.clear();
    } else {
      refuse_value("an object");
    }
    return true;
  }

  bool key(string_t& text) override {
    key_ = std::move(text);
    if (place_ == Place::metadata) {
      if (header_.metadata.size() >= most_metadata)
        refuse("it has more than " + std::to_string(most_metadata) + " metadata");
      if (!header_.metadata.try_emplace(key_).second) refuse("the metadata " + mercer::quoted(key_) + " is there twice");
    } else if (place_ == Place::tensor) {
      if (key_ != "dtype" && key_ != "shape" && key_ != "data_offsets") refuse(where() + " is not part of the format");
      if (!fields_.insert(key_).second) refuse(where() + " is there twice");
    } else {
      if (names_.size() > most_tensors) refuse("it has more than " + std::to_string(most_tensors) + " tensors");
      if (!names_.insert(key_).second) refuse("the name " + mercer::quoted(key_) + " is there twice");
    }
    return true;
  }

  bool end_object() override {
    if (place_ == Place::tensor) finish_tensor();
    place_ = place_ == Place::top ? Place::outside : Place::top;
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::tensor || key_ == "dtype") refuse_value("a list");
    place_ = key_ == "shape" ? Place::shape : Place::offsets;
    return true;
  }

  bool end_array() override {
    place_ = Place::tensor;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    refuse("it is not valid JSON at byte " + std::to_string(position));
  }

 private:
  enum class Place { outside, top, metadata, tensor, shape, offsets };

  [[noreturn]] void refuse(const std::string& what) const { fail_file(path_ + ": the header is damaged: " + what); }
  [[noreturn]] void refuse_value(const std::string& value) const { refuse(where() + " is " + value); }

  std::string where() const {
    switch (place_) {
      case Place::outside:
        return "the whole";
      case Place::top:
        return "the entry " + mercer::quoted(key_);
      case Place::metadata:
        return "the metadata " + mercer::quoted(key_);
      case Place::tensor:
      case Place::shape:
      case Place::offsets:
        return mercer::quoted(key_) + " of tensor " + mercer::quoted(entry_.name);
    }
    return {};
  }

  void finish_tensor() {
    const std::string tensor = "tensor " + mercer::quoted(entry_.name);
    for (const char* field : {"dtype", "shape", "data_offsets"}) {
      if (!fields_.contains(field)) refuse(tensor + " has no " + field);
    }
    if (offsets_.size() != 2) refuse(tensor + " has " + std::to_string(offsets_.size()) + " data_offsets instead of 2");
    if (const std::string problem = shape_problem(entry_.shape); !problem.empty()) refuse(tensor + " " + problem);
    entry_.begin = offsets_[0];
    entry_.end = offsets_[1];
    if (entry_.begin > entry_.end) refuse(tensor + " ends before it begins");
    if (entry_.end - entry_.begin != byte_count(tensor)) refuse(tensor + " has a shape that its data_offsets do not fit");
    header_.tensors.push_back(std::move(entry_));
  }

  Index byte_count(const std::string& tensor) const {
    Index count = size_of(entry_.type);
    try {
      for (const Index dimension : entry_.shape) count = checked_product(count, dimension);
    } catch (const Error&) {
      refuse(tensor + " has a shape too large to be true");
    }
    return count;
  }

  const std::string& path_;
  TensorHeader header_;
  Place place_ = Place::outside;
  std::string key_;
  std::set<std::string> names_;
  TensorEntry entry_;             // the tensor being read
  std::vector<Index> offsets_;    // its data_offsets
  std::set<std::string> fields_;  // those of its fields that have come
};

/// Sorts by offset and checks that each tensor begins where the one before ends.
void check_coverage(std::vector<TensorEntry>& tensors, Index data_size, const std::string& path) {
  std::stable_sort(tensors.begin(), tensors.end(), [](const TensorEntry& a, const TensorEntry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  Index end = 0;
  for (const TensorEntry& tensor : tensors) {
    if (tensor.end > data_size) {
      fail_file(path + ": tensor " + mercer::quoted(tensor.name) + " ends at byte " + std::to_string(tensor.end) +
                " of the data, and there are only " + std::to_string(data_size) + " (truncated copy?)");
    }
    if (tensor.begin != end) {
      fail_file(path + ": the header is damaged: tensor " + mercer::quoted(tensor.name) + " begins at byte " +
                std::to_string(tensor.begin) + " of the data instead of " + std::to_string(end));
    }
    end = tensor.end;
  }
  if (end != data_size) {
    fail_file(path + ": " + std::to_string(data_size - end) + " bytes at the end belong to no tensor");
  }
}

std::string json_text(const std::string& text, const char* what) {
  try {
    return Json(text).dump();
  } catch (const Json::exception&) {
    fail_argument(std::string(what) + " " + mercer::quoted(text) + " cannot be saved: it is not valid UTF-8");
  }
}

}  // namespace

Index size_of(Dtype type) {
  return type == Dtype::f64 ? 8 : type == Dtype::f32 ? 4 : 1;
}

std::string_view name_of(Dtype type) {
  return type == Dtype::f64 ? "F64" : type == Dtype::f32 ? "F32" : "U8";
}

TensorHeader parse_header(std::string_view json, Index data_size, const std::string& path) {
  // The parser would skip a byte order mark and take a NUL for the end of the text.
  if (!json.starts_with('{') || json.find('\0') != std::string_view::npos) {
    fail_file(path + ": not a Mercer file: the header is no JSON object");
  }
  HeaderReader reader(path);
  Json::sax_parse(json.begin(), json.end(), &reader);
  TensorHeader header = reader.take();
  check_coverage(header.tensors, data_size, path);
  return header;
}

std::string print_header(const TensorHeader& header) {
  if (header.tensors.size() > most_tensors || header.metadata.size() > most_metadata) {
    fail_argument("a file cannot hold more than " + std::to_string(most_tensors) + " tensors or metadata");
  }
  std::string text = "{\"" + std::string(metadata_key) + "\":{";
  for (const auto& [key, value] : header.metadata) {
    if (text.back() != '{') text += ',';
    text += json_text(key, "metadata") + ":" + json_text(value, "metadata");
  }
  text += '}';
  for (const TensorEntry& tensor : header.tensors) {
    if (tensor.name == metadata_key) fail_argument("a tensor cannot be called " + tensor.name);
    if (const std::string problem = shape_problem(tensor.shape); !problem.empty()) {
      fail_argument("tensor " + mercer::quoted(tensor.name) + " cannot be saved: it " + problem);
    }
    std::vector<std::string> shape;
    for (const Index dimension : tensor.shape) shape.push_back(std::to_string(dimension));
    text += "," + json_text(tensor.name, "tensor") + ":{\"dtype\":\"" + std::string(name_of(tensor.type)) +
            "\",\"shape\":[" + join(shape, ",") + "],\"data_offsets\":[" + std::to_string(tensor.begin) + "," +
            std::to_string(tensor.end) + "]}";
  }
  text += '}';
  text.append((8 - text.size() % 8) % 8, ' ');
  if (static_cast<Index>(text.size()) > largest_header) {
    fail_argument("the names and categories to be saved take " + human_bytes(static_cast<double>(text.size())) +
                  ", more than the " + human_bytes(static_cast<double>(largest_header)) + " a model file holds");
  }
  return text;
}

}  // namespace mercer
