#include "arguments.hpp"
#include "common.hpp"

namespace mercer::cli {
namespace {

constexpr std::size_t many = 100000;

std::vector<std::string> operator+(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const std::vector<std::string> common = {"seed", "threads", "memory", "json", "quiet"};
const std::vector<std::string> reading = {"missing", "format", "header"};
const std::vector<std::string> columns = {"target", "inputs", "weights", "one-hot", "classify", "dates"};
const std::vector<std::string> fitting = {
    "kernel",    "map",         "loss",      "quantiles", "non-crossing",   "penalty",     "solver",
    "precision", "uncertainty", "tolerance", "passes",    "no-standardize", "no-intercept"};

const std::vector<std::string> process = {
    "gp",         "mean",    "optimizer", "steps",      "rate", "draws", "posterior-draws", "parametrization",
    "allocation", "outputs", "restarts",  "validation", "trace"};

const std::vector<std::string> tuning = {"folds",           "metric", "length-factors", "penalties",
                                         "loss-parameters", "sizes",  "trials",         "results"};

}  // namespace

const std::vector<Verb>& verbs() {
  static const std::vector<Verb> table = {
      {"fit", "learn a function from a table and save it", "DATA...", 1, many,
       "Reads one table (or several of the same columns), scales it, draws random features of the kernel, solves the\n"
       "ridge problem and writes a model file. Text targets are classes. Length scales are in units of the scaled "
       "inputs.\n\n"
       "  mercer fit train.csv --target y -o model.mercer\n"
       "  mercer fit wind.csv --target u,v --kernel 'helmholtz(gaussian(median), 0.5)' --map fourier:1000 -o wind.mercer\n"
       "  mercer fit flow.arff --target last:8 --kernel 'decomposable(gaussian(median), covariance)' --missing mean -o "
       "flow.mercer\n"
       "  mercer fit train.csv --target y --map p-sr:200 -o sketched.mercer\n"
       "  mercer fit prices.csv --target y --loss huber:1.35 --map p-sr:200 -o robust.mercer\n"
       "  mercer fit growth.csv --target y --quantiles 0.1,0.5,0.9 --non-crossing -o bands.mercer\n"
       "  mercer fit train.csv --target y --holdout 0.2 --split time\n"
       "  mercer fit train.csv --target y --conformal 0.9 -o intervals.mercer\n"
       "  mercer fit train.csv --target y --tune -o tuned.mercer\n"
       "  mercer fit co2.csv --target co2 --gp spectral_mixture:10 -o co2.mercer\n\n"
       "--json prints: n, weight, inputs, outputs, features, parameters, kernel, map, sampling, anchors, loss, solver,\n"
       "precision, gram, spread_error, plan, penalty, penalty_chosen, penalty_path, leave_one_out_rmse, "
       "leave_one_out_rows,\n"
       "degrees_of_freedom, iterations, residual, objective, gap, process, nlml (of Gaussian processes), interval_level,\n"
       "calibration_rows, status, notes,\n"
       "seconds{total, read, map, solve and other stages}, peak_memory_bytes, rows_dropped, cells_filled, dates,\n"
       "model, holdout{...}, tuning{...} (see tune).",
       columns + fitting + std::vector<std::string>{"grid"} + process + reading +
           std::vector<std::string>{"holdout", "split", "conformal", "tune"} + tuning +
           std::vector<std::string>{"like", "output"} + common,
       run_fit},
      {"predict", "apply a model to new rows", "MODEL [DATA...]", 1, many,
       "Writes a CSV with one column per target, <target>_std with --std, <target>_lower and <target>_upper where the\n"
       "model was fitted with --conformal (for classes: the label and one score per class). Where -o ends in .npy, the "
       "numbers\n"
       "are written as NPY instead (not with class names or the times of --horizon).\n"
       "Columns are matched by name where the file has names, else by position; targets need not be there. With --missing "
       "drop\n"
       "rows with missing inputs get empty predictions. --horizon N needs no data: it goes on after the last training row "
       "of\n"
       "a series (a single input), by its usual step, months as months, and writes the times as the training file did.\n\n"
       "  mercer predict wind.mercer grid.csv --std -o pred.csv\n"
       "  mercer predict model.mercer new.csv | head\n"
       "  mercer predict co2.mercer --horizon 48 --std -o forecast.csv\n"
       "  mercer predict co2.mercer --horizon 48 --plot forecast.svg\n\n"
       "--json prints: n, outputs, columns, predictions, figure (with --plot), seconds{total}, peak_memory_bytes.",
       std::vector<std::string>{"std", "latent", "horizon", "samples", "plot", "output"} + reading + common, run_predict},
      {"score", "compare a model with rows whose targets are known", "MODEL DATA...", 2, many,
       "  mercer score wind.mercer test.csv\n"
       "  mercer score co2.mercer co2.csv --rolling 12,5\n\n"
       "--rolling validates on rows ordered in time: for each origin the weights are fitted again to the rows before it "
       "(kernel,\n"
       "scaling, map and penalty are the model's), and the next STEPS rows are forecast. The origins are STEPS rows apart "
       "at\n"
       "the end of the data, closer where half of the rows would not be left to fit.\n\n"
       "--json prints: n, targets, rmse, mae, rrmse (per output; relative to the training mean as prediction), arrmse\n"
       "(their mean), r2; for quantiles also levels, pinball, below (share of targets not above); for several of them\n"
       "inside, crossed_share, crossing_mean; of conformal intervals interval_level, interval_coverage, interval_width "
       "(per\n"
       "target); of Gaussian processes log_density, band_coverage (of 90 % bands); for classes: accuracy, error_percent,\n"
       "classes, confusion (rows: truth); seconds{total}. With --rolling: n, targets, steps, origins (rows fitted to), "
       "rmse,\n"
       "mae, rmse_by_step, mae_by_step (per target), and where there are standard deviations band_level, coverage,\n"
       "coverage_by_step; seconds{total}.",
       std::vector<std::string>{"rolling"} + reading + common, run_score},
      {"plot", "draw a model: forecast with bands, learned spectrum, training", "MODEL [DATA...]", 1, many,
       "Writes an SVG that any browser shows. forecast (a single input): the function over the training rows, the rows of "
       "DATA\n"
       "and a quarter of the training range ahead (or --horizon N steps), with bands that hold half and nine tenths of new\n"
       "observations, the intervals of --conformal, or a fan of quantiles; rows after the end of training in a colour of "
       "their\n"
       "own. spectrum (--gp spectral_mixture): the learned density and noise against that of the rows of DATA, as sharp as\n"
       "rows of this length can show it, periods at the peaks. training (--gp): likelihood and validation by iteration.\n"
       "Several outputs are panels, six at most. Rows with missing cells are left out.\n\n"
       "  mercer plot co2.mercer co2.csv -o forecast.svg\n"
       "  mercer plot co2.mercer co2.csv --what spectrum -o spectrum.svg\n"
       "  mercer plot co2.mercer --what training -o training.svg\n\n"
       "--json prints: what, panels, points (rows drawn), notes, figure, seconds{total}.",
       std::vector<std::string>{"what", "horizon", "output"} + reading + common, run_plot},
      {"gram", "write the exact or approximated Gram matrix of a kernel", "X [Z]", 1, 2,
       "Raw inputs, no scaling. Operator-valued kernels give (n p) x (m p) values, entry (i p + a, j p + b) = K(x_i, "
       "z_j)_ab.\n"
       "The name of -o says the format: .npy, or .csv with columns k0, k1, ….\n\n"
       "  mercer gram X.csv --kernel 'curl_free(gaussian(0.5))' -o K.npy\n"
       "  mercer gram X.csv Z.csv --kernel 'matern(1, nu=2.5)' --map fourier:500 -o K.npy\n\n"
       "--json prints: rows, cols, kernel, map, gram.",
       std::vector<std::string>{"kernel", "map", "inputs", "dates", "output"} + reading + common, run_gram},
      {"info", "what is inside a model, or under the program", "[MODEL [DATA...]]", 0, many,
       "Of a scalar kernel it shows the spectrum of K/n, the critical radius and the statistical dimension of that many "
       "rows,\n"
       "from rows that the model keeps or from a sample at the fit. With the training data of a sketch also how well that "
       "very\n"
       "sketch keeps the kernel, whether it is K-satisfiable, and the bound on the excess risk (docs/maps.md); --holdout, "
       "--split\n"
       "and --missing as they were given to fit.\n\n"
       "  mercer info wind.mercer\n  mercer info sketched.mercer train.csv\n  mercer info --system\n\n"
       "--json prints the summary of the fit (see fit) with seed, input_names, targets, classes, uncertainty, diagnosis{n,\n"
       "source (kept rows, sample at the fit, data), sampled (rows of the spectrum), eigenvalues (of K/n), trace, missed\n"
       "(share of it beyond those), statistical_dimension, statistical_dimension_at_most, critical_radius_squared,\n"
       "critical_radius_squared_at_least, sketch{mean_error, largest_error, isometry, constant, k_satisfiable, "
       "confidence,\n"
       "risk_bound{approximation, penalty, complexity, confidence, total} or null} or null} or null; for a learned "
       "spectrum\n"
       "spectrum (per target: weight, weight_error, frequency, spread of each component), of a Gaussian process also "
       "noise,\n"
       "mean (per target: value at mean_at and slope), mean_at, coregionalisation, and, for a series,\n"
       "timeline{format, unit, first, last, step, months, ordered, repeats}; with --system:\n"
       "version, cpu, threads, memory_bytes, blas{library, kernels, note, config}, simd, warning.",
       std::vector<std::string>{"system", "confidence", "holdout", "split"} + reading + common, run_info},
      {"tune", "find the best kernel width, map, loss and penalty by cross-validation", "DATA...", 1, many,
       "Fits every configuration on all folds of the rows but one, scores it on that one, and prints the best as a command\n"
       "line. All penalties of a kernel and map share one factorisation, so a search costs folds x length factors x sizes\n"
       "fits: by default 15 of four fifths of the rows. --holdout validates on one part instead of folds. Rows ordered in\n"
       "time want --split time: folds are then blocks of neighbours.\n\n"
       "  mercer tune train.csv --target y\n"
       "  mercer tune train.csv --target y --length-factors 0.25,0.5,1,2,4 --sizes 300,1000 --results search.csv\n"
       "  mercer tune prices.csv --target y --loss huber --loss-parameters 0.5,1,2 --split time --holdout 0.2\n"
       "  mercer tune train.csv --target y --length-factors 0.1,10 --trials 8\n\n"
       "--json prints: metric, best{kernel, map, loss, penalty, score, spread}, command, computed, reused, notes,\n"
       "table[{...}] (as best; spread is the standard error over folds).",
       columns + fitting + reading + std::vector<std::string>{"holdout", "split"} + tuning + common, run_tune},
      {"plan", "how many features or how large a sketch, how much memory and time a fit will take", "DATA...", 1, many,
       "Measures the error of the random features on your own rows, sets the paper's (corrected) bounds beside it, and "
       "predicts\n"
       "memory and time of the fit from the speed of this machine. A sketch without a size gets advice, one with a size a "
       "verdict\n"
       "(docs/maps.md: How large a sketch?). Without --target every column counts as an input.\n\n"
       "  mercer plan train.csv --target y --kernel 'gaussian(median)' --error 0.05 --confidence 0.95\n"
       "  mercer plan train.csv --target y --map p-sr\n"
       "  mercer plan train.csv --target y --map p-sr:200,p=10/n\n\n"
       "--json prints: n, kernel, loss, diameter, error, confidence, advised_frequencies, guaranteed_frequencies, "
       "no_guarantee,\n"
       "flops_per_second, table[{frequencies, features, typical_error, largest_error, guaranteed_error, memory_bytes, "
       "seconds}];\n"
       "for a scalar kernel sampled (rows of the spectrum), eigenvalues (of K/n), trace, missed (share of it beyond "
       "those),\n"
       "statistical_dimension, statistical_dimension_at_most, critical_radius_squared, critical_radius_squared_at_least.\n"
       "For a sketch: n, kernel, loss, law, error, confidence, those of a scalar kernel,\n"
       "advised_map, advised, satisfiable, judged, table[{size, p, anchors, features, mean_error, largest_error, isometry,\n"
       "constant, k_satisfiable, memory_bytes, seconds}] (the three before it are such rows or null), theorem{p, size,\n"
       "constant} or null, risk_bound{approximation, penalty, complexity, confidence, total} or null.",
       std::vector<std::string>{"error", "confidence"} + columns + fitting + reading + common, run_plan},
      {"accumulate", "sum up a shard of the rows, to be merged and solved later", "DATA...", 1, many,
       "Statistics of a shard are all that ridge needs of its rows. Every shard after the first takes the recipe of the "
       "first:\n\n"
       "  mercer accumulate part1.csv --target y -o 1.stats\n"
       "  mercer accumulate part2.csv --like 1.stats -o 2.stats       # on any machine, in any order\n"
       "  mercer merge 1.stats 2.stats -o all.stats\n"
       "  mercer solve all.stats -o model.mercer\n\n"
       "--json prints: n, features, statistics.",
       columns + std::vector<std::string>{"kernel", "map", "precision", "no-standardize", "no-intercept"} + reading +
           std::vector<std::string>{"like", "output"} + common,
       run_accumulate},
      {"merge", "add up statistics of several shards", "STATS...", 1, many,
       "Order does not matter; a shard that is in twice is refused.\n\n  mercer merge 1.stats 2.stats -o all.stats\n\n"
       "--json prints: n, files, statistics.",
       std::vector<std::string>{"output"} + common, run_merge},
      {"solve", "turn statistics into a model", "STATS", 1, 1,
       "Without rows there is no leave-one-out: --penalty auto takes the least generalised cross-validation error.\n\n"
       "  mercer solve all.stats --penalty 1e-6 -o model.mercer\n\n--json prints the summary of fit.",
       std::vector<std::string>{"penalty", "solver", "uncertainty", "output"} + common, run_solve},
      {"demo", "a first look: learn a curl-free field from built-in data and draw it", "", 0, 0,
       "  mercer demo -o folder\n\n--json prints: folder, models[{kernel, rmse, r2}].",
       std::vector<std::string>{"output"} + common, run_demo},
      {"reproduce", "the tables and figures of the papers, one command each", "EXPERIMENT...", 1, many,
       "Experiments: orff-fig1 … orff-fig6, orff-table3, fields; psketch-fig1 … psketch-fig4, psketch-table1, "
       "psketch-table2,\n"
       "psketch-table6; sm-fig1, sm-fig2, sm-series; conformal. Each writes FOLDER/<name>.csv, .svg and .md (-o FOLDER,\n"
       "default docs/reproduction) and prints a table. --quick runs a slice of seconds. orff-fig2, orff-fig3, fields,\n"
       "sm-series, conformal and the psketch tables read real data.\n\n"
       "  mercer reproduce orff-fig1 orff-fig6\n  mercer reproduce fields --data ../shared/data -o results\n\n"
       "--json prints: experiments[{name, quick, headline{...}, files, seconds}].",
       std::vector<std::string>{"quick", "data", "output", "seed", "threads", "json", "quiet"}, run_reproduce},
      {"bench", "how fast this machine is, and how close the fit comes to it", "[JOB]", 0, 1,
       "Jobs: machine, canonical (default: 32 inputs, 2000 frequencies, one output), outputs16, scalar_2d, curl_free,\n"
       "divergence_free, scalar_3d, curl_free_3d, divergence_free_3d, predict. `make bench` runs them beside "
       "scikit-learn.\n\n"
       "  mercer bench canonical --precision float32\n\n"
       "--json prints: job, machine{cpu, threads, blas_kernels, simd, int8, bf16, peak_f32, peak_f64, gram_int8, "
       "gram_bf16,\n"
       "cos_sin_f32, cos_sin_f64}, result{rows, inputs, outputs, kernel, features, seconds, flops, stages, precision, "
       "solver,\n"
       "gram, residual, iterations, bound_seconds, peak_memory_bytes; of predict one_row_seconds instead of how the fit "
       "went}.",
       std::vector<std::string>{"rows", "precision"} + common, run_bench},
  };
  return table;
}

}  // namespace mercer::cli
