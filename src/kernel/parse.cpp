#include <mercer/kernel.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <utility>
#include <variant>

#include "base/fail.hpp"
#include "base/text.hpp"
#include "kernel/rules.hpp"
#include "kernel/text_cursor.hpp"

// sum     := product ('+' product)*
// product := atom ('*' atom)*
// atom    := number | '(' sum ')' | name [ '(' [ [name '='] value (',' [name '='] value)* ] ')' ]
// Parentheses around a factor are kept as structure; sums inside sums are flattened.

namespace mercer {
namespace {

constexpr std::size_t longest_text = std::size_t{1} << 20;
constexpr int deepest_nesting = 64;

/// What an expression can be: a number, a scalar kernel or an operator-valued one.
using Value = std::variant<double, Kernel, OperatorKernel>;

struct Placed {
  Value value;
  std::size_t position = 0;
};

const std::vector<std::string>& kernel_names() {
  static const std::vector<std::string> names = {"gaussian",           "matern",           "laplacian",       "cauchy",
                                                 "rational_quadratic", "spectral_mixture", "linear",          "polynomial",
                                                 "decomposable",       "curl_free",        "divergence_free", "helmholtz"};
  return names;
}

bool is_operator_name(std::string_view name) {
  constexpr std::array<std::string_view, 4> names = {"decomposable", "curl_free", "divergence_free", "helmholtz"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

class Parser {
 public:
  explicit Parser(std::string_view text) : at_(text) {}

  OperatorKernel whole() {
    if (at_.at_end()) fail_argument("kernel text is empty; write for example gaussian(median)");
    Value value = sum();
    if (at_.peek() == '-')
      at_.fail("a kernel cannot be subtracted (the rest need not be positive definite)", at_.position());
    if (!at_.at_end()) at_.fail_expected("'+', '*' or the end");
    if (std::holds_alternative<double>(value)) at_.fail(lonely_number, 0);
    if (auto* kernel = std::get_if<Kernel>(&value)) return {{{1, Decomposable{std::move(*kernel), IdentityOutputs{}}}}};
    return std::get<OperatorKernel>(std::move(value));
  }

 private:
  /// One argument a name takes, in positional order, and how it is read.
  struct Slot {
    const char* name;
    std::function<void()> read;
    bool needed = false;
  };

  static constexpr const char* lonely_number =
      "a number alone is not a kernel (multiply a kernel by it, as in 0.5*gaussian(1))";

  Value sum();
  static Value sum_of(std::vector<Placed> parts);
  Value product();
  Value product_of(std::vector<Placed> parts) const;
  Value atom();
  Value named();
  Kernel scalar(std::string_view name);
  OperatorKernel operator_kernel(std::string_view name, std::size_t position);

  void arguments(const std::string& owner, std::initializer_list<Slot> slot_list);
  const Slot& named_slot(const std::string& owner, const std::vector<Slot>& slots, std::string_view name,
                         std::size_t position) const;
  Kernel scalar_argument(const std::string& owner);
  LengthScale length_scale();
  OutputMatrix output_matrix();
  std::vector<double> list();
  std::vector<std::vector<double>> table(bool flat_allowed);
  int whole_number(const std::string& what);

  /// Refuses at `position` when a rule of rules.hpp is broken.
  void check(const std::string& broken, std::size_t position) const {
    if (!broken.empty()) at_.fail(broken, position);
  }

  TextCursor at_;
  int depth_ = 0;
  std::string inside_operator_;  ///< the operator kernel whose argument is being read, or ""
};

Value Parser::sum() {
  if (depth_ > deepest_nesting) {
    at_.fail("more than " + std::to_string(deepest_nesting) + " nested parentheses", at_.position());
  }
  std::vector<Placed> parts;
  do {
    const std::size_t position = at_.position();
    parts.push_back({product(), position});
  } while (at_.accept('+'));
  if (parts.size() == 1) return std::move(parts.front().value);
  for (const Placed& part : parts) {
    if (std::holds_alternative<double>(part.value)) at_.fail(lonely_number, part.position);
  }
  return sum_of(std::move(parts));
}

/// Runs of scalar parts become one Sum; next to operator parts each run is one decomposable term.
Value Parser::sum_of(std::vector<Placed> parts) {
  OperatorKernel terms;
  Sum run;
  const auto run_kernel = [&run] {
    Kernel kernel = run.terms.size() == 1 ? std::move(run.terms.front()) : Kernel{std::move(run)};
    run = {};
    return kernel;
  };
  for (Placed& part : parts) {
    if (auto* kernel = std::get_if<Kernel>(&part.value)) {
      if (auto* inner = std::get_if<Sum>(&kernel->form)) {
        std::move(inner->terms.begin(), inner->terms.end(), std::back_inserter(run.terms));
      } else {
        run.terms.push_back(std::move(*kernel));
      }
      continue;
    }
    if (!run.terms.empty()) terms.terms.push_back({1, Decomposable{run_kernel(), IdentityOutputs{}}});
    auto& inner = std::get<OperatorKernel>(part.value).terms;
    std::move(inner.begin(), inner.end(), std::back_inserter(terms.terms));
  }
  if (terms.terms.empty()) return run_kernel();
  if (!run.terms.empty()) terms.terms.push_back({1, Decomposable{run_kernel(), IdentityOutputs{}}});
  return terms;
}

Value Parser::product() {
  std::vector<Placed> parts;
  do {
    const std::size_t position = at_.position();
    parts.push_back({atom(), position});
  } while (at_.accept('*'));
  return parts.size() == 1 ? std::move(parts.front().value) : product_of(std::move(parts));
}

/// Numbers gather in one factor: 2*a*3*b is Scaled{6, Product{a, b}}.
Value Parser::product_of(std::vector<Placed> parts) const {
  double factor = 1;
  bool scaled = false;
  Product product;
  OperatorKernel terms;
  for (Placed& part : parts) {
    if (const auto* number = std::get_if<double>(&part.value)) {
      check(broken_factor_rule(*number), part.position);
      factor *= *number;
      scaled = true;
      check(broken_factor_rule(factor), part.position);
      continue;
    }
    if (!terms.terms.empty() || (!product.factors.empty() && std::holds_alternative<OperatorKernel>(part.value))) {
      at_.fail("an operator-valued kernel can only be multiplied by a number (multiply inside it, as in curl_free(k1*k2))",
               part.position);
    }
    if (auto* kernel = std::get_if<Kernel>(&part.value)) {
      product.factors.push_back(std::move(*kernel));
    } else {
      terms = std::get<OperatorKernel>(std::move(part.value));
    }
  }
  for (OperatorTerm& term : terms.terms) check(broken_factor_rule(term.weight *= factor), parts.front().position);
  if (!terms.terms.empty()) return terms;
  if (product.factors.empty()) return factor;
  Kernel kernel = product.factors.size() == 1 ? std::move(product.factors.front()) : Kernel{std::move(product)};
  if (!scaled) return kernel;
  Scaled result{factor, {}};
  result.kernel.push_back(std::move(kernel));
  return Kernel{std::move(result)};
}

Value Parser::atom() {
  if (at_.at_number()) return at_.number();
  if (at_.at_name()) return named();
  if (!at_.accept('(')) at_.fail_expected("a kernel, a number or '('");
  ++depth_;
  Value inner = sum();
  --depth_;
  at_.expect(')', "to close the parenthesis");
  return inner;
}

Value Parser::named() {
  const std::size_t position = at_.position();
  const std::string_view name = at_.name();
  const auto& names = kernel_names();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    at_.fail("unknown kernel " + quoted(name), position, did_you_mean(name, names));
  }
  if (is_operator_name(name)) return operator_kernel(name, position);
  Kernel kernel = scalar(name);
  check(broken_rule(kernel), position);
  return kernel;
}

Kernel Parser::scalar(std::string_view name) {
  const std::string owner(name);
  LengthScale scale{{}, true};
  const Slot scale_slot{"length_scale", [&] { scale = length_scale(); }};
  if (name == "matern" || name == "rational_quadratic") {
    const bool matern = name == "matern";
    double shape = matern ? Matern{}.nu : RationalQuadratic{}.alpha;
    arguments(owner, {scale_slot, {matern ? "nu" : "alpha", [&] { shape = at_.number(); }}});
    return matern ? Kernel{Matern{scale, shape}} : Kernel{RationalQuadratic{scale, shape}};
  }
  if (name == "spectral_mixture") {
    SpectralMixture mixture;
    arguments(owner, {{"weights", [&] { mixture.weights = list(); }, true},
                      {"means", [&] { mixture.means = table(true); }, true},
                      {"scales", [&] { mixture.scales = table(true); }, true}});
    return {std::move(mixture)};
  }
  if (name == "polynomial") {
    Polynomial polynomial;
    arguments(owner, {{"degree", [&] { polynomial.degree = whole_number("polynomial needs a whole degree"); }},
                      {"offset", [&] { polynomial.offset = at_.number(); }}});
    return {polynomial};
  }
  if (name == "linear") {
    arguments(owner, {});
    return {Linear{}};
  }
  arguments(owner, {scale_slot});
  if (name == "laplacian") return {Laplacian{std::move(scale)}};
  if (name == "cauchy") return {Cauchy{std::move(scale)}};
  return {Gaussian{std::move(scale)}};
}

OperatorKernel Parser::operator_kernel(std::string_view name, std::size_t position) {
  const std::string owner(name);
  if (!inside_operator_.empty()) {
    at_.fail(inside_operator_ + " takes a scalar kernel, and " + owner + " is operator-valued", position);
  }
  Kernel kernel;
  const Slot kernel_slot{"kernel", [&] { kernel = scalar_argument(owner); }, true};
  OperatorTerm term;
  if (name == "decomposable") {
    OutputMatrix outputs;
    arguments(owner, {kernel_slot, {"outputs", [&] { outputs = output_matrix(); }}});
    term.form = Decomposable{std::move(kernel), std::move(outputs)};
  } else if (name == "helmholtz") {
    double share = Helmholtz{}.share;
    arguments(owner, {kernel_slot, {"share", [&] { share = at_.number(); }}});
    check(broken_share_rule(share), position);
    term.form = Helmholtz{std::move(kernel), share};
  } else {
    arguments(owner, {kernel_slot});
    if (name == "curl_free") {
      term.form = CurlFree{std::move(kernel)};
    } else {
      term.form = DivergenceFree{std::move(kernel)};
    }
  }
  OperatorKernel result;
  result.terms.push_back(std::move(term));
  return result;
}

/// Operator kernels do not nest, so their parenthesis does not count as depth: a printed scalar term may gain one.
Kernel Parser::scalar_argument(const std::string& owner) {
  const std::size_t position = at_.position();
  inside_operator_ = owner;
  Value value = sum();
  inside_operator_.clear();
  if (std::holds_alternative<double>(value)) at_.fail(lonely_number, position);
  return std::get<Kernel>(std::move(value));
}

void Parser::arguments(const std::string& owner, std::initializer_list<Slot> slot_list) {
  const std::vector<Slot> slots(slot_list);
  std::vector<bool> filled(slots.size());
  const std::size_t open = at_.position();
  std::size_t positional = 0;
  bool more = at_.accept('(') && !at_.accept(')');
  while (more) {
    const std::size_t position = at_.position();
    const std::string_view name = at_.at_name() ? at_.name() : std::string_view();
    const bool by_name = !name.empty() && at_.accept('=');
    if (!by_name) {
      at_.back_to(position);
      if (positional == std::string::npos) at_.fail(owner + " takes no unnamed argument after a named one", position);
      if (positional >= slots.size()) {
        const std::string count = slots.empty() ? "no" : "at most " + std::to_string(slots.size());
        at_.fail(owner + " takes " + count + (slots.size() == 1 ? " argument" : " arguments") + "; another stands",
                 position);
      }
    }
    const Slot& slot = by_name ? named_slot(owner, slots, name, position) : slots[positional];
    positional = by_name ? std::string::npos : positional + 1;
    const auto index = static_cast<std::size_t>(&slot - slots.data());
    if (filled[index]) at_.fail(owner + " got " + slot.name + " twice, the second time", position);
    filled[index] = true;
    slot.read();
    more = at_.accept(',');
    if (!more) at_.expect(')', "or ',' in the arguments of " + owner);
  }
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].needed && !filled[i]) at_.fail(owner + " needs " + slots[i].name + ", which is missing", open);
  }
}

