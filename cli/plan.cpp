#include "model/plan.hpp"

#include <nlohmann/json.hpp>
#include <optional>

#include "base/fail.hpp"
#include "base/text.hpp"
#include "common.hpp"
#include "kernel/resolve.hpp"
#include "plan_sketch.hpp"
#include "theory_words.hpp"

namespace mercer::cli {

void say_loss(const Console& console, const std::string& loss) {
  if (loss == "square") return;
  console.say("time is for the loss " + loss +
              ", whose solver was taken to need 100 passes, and 50 for each of twelve penalties where none is given");
}

namespace {

void say_fourier(const Console& console, const Plan& plan, double error, double confidence, Index budget) {
  console.say(counted(plan.rows, "row") + ", kernel " + plan.kernel + ", scaled inputs within a ball of diameter " +
              brief(plan.diameter));
  std::vector<std::vector<std::string>> rows;
  nlohmann::json table_json = nlohmann::json::array();
  bool beyond = false;
  for (const PlanRow& row : plan.table) {
    const bool too_much = row.memory_bytes > static_cast<double>(budget);
    beyond = beyond || too_much;
    rows.push_back({std::to_string(row.frequencies), std::to_string(row.features), brief(row.typical_error),
                    brief(row.largest_error), row.guaranteed ? brief(*row.guaranteed) : "-",
                    human_bytes(row.memory_bytes) + (too_much ? " *" : ""), human_seconds(row.seconds)});
    table_json.push_back({{"frequencies", row.frequencies},
                          {"features", row.features},
                          {"typical_error", row.typical_error},
                          {"largest_error", row.largest_error},
                          {"guaranteed_error", row.guaranteed ? nlohmann::json(*row.guaranteed) : nlohmann::json(nullptr)},
                          {"memory_bytes", row.memory_bytes},
                          {"seconds", row.seconds}});
  }
  console.say(
      table({"frequencies", "features", "typical error", "largest error", "guaranteed", "memory", "time to fit"}, rows));
  if (beyond)
    console.say("* more than --memory " + human_bytes(static_cast<double>(budget)) +
                "; a fit may go beyond it, and then says so");
  console.say(
      "errors of the kernel between your rows, relative to its largest value; \"guaranteed\" holds everywhere in the ball "
      "with probability " +
      shortest(confidence));
  say_loss(console, plan.loss);
  if (plan.spectrum) {
    console.say("spectrum of K/n from " + counted(plan.spectrum->rows, "row") + ": " + eigenvalue_words(*plan.spectrum));
    console.say(radius_words(critical_radius(*plan.spectrum, plan.rows)));
  }
  console.say("for an error of at most " + shortest(error) + " on rows like yours: about " +
              human_count(static_cast<double>(plan.advised_frequencies)) + " frequencies (measured)");
  if (plan.guaranteed_frequencies) {
    console.say("with a proof, for independent frequencies (fourier:D,mc): " +
                human_count(static_cast<double>(*plan.guaranteed_frequencies)) +
                "; the bound is loose, trust the measurement");
  } else {
    console.say("there is no bound for this kernel: " + plan.no_guarantee);
  }
  nlohmann::json json = {
      {"n", plan.rows},
      {"kernel", plan.kernel},
      {"loss", plan.loss},
      {"diameter", plan.diameter},
      {"error", error},
      {"confidence", confidence},
      {"advised_frequencies", plan.advised_frequencies},
      {"guaranteed_frequencies",
       plan.guaranteed_frequencies ? nlohmann::json(*plan.guaranteed_frequencies) : nlohmann::json(nullptr)},
      {"no_guarantee", plan.no_guarantee},
      {"flops_per_second", plan.flops},
      {"table", table_json}};
  if (plan.spectrum) {
    add_spectrum(*plan.spectrum, json);
    add_radius(critical_radius(*plan.spectrum, plan.rows), json);
  }
  console.emit(json);
}

/// The kernel itself has no error to weigh against time: all there is to say of it.
[[noreturn]] void refuse_exact(const Dataset& data) {
  const auto n = static_cast<double>(data.row_count());
  fail_argument("plan weighs the error of a map against its cost, and --map exact has none: it takes " +
                human_bytes(24 * n * n) + " and time as n³ on " + counted(data.row_count(), "row") +
                "; plan fourier:D or a sketch such as p-sr instead");
}

/// Rows without targets, given one that is 0: all that error and cost of a map ask of it.
class UntargetedRows : public RowSource {
 public:
  explicit UntargetedRows(RowSource& rows) : rows_(rows) {}
  Index input_count() const override { return rows_.input_count(); }
  Index target_count() const override { return 1; }
  Index row_count() const override { return rows_.row_count(); }
  bool next(Index max_rows, RowBlock& block) override {
    if (!rows_.next(max_rows, block)) return false;
    zeros_.resize(static_cast<std::size_t>(block.rows()));
    block.targets = ConstMatrix(zeros_.data(), block.rows(), 1);
    return true;
  }
  void rewind() override { rows_.rewind(); }
  std::string name_of(RowPart part, Index column) const override { return rows_.name_of(part, column); }
  std::string place_of(Index row) const override { return rows_.place_of(row); }

 private:
  RowSource& rows_;
  std::vector<double> zeros_;
};

}  // namespace

int run_plan(const Arguments& a) {
  const Console console(a);
  TerminalProgress progress(a.flag("quiet"));
  FitOptions options = fit_options(a);
  options.progress = &progress;
  if (options.map != "auto") names_sketch(options.map);  // a map that is none is refused before the rows are read
  const auto data = open_dataset(a.files, dataset_options(a));
  std::optional<UntargetedRows> untargeted;
  if (!data->has_targets()) {
    if (needs_covariance(parse_kernel(options.kernel))) require_targets(*data, a);
    untargeted.emplace(*data);
    console.say("note: without --target every one of the " + counted(data->input_count(), "column") +
                " counts as an input; name what is to be learned to leave it out");
  }
  RowSource& rows = untargeted ? static_cast<RowSource&>(*untargeted) : *data;
  describe(*data, options);
  const bool features_unasked =
      options.map == "auto" && chosen_map(options, rows.row_count(), rows.target_count()) == "exact";
  if (options.map == "auto") options.map = chosen_features(options, data->row_count());
  if (options.map == "exact") refuse_exact(*data);
  const bool sketch = names_sketch(options.map);
  const double error = a.number("error");
  const double confidence = a.number("confidence");
  if (sketch) {
    say_sketch(console, make_sketch_plan(rows, options, error, confidence), error, confidence);
  } else {
    say_fourier(console, make_plan(rows, options, error, confidence), error, confidence, options.memory_bytes);
  }
  if (features_unasked)
    console.say(
        "note: with so few rows fit takes the kernel itself where no --map is given; this is what features would do");
  return 0;
}

}  // namespace mercer::cli
