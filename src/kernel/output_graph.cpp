#include "kernel/output_graph.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "backend/backend.hpp"
#include "base/fail.hpp"
#include "base/text.hpp"

namespace mercer {
namespace {

constexpr std::size_t longest_file = std::size_t{64} << 20;

/// The whole file, refused beyond 64 MiB so that no device or fifo is read for ever.
std::string contents(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) fail_file("cannot open the edge list " + quoted(file));
  std::string text;
  std::vector<char> buffer(std::size_t{1} << 16);
  while (stream.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) || stream.gcount() > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(stream.gcount()));
    if (text.size() > longest_file) fail_file("the edge list " + quoted(file) + " is larger than 64 MiB");
  }
  if (stream.bad()) fail_file("cannot read the edge list " + quoted(file));
  return text;
}

std::string_view without_quotes(std::string_view field) {
  field = trim(field);
  const bool is_quoted = field.size() >= 2 && field.front() == '"' && field.back() == '"';
  return is_quoted ? field.substr(1, field.size() - 2) : field;
}

/// Fields at commas outside double quotes.
std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> fields;
  std::size_t begin = 0;
  bool inside = false;
  for (std::size_t i = 0; i <= line.size(); ++i) {
    if (i < line.size() && line[i] == '"') inside = !inside;
    if (i == line.size() || (line[i] == ',' && !inside)) {
      fields.emplace_back(without_quotes(line.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  return fields;
}

class EdgeReader {
 public:
  EdgeReader(const std::string& file, const std::vector<std::string>& names, Index outputs)
      : file_(file), names_(names), outputs_(outputs) {}

  std::map<std::pair<Index, Index>, double> read() {
    const std::string text = contents(file_);
    std::string_view rest = text;
    if (rest.starts_with("\xef\xbb\xbf")) rest.remove_prefix(3);
    for (line_ = 1; !rest.empty(); ++line_) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      add(trim(rest.substr(0, end)));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return std::move(edges_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    fail_file("edge list " + quoted(file_) + ", line " + std::to_string(line_) + ": " + what);
  }

  void add(std::string_view line) {
    if (line.empty() || line.front() == '#') return;
    const std::vector<std::string> fields = fields_of(line);
    const bool first = !std::exchange(begun_, true);
    if (fields.size() < 2 || fields.size() > 3) fail("expected from,to or from,to,weight, got " + quoted(line));
    double weight = 1;
    const bool weight_read = fields.size() == 2 || parse_number(fields[2], weight);
    const Index from = output(fields[0]);
    const Index to = output(fields[1]);
    const bool is_header = first && from < 0 && to < 0 && (fields.size() == 2 || !weight_read);
    if (is_header) return;
    if (from < 0 || to < 0) {
      const std::string& word = from < 0 ? fields[0] : fields[1];
      fail("no output " + quoted(word) + did_you_mean(word, names_) + "; write a name or a number from 0 to " +
           std::to_string(outputs_ - 1));
    }
    if (!weight_read || !std::isfinite(weight) || weight <= 0) fail("the weight must be > 0, got " + quoted(fields[2]));
    if (from == to) fail("an edge joins two different outputs, got " + quoted(fields[0]) + " twice");
    const auto [place, is_new] = edges_.emplace(std::minmax(from, to), weight);
    if (!is_new && place->second != weight) {
      fail("this edge was given before with weight " + shortest(place->second) + ", now " + shortest(weight));
    }
  }

  /// By name, else by number; -1 when it is neither.
  Index output(std::string_view word) const {
    const auto found = std::find(names_.begin(), names_.end(), word);
    if (found != names_.end()) return found - names_.begin();
    Index number = -1;
    const auto result = std::from_chars(word.data(), word.data() + word.size(), number);
    const bool good = result.ec == std::errc() && result.ptr == word.data() + word.size();
    return good && number < outputs_ ? number : -1;
  }

  const std::string& file_;
  const std::vector<std::string>& names_;
  Index outputs_;
  Index line_ = 0;
  bool begun_ = false;
  std::map<std::pair<Index, Index>, double> edges_;
};

}  // namespace

Matrix<double> read_graph_laplacian(const std::string& file, const std::vector<std::string>& output_names, Index outputs) {
  const auto edges = EdgeReader(file, output_names, outputs).read();
  if (edges.empty()) fail_file("the edge list " + quoted(file) + " has no edges");
  Matrix<double> laplacian(outputs, outputs);
  for (const auto& [edge, weight] : edges) {
    const auto [i, j] = edge;
    laplacian(i, i) += weight;
    laplacian(j, j) += weight;
    laplacian(i, j) = laplacian(j, i) = -weight;
  }
  return laplacian;
}

Matrix<double> graph_output_matrix(const Matrix<double>& laplacian, double mix) {
  const Index p = laplacian.rows();
  const auto [values, vectors] = eigh(laplacian);
  const double zero = std::numeric_limits<double>::epsilon() * static_cast<double>(p) * std::abs(values.back());
  Matrix<double> result(p, p);
  for (Index k = 0; k < p; ++k) {
    const double value = std::max(0.0, values[static_cast<std::size_t>(k)]);
    if (mix == 1 && value <= zero) continue;
    const double inverse = 1 / (mix * value + (1 - mix));
    for (Index i = 0; i < p; ++i) {
      for (Index j = 0; j < p; ++j) result(i, j) += inverse * vectors(k, i) * vectors(k, j);
    }
  }
  return result;
}

}  // namespace mercer
