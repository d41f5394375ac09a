#include "arguments.hpp"

namespace mercer::cli {

const std::vector<OptionSpec>& option_table() {
  static const std::vector<OptionSpec> table = {
      {"--target", "COLUMNS", "", "what to learn: names, 0-based numbers, ranges 3-7, last:8 (svmlight: the label)"},
      {"--inputs", "COLUMNS", "", "what to learn from; default: every column that is neither target nor weight"},
      {"--weights", "COLUMN", "", "row weights, not negative; weight 2 is the same as giving the row twice"},
      {"--kernel", "K", "gaussian(median)",
       "gaussian, matern, laplacian, cauchy, rational_quadratic, spectral_mixture, linear, polynomial, their sums and "
       "products; "
       "decomposable(k, A), curl_free(k), divergence_free(k), helmholtz(k, share). See docs/kernels.md"},
      {"--map", "MAP", "auto",
       "fourier:D[,mc|orthogonal|qmc] (D random frequencies), exact, or a sketch of the Gram matrix: p-sr:S[,p=20/n], "
       "p-sg:S, nystrom:S[,leverage|,rpcholesky], accumulation:S[,m=20], gaussian-sketch:S, countsketch:S, srht:S. See "
       "docs/maps.md. auto: exact up to 1000 rows (1500 numbers of a vector field), else fourier:1000; with a loss other "
       "than square "
       "and at most 3000 rows nystrom:300, which is then ten times as fast. gram: exact unless given"},
      {"--loss", "LOSS", "square",
       "square, huber:K, epsilon:E, epsilon2:E (each of the outputs together, or ,coordinates), pinball:LEVELS, "
       "expectile:LEVELS; for classes: square (simplex coding), hinge, squared_hinge, logistic, multinomial. See "
       "docs/losses.md"},
      {"--quantiles", "LEVELS", "", "fit these quantiles of one target together, e.g. 0.1,0.5,0.9 (loss pinball)"},
      {"--non-crossing", "", "", "quantiles in order at every training row, as a hard constraint"},
      {"--grid", "FILE", "", "with --non-crossing: a table of further inputs at which the quantiles must be in order"},
      {"--gp", "PROCESS", "",
       "learn a Gaussian process: spectral_mixture[:Q][,student|laplace] (a spectrum of Q components by random points, "
       "their "
       "number by --map fourier:300[,mc|antithetic|qmc]), exact (the parameters of --kernel by exact likelihood), vfe[:M] "
       "(with M inducing inputs). exact and vfe also take --kernel spectral_mixture:Q. See docs/processes.md"},
      {"--mean", "FORM", "auto",
       "gp: the mean function: none, constant, linear; auto: constant, or for the spectrum of a series whichever of "
       "constant "
       "and linear forecasts its last fifth better"},
      {"--optimizer", "NAME", "auto",
       "gp: adam (new points at every step), lbfgs (the same points; exact and vfe); auto: adam for spectral_mixture"},
      {"--steps", "N", "auto", "gp: steps of training; auto: 300 of adam, 200 of lbfgs"},
      {"--rate", "R", "0.05", "gp: step size of adam at first; it halves for every quarter of the steps"},
      {"--draws", "K", "1", "gp: sets of spectral points per step"},
      {"--posterior-draws", "K", "8", "gp: sets of spectral points that predictions average over"},
      {"--parametrization", "P", "general", "gp: of the components: general (mean, scale) or natural"},
      {"--allocation", "RULE", "softmax", "gp: of spectral points to components: softmax, optimal, uniform"},
      {"--outputs", "HOW", "independent",
       "gp: several targets have kernels and noises of their own (independent) or one for all (shared; spectra are then "
       "coupled by a learned matrix)"},
      {"--restarts", "N", "1", "gp: trainings from different starts, of which the best is kept"},
      {"--validation", "SHARE", "0", "gp: watch the last share of the rows and stop training when they get worse"},
      {"--trace", "FILE", "", "gp: a CSV of the training: [output,] iteration, seconds, nlml, objective, rmse, mnll"},
      {"--samples", "N", "", "predict: also N functions drawn from the posterior of a Gaussian process, <target>_sample<k>"},
      {"--penalty", "auto|VALUE", "auto",
       "the weight of the ridge; auto: least leave-one-out error (square loss), or least loss on a fifth of the rows held "
       "out"},
      {"--solver", "NAME", "auto",
       "auto, eigen, cholesky, refined (low-precision Gram, full answer), cg (matrix-free), sgd (averaged, for streams); "
       "any "
       "loss: admm (to a certified duality gap), adam, sgd"},
      {"--precision", "P", "auto",
       "auto (float64 answers, by coarser Gram matrices and refinement where that is faster), float64 (nothing else), or "
       "float32 for speed at about 1e-5 relative accuracy"},
      {"--uncertainty", "U", "auto",
       "what to keep for predict --std: full (exact), samples (64 draws), none; auto: full up to 4096 unknowns (2048 where "
       "outputs have different gains), of the coarse Gram matrix where the fit is refined"},
      {"--tolerance", "T", "auto", "admm stops at this relative duality gap (1e-4), cg at this relative residual (1e-10)"},
      {"--passes", "N", "20", "sgd, adam: passes over the rows"},
      {"--no-standardize", "", "", "use inputs and targets as they are"},
      {"--no-intercept", "", "", "no constant term"},
      {"--missing", "HOW", "error",
       "empty, ?, NA, N/A, null or NaN cells: error, mean (of the training column) or drop (the row)"},
      {"--one-hot", "", "", "turn text columns into 0/1 inputs, one per category"},
      {"--classify", "", "", "the target is a class label even if it is a number"},
      {"--dates", "auto|none|COLUMNS", "auto",
       "inputs that hold dates, read as days: auto (text such as 2024-02-29 or 2024-02-29T13:45, numbers that are all "
       "YYYYMMDD, or YYYYMM in ascending order), none, or these columns"},
      {"--format", "F", "", "csv, tsv, arff, svmlight, npy, idx, hdf5; default: by name and content"},
      {"--header", "H", "auto", "does a CSV begin with column names: auto, yes, no"},
      {"--holdout", "FRACTION", "", "keep this share of the rows out of the fit and score the model on them"},
      {"--split", "HOW", "random",
       "which rows are kept out: random ones (by --seed), or, for rows ordered in time, the last (folds of --tune: blocks "
       "of "
       "neighbours): time"},
      {"--conformal", "LEVEL", "",
       "intervals that hold a new row with at least this probability, e.g. 0.9, calibrated on a fifth of the rows, which "
       "the "
       "fit does not see"},
      {"--tune", "", "",
       "search kernel, map, loss and penalty by cross-validation first, as mercer tune does, then fit the best"},
      {"--folds", "K", "5", "tune: parts of the rows that are validated on in turn"},
      {"--metric", "M", "auto",
       "tune: rmse, mae, loss, pinball, accuracy, arrmse (mean over outputs of the RMSE relative to the mean as "
       "prediction); "
       "auto: by the loss"},
      {"--length-factors", "LIST", "0.5,1,2", "tune: factors of the kernel's length scales"},
      {"--penalties", "LIST", "auto",
       "tune: penalties to try; auto: the one of --penalty, else 10 to 1e-10 in half decades (square loss) or 1 to 1e-9 in "
       "decades"},
      {"--loss-parameters", "LIST", "", "tune: parameters of huber, epsilon or epsilon2 to try"},
      {"--sizes", "LIST", "", "tune: numbers of frequencies, or sizes of the sketch, to try"},
      {"--trials", "N", "", "tune: this many random draws between the ends of those lists instead of all combinations"},
      {"--results", "FILE", "", "tune: a CSV of every configuration; a search that was stopped goes on from it"},
      {"--like", "FILE", "", "use the recipe (columns, scaling, kernel, map, seed) of this model or statistics file"},
      {"--std", "", "", "also write the standard deviation of a new observation, <target>_std"},
      {"--latent", "", "", "with --std: of the function alone, without the noise of an observation"},
      {"--horizon", "N", "",
       "predict: the next N steps after the last training row, without a data file; plot: the forecast goes so far"},
      {"--plot", "FILE", "", "predict: also draw the forecast, an SVG; without -o the picture is all that is written"},
      {"--what", "PICTURE", "forecast",
       "plot: forecast (with bands), spectrum (learned and empirical) or training (traces)"},
      {"--rolling", "STEPS[,ORIGINS]", "",
       "score: refit the model on the rows before each of ORIGINS (default 5) late rows and score the next STEPS rows"},
      {"--error", "E", "0.1",
       "plan: kernel error to reach, relative to the norm of K(x, x); for a sketch, in the mean over rows"},
      {"--confidence", "P", "0.95", "plan, info: with at least this probability"},
      {"--system", "", "", "info: the machine and the linear algebra underneath"},
      {"--rows", "N", "100000", "bench: number of rows"},
      {"--quick", "", "", "reproduce: a slice of a minute or so instead of the full experiment"},
      {"--data", "FOLDER", "", "where the real data sets are; default: $MERCER_DATA, else ../shared/data"},
      {"--output", "FILE", "", "where to write the result (-o for short)"},
      {"--seed", "N", "0", "random draws are a pure function of this"},
      {"--threads", "N", "0", "threads to use; 0: one per core. Results do not depend on it"},
      {"--memory", "BYTES", "4GB",
       "budget for matrices and kept rows, e.g. 500MB; the program and blocks of rows take some 100MB beside"},
      {"--json", "", "", "one JSON object on standard output"},
      {"--quiet", "", "", "say nothing but errors"},
  };
  return table;
}

}  // namespace mercer::cli