const Parser::Slot& Parser::named_slot(const std::string& owner, const std::vector<Slot>& slots, std::string_view name,
                                       std::size_t position) const {
  const auto found = std::find_if(slots.begin(), slots.end(), [&](const Slot& slot) { return slot.name == name; });
  if (found != slots.end()) return *found;
  std::vector<std::string> known;
  for (const Slot& slot : slots) known.emplace_back(slot.name);
  at_.fail(owner + " takes no argument " + quoted(name), position, did_you_mean(name, known));
}

LengthScale Parser::length_scale() {
  const std::size_t position = at_.position();
  if (at_.at_name()) {
    const std::string_view word = at_.name();
    if (word == "median") return {{}, true};
    at_.fail("a length scale is a number, a list or median, not " + quoted(word), position, did_you_mean(word, {"median"}));
  }
  if (at_.peek() == '[') return {list(), false};
  if (!at_.at_number()) at_.fail_expected("a length scale (a number, a list or median)");
  return {{at_.number()}, false};
}

OutputMatrix Parser::output_matrix() {
  const std::size_t position = at_.position();
  if (at_.peek() == '[') {
    GivenOutputs given{table(false)};
    check(broken_rule(OutputMatrix{given}), position);
    return given;
  }
  if (!at_.at_name()) at_.fail_expected("an output matrix ([[...]], identity, covariance, graph(...) or quantile(...))");
  const std::string_view name = at_.name();
  if (name == "identity") return IdentityOutputs{};
  if (name == "covariance") return CovarianceOutputs{};
  OutputMatrix result;
  if (name == "graph") {
    GraphOutputs graph;
    arguments("graph",
              {{"file", [&] { graph.file = at_.quoted_string(); }, true}, {"mix", [&] { graph.mix = at_.number(); }}});
    result = std::move(graph);
  } else if (name == "quantile") {
    QuantileOutputs quantile;
    arguments("quantile",
              {{"levels", [&] { quantile.levels = list(); }, true}, {"gamma", [&] { quantile.gamma = at_.number(); }}});
    result = std::move(quantile);
  } else {
    at_.fail("unknown output matrix " + quoted(name), position,
             did_you_mean(name, {"identity", "covariance", "graph", "quantile"}));
  }
  check(broken_rule(result), position);
  return result;
}

