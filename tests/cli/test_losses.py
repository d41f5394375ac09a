"""Losses through the program, against scikit-learn and against box-constrained duals solved by scipy, map by map."""
import json

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_softmax
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC, SVR

RAW = ["--no-standardize"]
PENALTY = 1e-2
MAPS = ["exact", "p-sr:25,p=0.2", "nystrom:20", "fourier:40"]
KERNEL = "gaussian(1)"


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(3)
    x = rng.uniform(-2, 2, (80, 2))
    y = np.sin(2 * x[:, 0]) + 0.5 * x[:, 1] + 0.3 * rng.standard_t(2, 80)
    label = np.where(y > 0.2, "up", "down")
    three = np.select([y < -0.5, y < 0.5], ["low", "mid"], "top")
    folder = tmp_path_factory.mktemp("losses")
    path = folder / "t.csv"
    with open(path, "w") as f:
        f.write("a,b,y,label,three\n")
        for row in zip(*x.T, y, label, three):
            f.write(",".join(map(str, row)) + "\n")
    np.savetxt(folder / "x.csv", x, delimiter=",", header="a,b", comments="", fmt="%.17g")
    return folder, path, x, y, label, three


def gram(run, folder, chart):
    """The Gram matrix that a map implies on the training rows: the problem is a function of it alone."""
    run("gram", folder / "x.csv", "--kernel", KERNEL, "--map", chart, "-o", folder / "K.npy")
    k = np.load(folder / "K.npy")
    return (k + k.T) / 2


def fit(run, path, target, loss, chart, *more):
    out = run("fit", path, "--target", target, "--inputs", "a,b", "--kernel", KERNEL, "--map", chart, "--loss", loss, "--penalty", PENALTY,
              "--tolerance", "1e-5", "--json", *RAW, *more)
    return json.loads(out.out)


def box_dual(k, y, lower, upper, conjugate):
    """min over f in the span of K of mean loss + λ/2 ‖f‖², by its dual -(1/n) Σ ℓ*(-a) - aᵀKa/(2λn²), a in a box."""
    n = len(y)

    def negative(a):
        value, slope = conjugate(-a)
        ka = k @ a
        return value.mean() + a @ ka / (2 * PENALTY * n * n), -slope / n + ka / (PENALTY * n * n)

    start = np.clip(np.zeros(n), lower, upper)
    found = minimize(negative, start, jac=True, method="L-BFGS-B", bounds=list(zip(np.broadcast_to(lower, n), np.broadcast_to(upper, n))),
                     options={"maxiter": 20000, "maxfun": 40000, "ftol": 1e-15, "gtol": 1e-12, "maxcor": 50})
    return -found.fun


def check(result, optimum):
    assert result["gap"] <= 1e-5 and result["status"] == "ok", result["notes"]
    assert result["objective"] == pytest.approx(optimum, rel=1e-4)
    assert result["objective"] >= optimum * (1 - 1e-6), "nobody is better than the optimum"
    assert result["objective"] * (1 - result["gap"]) <= optimum * (1 + 1e-6), "the gap is a true bound"


@pytest.mark.parametrize("chart", MAPS)
def test_pinball_epsilon_and_huber_against_their_duals(run, table, chart):
    folder, path, _, y, _, _ = table
    k = gram(run, folder, chart)
    # ℓ*(g) as a function of g = -a; its slope is with respect to g.
    pinball = box_dual(k, y, -0.3 + 0 * y, 0.7 + 0 * y, lambda g: (g * y, y))
    check(fit(run, path, "y", "pinball:0.7", chart, "--no-intercept"), pinball)
    # ε = 0 keeps the dual smooth; ε above 0 is compared with SVR below.
    check(fit(run, path, "y", "epsilon:0", chart, "--no-intercept"), box_dual(k, y, -1 + 0 * y, 1 + 0 * y, lambda g: (g * y, y)))
    check(fit(run, path, "y", "huber:0.4", chart, "--no-intercept"),
          box_dual(k, y, -0.4 + 0 * y, 0.4 + 0 * y, lambda g: (g * y + g * g / 2, y + g)))


