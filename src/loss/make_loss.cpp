#include "loss/make_loss.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "base/fail.hpp"
#include "base/text.hpp"
#include "loss/expectile.hpp"
#include "loss/hinge.hpp"
#include "loss/huber.hpp"
#include "loss/insensitive.hpp"
#include "loss/logistic.hpp"
#include "loss/loss_of.hpp"
#include "loss/multinomial.hpp"
#include "loss/pinball.hpp"
#include "loss/radial.hpp"
#include "loss/separable.hpp"
#include "loss/square.hpp"

namespace mercer {
namespace {

/// What was written, taken apart but not yet judged.
struct Request {
  std::string_view text;
  LossName entry;
  std::vector<std::string> parameters;
  Index outputs;

  [[noreturn]] void fail(const std::string& problem) const {
    fail_argument("loss " + mercer::quoted(text) + ": " + problem + "; write for example " + std::string(entry.example));
  }
};

using LossPointer = std::unique_ptr<Loss>;

template <class Form>
LossPointer of(Form form, std::string text) {
  return std::make_unique<LossOf<Form>>(std::move(form), std::move(text));
}

template <class H, class Reading>
LossPointer plain(const Request& request) {
  if (!request.parameters.empty()) request.fail(std::string(request.entry.name) + " takes no parameters");
  return of(Separable<H, Reading>({H{}}, request.outputs), std::string(request.entry.name));
}

/// huber, epsilon, epsilon2: a size, then perhaps the word "coordinates".
template <class H, bool zero_allowed>
LossPointer sized(const Request& request) {
  std::vector<std::string> parameters = request.parameters;
  const bool coordinates = !parameters.empty() && trim(parameters.back()) == "coordinates";
  if (coordinates) parameters.pop_back();
  if (parameters.empty()) parameters.emplace_back(request.entry.standard);
  if (parameters.size() > 1) {
    request.fail("after one number only the word 'coordinates' may follow" + did_you_mean(parameters[1], {"coordinates"}));
  }
  double size = 0;
  if (!parse_number(trim(parameters[0]), size) || !std::isfinite(size) || size < 0 || (size == 0 && !zero_allowed)) {
    request.fail(mercer::quoted(parameters[0]) + " is not a " + (zero_allowed ? "number of at least 0" : "positive number"));
  }
  size = std::abs(size);  // -0 is 0
  const std::string text = std::string(request.entry.name) + ":" + shortest(size);
  if (coordinates) return of(Separable<H, OfResidual>({H{size}}, request.outputs), text + ",coordinates");
  return of(Radial<H>(H{size}, request.outputs), text);
}

template <class H>
LossPointer levelled(const Request& request) {
  if (request.parameters.empty()) request.fail(std::string(request.entry.name) + " needs its levels, between 0 and 1");
  std::vector<H> parts;
  std::vector<std::string> written;
  for (const std::string& parameter : request.parameters) {
    double level = 0;
    if (!parse_number(trim(parameter), level) || !(level > 0 && level < 1)) {
      request.fail("level " + mercer::quoted(parameter) + " is not a number between 0 and 1");
    }
    if (!parts.empty() && level <= parts.back().level) {
      request.fail("levels must increase, and " + shortest(level) + " follows " + shortest(parts.back().level));
    }
    parts.push_back(H{level});
    written.push_back(shortest(level));
  }
  if (parts.size() != 1 && static_cast<Index>(parts.size()) != request.outputs) {
    request.fail(std::to_string(parts.size()) + " levels for " + std::to_string(request.outputs) +
                 (request.outputs == 1 ? " output" : " outputs") + " (one level for all, or one for each)");
  }
  return of(Separable<H, OfResidual>(std::move(parts), request.outputs),
            std::string(request.entry.name) + ":" + join(written, ","));
}

LossPointer multinomial(const Request& request) {
  if (!request.parameters.empty()) request.fail("multinomial takes no parameters");
  if (request.outputs < 2)
    fail_argument("loss multinomial needs one output per class; for two classes in one output use logistic");
  return of(Multinomial{}, "multinomial");
}

struct Entry {
  LossName shown;
  LossPointer (*make)(const Request&);
};

constexpr std::array<Entry, 10> table = {{
    {{"square", "", "", "square", "half the squared distance; the conditional mean"}, plain<Square, OfResidual>},
    {{"huber", ":K[,coordinates]", "1.345", "huber:1.345 or huber:1.345,coordinates",
      "square up to K (in units of the scaled targets), linear beyond; shrugs off outliers"},
     sized<Huber, false>},
    {{"epsilon", ":E[,coordinates]", "0.1", "epsilon:0.1 or epsilon:0.1,coordinates",
      "distance beyond E (support vector regression); robust, few rows matter"},
     sized<Insensitive, true>},
    {{"epsilon2", ":E[,coordinates]", "0.1", "epsilon2:0.1 or epsilon2:0.1,coordinates",
      "half the squared distance beyond E"},
     sized<SquaredInsensitive, true>},
    {{"pinball", ":T1,T2,...", "", "pinball:0.1,0.5,0.9", "conditional quantiles at increasing levels, one per output"},
     levelled<Pinball>},
    {{"expectile", ":T1,T2,...", "", "expectile:0.1,0.5,0.9", "conditional expectiles at increasing levels; 0.5 is square"},
     levelled<Expectile>},
    {{"hinge", "", "", "hinge", "labels -1 and 1: max(0, 1 - y f) (support vector machine)"}, plain<Hinge, OfMargin>},
    {{"squared_hinge", "", "", "squared_hinge", "labels -1 and 1: half the square of hinge"}, plain<SquaredHinge, OfMargin>},
    {{"logistic", "", "", "logistic", "labels -1 and 1: log(1 + exp(-y f)); probabilities"}, plain<Logistic, OfMargin>},
    {{"multinomial", "", "", "multinomial", "one output per class: log of the softmax probability of the right one"},
     multinomial},
}};

}  // namespace

std::vector<LossName> loss_names() {
  std::vector<LossName> names;
  for (const Entry& entry : table) names.push_back(entry.shown);
  return names;
}

std::unique_ptr<Loss> make_loss(std::string_view text, Index outputs) {
  if (outputs < 1) fail_argument("a loss needs at least one output, and there are " + std::to_string(outputs));
  const std::string_view whole = trim(text);
  const std::size_t colon = whole.find(':');
  const std::string_view name = trim(whole.substr(0, colon));
  const auto* const entry = std::find_if(table.begin(), table.end(), [&](const Entry& e) { return e.shown.name == name; });
  if (entry == table.end()) {
    std::vector<std::string> known;
    for (const Entry& e : table) known.emplace_back(e.shown.name);
    fail_argument("loss " + mercer::quoted(name) + " is unknown" + did_you_mean(name, known) + "; one of " +
                  join(known, ", "));
  }
  Request request{whole, entry->shown, {}, outputs};
  if (colon != std::string_view::npos) {
    request.parameters = split(whole.substr(colon + 1), ',');
    if (request.parameters.size() == 1 && trim(request.parameters[0]).empty()) request.fail("nothing follows the colon");
  }
  return entry->make(request);
}

}  // namespace mercer
