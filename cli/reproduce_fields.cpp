// Two measured vector fields: does a kernel that knows the law of the field predict it better than independent outputs?
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.hpp"
#include "reproduce.hpp"

namespace mercer::cli::reproduce {
namespace {

/// A field with the groups (drifters, walks) that its rows come in: rows of one group are held out together, since
/// neighbours along a path would give each other away.
struct Survey {
  std::string name;
  std::string title;
  std::string unit;
  Rows rows;
  std::vector<Index> group;
  Index groups = 0;
  std::vector<double> length_scales;
  Index constrained = 0;  ///< the first so many outputs are what the law ties together
};

Rows read(const std::string& path, const std::string& inputs, const std::string& targets) {
  DatasetOptions options;
  options.inputs = inputs;
  options.targets = targets;
  return read_table(path, options).rows;
}

/// Positions in km, velocities in m/s. The file names no drifters, but its rows follow them: a step of more than 10 km
/// (median: 3) begins the next one.
Survey drifters(const std::string& folder) {
  Survey s;
  s.name = "drifters";
  s.title = "Ocean drifters (GLAD): velocity";
  s.unit = "m/s";
  s.rows = read(folder + "/fields/drifters-glad.csv", "x_km,y_km", "u_ms,v_ms");
  const Matrix<double>& x = s.rows.x;
  for (Index i = 0; i < x.rows(); ++i) {
    if (i > 0 && std::hypot(x(i, 0) - x(i - 1, 0), x(i, 1) - x(i - 1, 1)) > 10) ++s.groups;
    s.group.push_back(s.groups);
  }
  ++s.groups;
  s.length_scales = {20, 30, 45, 65, 90};
  s.constrained = 2;
  return s;
}

/// Five walks through a room at one height: positions in m with z = 0 added, so that the field is three-dimensional; µT.
Survey magnetic(const std::string& folder) {
  Survey s;
  s.name = "magnetic";
  s.title = "Magnetic field of a room";
  s.unit = "µT";
  const Rows raw = read(folder + "/fields/magnetic-invensense.csv.gz", "run,x_m,y_m", "bx,by,bz");
  s.rows = {Matrix<double>(raw.x.rows(), 3), raw.y};
  for (Index i = 0; i < raw.x.rows(); ++i) {
    s.group.push_back(static_cast<Index>(raw.x(i, 0)) - 1);
    s.rows.x(i, 0) = raw.x(i, 1);
    s.rows.x(i, 1) = raw.x(i, 2);
  }
  s.groups = 5;
  s.length_scales = {0.25, 0.35, 0.5, 0.7, 1.0};
  s.constrained = 2;
  return s;
}

struct Family {
  std::string name;
  std::string label;
  std::vector<std::string> kernels;
};

std::vector<Family> families(const Survey& s, bool quick) {
  const Index d = s.rows.x.cols();
  std::vector<Family> all = {{"independent", "independent outputs", {}},
                             {"curl_free", "curl-free", {}},
                             {"divergence_free", "divergence-free", {}},
                             {"helmholtz", "Helmholtz", {}}};
  for (const double l : s.length_scales) {
    if (quick && l != s.length_scales[2]) continue;
    all[0].kernels.push_back(independent(l));
    all[1].kernels.push_back(curl_free(l));
    all[2].kernels.push_back(divergence_free(l, d));
    for (const double share : {0.05, 0.25, 0.5, 0.75}) all[3].kernels.push_back(helmholtz(l, share, d));
  }
  return all;
}

/// `count` of the numbers (all of them when there are fewer), drawn without replacement, in ascending order.
std::vector<Index> sample(std::vector<Index> numbers, Index count, const Stream& stream) {
  const auto n = static_cast<Index>(numbers.size());
  for (Index i = 0; i < std::min(n, count); ++i) {
    std::swap(numbers[at(i)], numbers[at(i) + stream.below(key(n - i), key(i), 0)]);
  }
  numbers.resize(at(std::min(n, count)));
  std::ranges::sort(numbers);
  return numbers;
}

struct Error {
  double all = 0;          ///< root mean square over outputs
  double constrained = 0;  ///< over those the law ties together
};

Error error_of(const Survey& s, const Model& model, const Rows& test) {
  const auto squares = Scored(predict(model, test.x), test.y).per_output();
  const auto mean = [&](Index count) {
    return std::accumulate(squares.begin(), squares.begin() + count, 0.0) / static_cast<double>(count);
  };
  return {std::sqrt(mean(static_cast<Index>(squares.size()))), std::sqrt(mean(s.constrained))};
}

/// One hold-out.
struct Fold {
  std::vector<Index> pool;  ///< rows to learn from
  std::vector<Index> test;
  Stream stream;
};

/// Drifters: half of them, drawn at random, are the test. Walks: one of the five.
Fold make_fold(const Survey& s, Index number, std::uint64_t seed) {
  const Stream stream = Stream(seed, "reproduce fold").child(s.name, key(number));
  std::vector<bool> held_out(at(s.groups), false);
  if (s.name == "magnetic") {
    held_out[at(number % s.groups)] = true;
  } else {
    std::vector<Index> all(at(s.groups));
    std::iota(all.begin(), all.end(), Index{0});
    for (const Index g : sample(all, s.groups / 2, stream.child("groups"))) held_out[at(g)] = true;
  }
  Fold fold{{}, {}, stream};
  for (Index i = 0; i < s.rows.x.rows(); ++i) (held_out[at(s.group[at(i)])] ? fold.test : fold.pool).push_back(i);
  return fold;
}

/// The training rows cut into at most five parts of whole groups, each in turn the validation. Rows of one group never judge
/// each other: leave-one-out over rows would, and picks length scales that join up single paths (we tried: errors grew with
/// n).
std::vector<Split> inner_splits(const Survey& s, const std::vector<Index>& train) {
  std::vector<Index> groups;
  for (const Index i : train) groups.push_back(s.group[at(i)]);
  std::ranges::sort(groups);
  groups.erase(std::ranges::unique(groups).begin(), groups.end());
  const Index parts = std::min<Index>(5, static_cast<Index>(groups.size()));
  std::vector<Split> splits;
  for (Index part = 0; part < parts; ++part) {
    std::vector<Index> learn;
    std::vector<Index> judge;
    for (const Index i : train) {
      const Index rank = std::ranges::lower_bound(groups, s.group[at(i)]) - groups.begin();
      (rank % parts == part ? judge : learn).push_back(i);
    }
    splits.push_back({pick(s.rows, learn), pick(s.rows, judge)});
  }
  return splits;
}

/// Exact models of n rows drawn from the pool. The ridge nλ is searched in units of K(0).
Model learn_few(const Survey& s, const Family& family, const Fold& fold, Index n, std::uint64_t seed) {
  const auto numbers = sample(fold.pool, n, fold.stream.child("train"));
  std::vector<double> penalties;
  for (const double ridge : {0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0})
    penalties.push_back(ridge / static_cast<double>(numbers.size()));
  const Choice choice = choose(inner_splits(s, numbers), family.kernels, penalties, "exact", seed);
  return fit_plain(pick(s.rows, numbers), choice.kernel, "exact", choice.penalty, seed);
}

/// Random features of all rows of the pool, chosen with a smaller map of every tenth row.
Model learn_all(const Survey& s, const Family& family, const Fold& fold, std::uint64_t seed) {
  std::vector<Index> tenth;
  for (std::size_t i = 0; i < fold.pool.size(); i += 10) tenth.push_back(fold.pool[i]);
  const Choice choice = choose(inner_splits(s, tenth), family.kernels, {1e-5, 1e-4, 1e-3, 1e-2, 1e-1}, "fourier:300", seed);
  return fit_plain(pick(s.rows, fold.pool), choice.kernel, "fourier:1000", choice.penalty, seed);
}

struct Plan {
  std::vector<Index> counts;  ///< 0 stands for all rows
  Index folds = 1;
};

/// Learning curves of one survey: n against RMSE, a curve per family.
plot::LineChart study(const Survey& s, const Plan& plan, const Settings& settings, Steps& steps, Findings& findings) {
  plot::LineChart chart;
  chart.title = s.title;
  chart.x_label = "n, training rows";
  chart.y_label = "held-out RMSE (" + s.unit + ")";
  chart.log_x = true;
  const auto all = families(s, settings.quick);
  std::vector<Curve> curves;
  for (const Family& family : all) curves.emplace_back(family.label);
  for (const Index n : plan.counts) {
    std::vector<std::vector<double>> errors(all.size());
    std::vector<std::vector<double>> constrained(all.size());
    auto rows = static_cast<double>(n);
    for (Index f = 0; f < plan.folds; ++f) {
      steps.next();
      const Fold fold = make_fold(s, f, settings.seed);
      if (n == 0) rows = static_cast<double>(fold.pool.size());
      const Rows test = pick(s.rows, sample(fold.test, 1000, fold.stream.child("test")));
      for (std::size_t k = 0; k < all.size(); ++k) {
        const Model model =
            n == 0 ? learn_all(s, all[k], fold, settings.seed) : learn_few(s, all[k], fold, n, settings.seed);
        const Error e = error_of(s, model, test);
        errors[k].push_back(e.all);
        constrained[k].push_back(e.constrained);
      }
    }
    std::vector<std::string> line = {s.name, n == 0 ? "all" : std::to_string(n)};
    for (std::size_t k = 0; k < all.size(); ++k) {
      Index wins = 0;
      for (std::size_t f = 0; f < errors[k].size(); ++f) wins += errors[k][f] < errors[0][f] ? 1 : 0;
      const Spread e = spread(errors[k]);
      curves[k].add(rows, e.mean);
      line.push_back(cell(e.mean));
      findings.rows.push_back({s.name, n == 0 ? "all" : cell(n), all[k].name, cell(e.mean), cell(e.deviation),
                               cell(spread(constrained[k]).mean), cell(plan.folds), cell(wins)});
      if (k > 0)
        findings.headline.emplace_back(s.name + " n=" + line[1] + " " + all[k].name + " / independent",
                                       e.mean / spread(errors[0]).mean);
    }
    findings.table.push_back(line);
  }
  for (const Curve& curve : curves) chart.series.push_back(curve.series());
  return chart;
}

}  // namespace

Findings fields(const Settings& settings) {
  Findings findings;
  findings.columns = {
      "survey", "n", "kernel", "rmse", "deviation", "rmse_first_two_outputs", "folds", "folds_better_than_independent"};
  findings.table = {{"survey", "n", "independent", "curl-free", "divergence-free", "Helmholtz"}};
  const Survey ocean = drifters(settings.data);
  const Survey room = magnetic(settings.data);
  const Plan ocean_plan = settings.quick ? Plan{{30}, 2} : Plan{{50, 100, 200, 400}, 10};
  const Plan room_plan = settings.quick ? Plan{{30}, 2} : Plan{{50, 100, 200, 400, 0}, 5};
  Steps steps(settings, "fields",
              static_cast<Index>(ocean_plan.counts.size()) * ocean_plan.folds +
                  static_cast<Index>(room_plan.counts.size()) * room_plan.folds);
  const std::string left = plot::render(study(ocean, ocean_plan, settings, steps, findings));
  const std::string right = plot::render(study(room, room_plan, settings, steps, findings));
  findings.charts = {{"", plot::side_by_side({left, right})}};
  return findings;
}

}  // namespace mercer::cli::reproduce