@pytest.mark.parametrize("chart", MAPS)
def test_epsilon_with_intercept_against_svr(run, table, chart):
    folder, path, _, y, _, _ = table
    k = gram(run, folder, chart)
    n = len(y)
    svr = SVR(kernel="precomputed", C=1 / (n * PENALTY), epsilon=0.1, tol=1e-10, max_iter=-1).fit(k, y)
    alpha = np.zeros(n)
    alpha[svr.support_] = svr.dual_coef_[0]
    f = svr.predict(k)
    check(fit(run, path, "y", "epsilon:0.1", chart), np.maximum(0, abs(f - y) - 0.1).mean() + PENALTY / 2 * alpha @ k @ alpha)


@pytest.mark.parametrize("chart", MAPS)
def test_hinge_against_svc(run, table, chart):
    folder, path, _, y, label, _ = table
    k = gram(run, folder, chart)
    n = len(y)
    sign = np.where(label == "up", 1.0, -1.0)
    svc = SVC(kernel="precomputed", C=1 / (n * PENALTY), tol=1e-10).fit(k, sign)
    alpha = np.zeros(n)
    alpha[svc.support_] = svc.dual_coef_[0]
    f = svc.decision_function(k)
    result = fit(run, path, "label", "hinge", chart)
    check(result, np.maximum(0, 1 - sign * f).mean() + PENALTY / 2 * alpha @ k @ alpha)


@pytest.mark.parametrize("chart", MAPS)
def test_logistic_and_multinomial_against_scikit_learn(run, table, chart):
    folder, path, _, y, label, three = table
    k = gram(run, folder, chart)
    n = len(y)
    values, vectors = np.linalg.eigh(k)
    phi = vectors * np.sqrt(np.maximum(values, 0))
    for target, labels, loss in (("label", label, "logistic"), ("three", three, "multinomial")):
        model = LogisticRegression(C=1 / (n * PENALTY), tol=1e-10, max_iter=10000).fit(phi, labels)
        f = model.decision_function(phi)
        index = np.searchsorted(model.classes_, labels)
        if loss == "logistic":
            mean = -np.log(expit(np.where(index == 1, f, -f))).mean()
        else:
            mean = -log_softmax(f, axis=1)[np.arange(n), index].mean()
        check(fit(run, path, target, loss, chart), mean + PENALTY / 2 * (model.coef_**2).sum())


def test_probabilities_add_to_one_and_classes_agree(run, table, tmp_path):
    _, path, _, _, _, three = table
    run("fit", path, "--target", "three", "--inputs", "a,b", "--loss", "multinomial", "--map", "fourier:100", "--penalty", "1e-3", "-o", tmp_path / "m.mercer")
    run("predict", tmp_path / "m.mercer", path, "-o", tmp_path / "p.csv")
    rows = [line.split(",") for line in open(tmp_path / "p.csv").read().split()]
    assert rows[0] == ["three", "probability_low", "probability_mid", "probability_top"]
    probabilities = np.array([[float(c) for c in row[1:]] for row in rows[1:]])
    assert np.allclose(probabilities.sum(1), 1) and (probabilities >= 0).all()
    assert [row[0] for row in rows[1:]] == [["low", "mid", "top"][k] for k in probabilities.argmax(1)]
    assert np.mean([row[0] for row in rows[1:]] == three) > 0.6