std::vector<double> Parser::list() {
  at_.expect('[', "to start a list");
  std::vector<double> values;
  if (at_.accept(']')) return values;
  do {
    values.push_back(at_.number());
  } while (at_.accept(','));
  at_.expect(']', "or ',' in the list");
  return values;
}

std::vector<std::vector<double>> Parser::table(bool flat_allowed) {
  const std::size_t start = at_.position();
  at_.expect('[', "to start a list of rows");
  const bool flat = flat_allowed && at_.at_number();
  at_.back_to(start);
  std::vector<std::vector<double>> rows;
  if (flat) {
    for (const double value : list()) rows.push_back({value});
    return rows;
  }
  at_.expect('[', "to start a list of rows");
  if (at_.accept(']')) return rows;
  do {
    rows.push_back(list());
  } while (at_.accept(','));
  at_.expect(']', "or ',' in the list of rows");
  return rows;
}

int Parser::whole_number(const std::string& what) {
  const std::size_t position = at_.position();
  const double value = at_.number();
  if (value != std::floor(value) || std::abs(value) > 1e9) at_.fail(what + ", got " + shortest(value), position);
  return static_cast<int>(value);
}

}  // namespace

OperatorKernel parse_kernel(std::string_view text) {
  if (text.size() > longest_text) {
    fail_argument("kernel text is too long: " + human_bytes(static_cast<double>(text.size())) + ", at most 1 MiB is read");
  }
  return Parser(text).whole();
}

}  // namespace mercer