def test_quantiles_are_written_scored_and_do_not_cross(run, table, tmp_path):
    _, path, _, y, _, _ = table
    levels = [0.1, 0.5, 0.9]
    common = ["fit", path, "--target", "y", "--inputs", "a,b", "--quantiles", "0.1,0.5,0.9", "--map", "p-sr:40", "--penalty", "1e-5"]
    free = json.loads(run(*common, "--json", "-o", tmp_path / "free.mercer").out)
    run(*common, "--non-crossing", "-o", tmp_path / "tied.mercer")
    assert free["loss"] == "pinball:0.1,0.5,0.9" and free["outputs"] == 3
    scores = {}
    for name in ("free", "tied"):
        run("predict", tmp_path / f"{name}.mercer", path, "-o", tmp_path / "q.csv")
        assert open(tmp_path / "q.csv").readline().strip() == "y_q0.1,y_q0.5,y_q0.9"
        q = np.loadtxt(tmp_path / "q.csv", delimiter=",", skiprows=1)
        s = json.loads(run("score", tmp_path / f"{name}.mercer", path, "--json").out)
        u = y[:, None] - q
        assert np.allclose(s["pinball"], np.maximum(u * levels, u * (np.array(levels) - 1)).mean(0))
        assert np.allclose(s["below"], (u <= 0).mean(0))
        assert s["inside"] == pytest.approx(((q[:, 0] <= y) & (y <= q[:, 2])).mean())
        assert s["crossed_share"] == pytest.approx((np.diff(q) < 0).mean())
        scores[name] = s
    assert scores["tied"]["crossed_share"] == 0
    assert sum(scores["tied"]["pinball"]) <= 1.02 * sum(scores["free"]["pinball"])


@pytest.mark.parametrize("map_text", ["p-sr:80", "fourier:40"])
def test_far_quantiles_in_order_take_hundreds_of_passes(run, tmp_path, map_text):
    rng = np.random.default_rng(6)
    x = rng.uniform(0, 1, 2000)
    y = np.sin(6 * x) + 0.3 * (0.02 + x) * rng.standard_t(3, 2000)
    np.savetxt(tmp_path / "train.csv", np.c_[x, y], delimiter=",", header="x,y", comments="")
    levels = "0.01,0.05,0.5,0.95,0.99"
    objective = {}
    for order in ([], ["--non-crossing"]):
        s = json.loads(run("fit", tmp_path / "train.csv", "--target", "y", "--quantiles", levels, *order, "--map", map_text, "--penalty", "1e-6", "--json",
                           "-o", tmp_path / "q.mercer").out)  # fmt: skip
        assert s["gap"] <= 1e-4 and s["iterations"] <= 1000
        objective[len(order)] = s["objective"]
    assert objective[0] * (1 - 1e-4) <= objective[1] <= 1.02 * objective[0]
    assert json.loads(run("score", tmp_path / "q.mercer", tmp_path / "train.csv", "--json").out)["crossed_share"] == 0


def test_huber_is_robust(run, tmp_path):
    rng = np.random.default_rng(5)
    x = rng.uniform(-3, 3, 400)
    clean = np.sin(x)
    y = clean + 0.1 * rng.standard_normal(400)
    y[rng.choice(400, 40, replace=False)] += 20
    np.savetxt(tmp_path / "train.csv", np.c_[x, y], delimiter=",", header="x,y", comments="")
    np.savetxt(tmp_path / "clean.csv", np.c_[x, clean], delimiter=",", header="x,y", comments="")
    errors = {}
    for loss in ("square", "huber:0.1"):
        run("fit", tmp_path / "train.csv", "--target", "y", "--loss", loss, "--map", "p-sr:50", "-o", tmp_path / "m.mercer")
        errors[loss] = json.loads(run("score", tmp_path / "m.mercer", tmp_path / "clean.csv", "--json").out)["rmse"][0]
    assert errors["huber:0.1"] < 0.25 * errors["square"]


@pytest.mark.parametrize("loss", ["huber", "epsilon:0.1", "pinball:0.5"])
def test_gross_outliers_do_not_set_the_unit(run, tmp_path, loss):
    rng = np.random.default_rng(6)
    x = rng.uniform(-3, 3, 60)
    y = np.sin(x) + 0.1 * rng.standard_normal(60)
    y[[5, 20, 41]] = 1e6
    np.savetxt(tmp_path / "t.csv", np.c_[x, y], delimiter=",", header="x,y", comments="", fmt="%.17g")
    run("fit", tmp_path / "t.csv", "--target", "y", "--loss", loss, "--map", "exact", "--penalty", "1e-3", "--tolerance", "1e-8", "-o", tmp_path / "m.mercer")
    run("predict", tmp_path / "m.mercer", tmp_path / "t.csv", "-o", tmp_path / "p.csv")
    f = np.loadtxt(tmp_path / "p.csv", skiprows=1)
    assert abs(f - np.sin(x)).mean() < 0.2


def test_like_says_the_loss(run, table, tmp_path):
    _, path, *_ = table
    run("fit", path, "--target", "y", "--inputs", "a,b", "--map", "fourier:10", "-o", tmp_path / "m.mercer")
    for more in (["--loss", "huber"], ["--quantiles", "0.5"]):
        result = run("fit", path, "--like", tmp_path / "m.mercer", *more, ok=False)
        assert result.code == 2 and "--like" in result.err


def test_adam_comes_near_the_certified_optimum(run, table):
    _, path, _, _, _, _ = table
    best = fit(run, path, "y", "huber:0.4", "fourier:40")
    adam = fit(run, path, "y", "huber:0.4", "fourier:40", "--solver", "adam", "--passes", "200")
    assert adam["gap"] is None and adam["solver"] == "adam"
    assert best["objective"] * (1 - 1e-5) <= adam["objective"] <= 1.05 * best["objective"]


@pytest.mark.parametrize("arguments, words", [
    (["--target", "y", "--loss", "hubber"], "did you mean"),
    (["--target", "y", "--loss", "huber:-1"], "huber"),
    (["--target", "y", "--loss", "logistic"], "tells classes apart"),
    (["--target", "y", "--quantiles", "0.5,0.1"], "0.1"),
    (["--target", "y", "--quantiles", "0.5,abc"], "not a number"),
    (["--target", "y", "--quantiles", "1.5"], "1.5"),
    (["--target", "y", "--quantiles", "0.5", "--non-crossing"], "several quantiles"),
    (["--target", "y,b", "--quantiles", "0.1,0.9"], "one target"),
    (["--target", "y", "--quantiles", "0.1,0.9", "--loss", "huber:1"], "pinball"),
    (["--target", "label", "--quantiles", "0.1,0.9"], "class"),
    (["--target", "y", "--loss", "huber", "--solver", "eigen"], "admm"),
    (["--target", "y", "--loss", "huber", "--penalty", "0"], "above 0"),
    (["--target", "y", "--loss", "huber", "--uncertainty", "full"], "square loss"),
])  # fmt: skip
def test_bad_losses(run, table, arguments, words):
    _, path, *_ = table
    result = run("fit", path, "--inputs", "a", *arguments, ok=False)
    assert result.code == 2 and words in result.err and result.err.count("\n") == 1, result.err


def test_quantiles_do_not_cross_on_a_chosen_grid(run, tmp_path):
    """Far from the rows, where unconstrained quantiles do cross."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, 60)
    y = np.sin(3 * x) + 0.3 * (1.2 + x) * rng.standard_normal(60)
    np.savetxt(tmp_path / "t.csv", np.c_[x, y], delimiter=",", header="x,y", comments="", fmt="%.17g")
    grid = np.linspace(-3, 3, 121)
    np.savetxt(tmp_path / "g.csv", grid[:, None], delimiter=",", header="x", comments="", fmt="%.17g")
    how = ["fit", "t.csv", "--target", "y", "--quantiles", "0.1,0.3,0.5,0.7,0.9", "--map", "exact", "--kernel", "gaussian(0.5)", "--penalty", "1e-6"]
    crossed = []
    for more in (["--non-crossing"], ["--non-crossing", "--grid", "g.csv"]):
        run(*how, *more, "-o", "q.mercer")
        run("predict", "q.mercer", "g.csv", "-o", "p.csv")
        q = np.loadtxt(tmp_path / "p.csv", delimiter=",", skiprows=1)
        crossed.append(np.maximum(0, q[:, :-1] - q[:, 1:]).max())
    assert crossed[0] > 1e-3
    assert crossed[1] <= 1e-9
    out = run(*how, "--grid", "g.csv", ok=False)
    assert out.code == 2 and "--non-crossing" in out.err
