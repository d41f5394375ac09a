"""Every loss, alone and with coupled outputs, under every kind of map: the fit is certified to 1e-4 and agrees with an
interior-point solver (Clarabel) that is given the same problem as a cone program."""

import clarabel
import numpy as np
import pytest
from scipy import sparse

N = 60
PENALTY = 1e-3
KERNEL = "gaussian(1)"
COUPLING = np.array([[2, 0.5, 0], [0.5, 1, 0.3], [0, 0.3, 0.7]])
LEVELS = [0.1, 0.5, 0.8]
MAPS = ["p-sr:25,p=0.2", "nystrom:20", "fourier:25", "exact"]

# The target and the loss of a fit with one output, and with three that a matrix couples (levels: by their own kernel).
CASES = {
    "square": ("y0", "square", "y0,y1,y2", "square"),
    "huber": ("y0", "huber:0.4", "y0,y1,y2", "huber:0.4"),
    "huber by coordinate": ("y0", "huber:0.4,coordinates", "y0,y1,y2", "huber:0.4,coordinates"),
    "epsilon": ("y0", "epsilon:0.2", "y0,y1,y2", "epsilon:0.2"),
    "epsilon by coordinate": ("y0", "epsilon:0.2,coordinates", "y0,y1,y2", "epsilon:0.2,coordinates"),
    "epsilon squared": ("y0", "epsilon2:0.2", "y0,y1,y2", "epsilon2:0.2"),
    "epsilon squared by coordinate": ("y0", "epsilon2:0.2,coordinates", "y0,y1,y2", "epsilon2:0.2,coordinates"),
    "pinball": ("y0", "pinball:0.7", "y0", "pinball:0.1,0.5,0.8"),
    "pinball of targets": ("y1", "pinball:0.2", "y0,y1,y2", "pinball:0.3"),
    "expectile": ("y0", "expectile:0.7", "y0", "expectile:0.1,0.5,0.8"),
    "hinge": ("two", "hinge", "three", "hinge"),
    "squared hinge": ("two", "squared_hinge", "three", "squared_hinge"),
    "logistic": ("two", "logistic", "three", "logistic"),
    "multinomial": ("two", "multinomial", "three", "multinomial"),
}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    random = np.random.default_rng(12)
    x = random.uniform(-2, 2, (N, 2))
    y = np.c_[np.sin(2 * x[:, 0]), x[:, 0] * x[:, 1], np.cos(x[:, 1])] + 0.3 * random.standard_t(3, (N, 3))
    three = y.argmax(1)
    folder = tmp_path_factory.mktemp("certificates")
    rows = [",".join(map(repr, map(float, r))) + f",{'no' if r[2] < 0 else 'yes'},{'abc'[k]}" for r, k in zip(np.c_[x, y], three)]
    (folder / "t.csv").write_text("a,b,y0,y1,y2,two,three\n" + "\n".join(rows) + "\n")
    np.savetxt(folder / "x.csv", x, delimiter=",", header="a,b", comments="", fmt="%.17g")
    return folder, {"y0": y[:, :1], "y1": y[:, 1:2], "y0,y1,y2": y, "two": (y[:, 0] >= 0).astype(int), "three": three}


class ConeProgram:
    """min ½xᵀPx + qᵀx over x = (w, c, …): parts of the objective and cones are added one by one; θ = w is penalised."""

    def __init__(self, design, weights):
        self.design = design  # predictions, row after row, output after output, from (w, c)
        self.size = design.shape[1]
        self.p = [sparse.diags(np.r_[np.full(weights, PENALTY), np.zeros(self.size - weights)])]
        self.q = [np.zeros(self.size)]
        self.rows, self.cones = [], []  # each: matrices by block of variables, and b

    def variables(self, count, quadratic=0.0, linear=0.0):
        """New variables with their part of the objective; returns the number of their block."""
        self.p.append(sparse.diags(np.full(count, float(quadratic))))
        self.q.append(np.full(count, float(linear)))
        return len(self.q) - 1

    def add(self, cones, b, blocks):
        """b - Σ A_k x_k in the cones."""
        self.cones += cones
        self.rows.append((blocks, b))

    def optimum(self):
        sizes = [len(q) for q in self.q]
        grid = [[blocks.get(k, sparse.csc_matrix((len(b), sizes[k]))) for k in range(len(sizes))] for blocks, b in self.rows]
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-9
        a = sparse.csc_matrix(sparse.bmat(grid))
        p = sparse.csc_matrix(sparse.block_diag(self.p))
        solution = clarabel.DefaultSolver(p, np.concatenate(self.q), a, np.concatenate([b for _, b in self.rows]), self.cones,
                                          settings).solve()  # fmt: skip
        assert "Solved" in str(solution.status), solution.status
        return solution.obj_val


def signed(codes, outputs):
    return np.where(codes == 1, 1.0, -1.0)[:, None] if outputs == 1 else np.where(np.arange(outputs) == codes[:, None], 1.0, -1.0)


def exponential_rows(program, index, exponents, offsets):
    """For each i: Σ_j exp(exponents_ij + offsets_ij - t_i) ≤ 1, so that t_i is at least their log-sum-exp."""
    count, terms = len(index), exponents.shape[0] // len(index)
    t = program.variables(count, linear=1 / N)
    u = program.variables(count * terms)
    each = sparse.kron(sparse.eye(count), np.ones((terms, 1)))
    # (exponent - t, 1, u) in the exponential cone, interleaved three by three.
    place = lambda k: sparse.kron(sparse.eye(count * terms), np.eye(3)[:, k : k + 1])  # noqa: E731
    b = (place(0) @ offsets) + place(1) @ np.ones(count * terms)
    program.add([clarabel.ExponentialConeT()] * (count * terms), b,
                {0: -place(0) @ exponents, t: place(0) @ each, u: -place(2)})  # fmt: skip
    program.add([clarabel.NonnegativeConeT(count)], np.ones(count), {u: each.T})


def optimum(loss, k, coupling, y):
    """Of (1/n) Σ ℓ + λ/2 ‖θ‖² with an unpenalised intercept, for the Gram matrix k and the outputs' matrix."""
    values, vectors = np.linalg.eigh(k)
    kept = values > 1e-12 * values[-1]
    phi = vectors[:, kept] * np.sqrt(values[kept])
    outputs = len(coupling)
    design = np.hstack([np.kron(phi, np.linalg.cholesky(coupling)), np.kron(np.ones((N, 1)), np.eye(outputs))])
    program = ConeProgram(sparse.csc_matrix(design), phi.shape[1] * outputs)
    f, eye = program.design, sparse.eye(N * outputs)
    name, _, parameters = loss.partition(":")
    parts = parameters.split(",")
    if name in ("hinge", "squared_hinge", "logistic"):
        sign = sparse.diags(signed(y, outputs).ravel())
        if name == "logistic":  # log(exp 0 + exp(-s f)) of every output
            none = sparse.csc_matrix((N * outputs, f.shape[1]))
            pairs = sparse.csc_matrix(sparse.vstack([none, -sign @ f]))[np.arange(2 * N * outputs).reshape(2, -1).T.ravel()]
            exponential_rows(program, np.arange(N * outputs), pairs, np.zeros(2 * N * outputs))
            return program.optimum()
        t = program.variables(N * outputs, **({"linear": 1 / N} if name == "hinge" else {"quadratic": 1 / N}))
        program.add([clarabel.NonnegativeConeT(N * outputs)], -np.ones(N * outputs), {0: -sign @ f, t: -eye})
        program.add([clarabel.NonnegativeConeT(N * outputs)], np.zeros(N * outputs), {t: -eye})
        return program.optimum()
    if name == "multinomial":  # log Σ_k exp(f_k - f_class)
        right = sparse.csc_matrix(np.kron(np.arange(N) * outputs + y, np.ones(outputs)).astype(int)[:, None] == np.arange(N * outputs))
        exponential_rows(program, np.arange(N), f - right @ f, np.zeros(N * outputs))
        return program.optimum()
    target = np.repeat(y, outputs, 1).ravel() if y.shape[1] < outputs else y.ravel()
    count = N * outputs
    if name in ("pinball", "expectile"):  # y - f = over - under, both not below 0
        levels = np.tile(np.array(parts, float) * np.ones(outputs), N)
        linear = name == "pinball"
        over, under = program.variables(count), program.variables(count)
        for block, weight in ((over, levels), (under, 1 - levels)):
            program.q[block] = weight / N if linear else np.zeros(count)
            program.p[block] = sparse.diags(np.zeros(count) if linear else 2 * weight / N)
            program.add([clarabel.NonnegativeConeT(count)], np.zeros(count), {block: -eye})
        program.add([clarabel.ZeroConeT(count)], target, {0: f, over: eye, under: -eye})
        return program.optimum()
    group = 1 if parts[-1] == "coordinates" else outputs  # entries under one norm
    groups = count // group
    first = sparse.csc_matrix(np.eye(1 + group)[:, :1])  # (size, vector) of a second-order cone, interleaved
    rest = sparse.csc_matrix(np.eye(1 + group)[:, 1:])
    heads, tails = sparse.kron(sparse.eye(groups), first), sparse.kron(sparse.eye(groups), rest)
    cones = [clarabel.SecondOrderConeT(1 + group)] * groups
    if name in ("epsilon", "epsilon2"):  # ‖f - y‖ ≤ t + ε, t ≥ 0
        t = program.variables(groups, **({"linear": 1 / N} if name == "epsilon" else {"quadratic": 1 / N}))
        program.add(cones, heads @ np.full(groups, float(parts[0])) - tails @ target, {0: -tails @ f, t: -heads})
        program.add([clarabel.NonnegativeConeT(groups)], np.zeros(groups), {t: -sparse.eye(groups)})
        return program.optimum()
    # square: ½‖r‖². huber: ½‖r‖² + κ‖v‖ with f - y = r + v.
    r = program.variables(count, quadratic=1 / N)
    residual = {0: f, r: -eye}
    if name == "huber":
        v, t = program.variables(count), program.variables(groups, linear=float(parts[0]) / N)
        program.add(cones, np.zeros(groups * (1 + group)), {v: -tails, t: -heads})
        residual[v] = -eye
    program.add([clarabel.ZeroConeT(count)], target, residual)
    return program.optimum()


def test_the_oracle_knows_ridge():
    """Against the closed form, so that a slip in the cone programs is not blamed on the fits."""
    random = np.random.default_rng(0)
    b = random.normal(size=(N, 6))
    y = random.normal(size=(N, 3))
    k = b @ b.T
    root = np.linalg.cholesky(COUPLING)
    phi = np.kron(b, root) - np.kron(np.ones((N, 1)) * b.mean(0), root)
    centred = (y - y.mean(0)).ravel()
    w = np.linalg.solve(phi.T @ phi / N + PENALTY * np.eye(18), phi.T @ centred / N)
    closed = ((centred - phi @ w) ** 2).sum() / (2 * N) + PENALTY / 2 * w @ w
    assert optimum("square", k, COUPLING, y) == pytest.approx(closed, rel=1e-6)


@pytest.mark.parametrize("chart", MAPS)
@pytest.mark.parametrize("coupled", [False, True], ids=["alone", "coupled"])
def test_certified_and_optimal(run, table, chart, coupled):
    folder, targets = table
    run("gram", folder / "x.csv", "--kernel", KERNEL, "--map", chart, "-o", folder / "K.npy")
    k = np.load(folder / "K.npy")
    failed = []
    for case, (one, loss_of_one, several, loss_of_several) in CASES.items():
        target, loss = (several, loss_of_several) if coupled else (one, loss_of_one)
        levels = coupled and target == "y0"
        outputs = 3 if coupled else 2 if loss == "multinomial" else 1
        matrix = COUPLING if coupled else np.eye(outputs)
        if levels:
            matrix = np.exp(-(np.subtract.outer(LEVELS, LEVELS) ** 2))
        kernel = f"decomposable({KERNEL}, {COUPLING.tolist()})" if coupled and not levels else KERNEL
        fit = run("fit", folder / "t.csv", "--target", target, "--inputs", "a,b", "--kernel", kernel, "--map", chart, "--loss", loss,
                  "--penalty", PENALTY, "--no-standardize", "--solver", "admm", "--json").json  # fmt: skip
        best = optimum(loss, (k + k.T) / 2, matrix, targets[target])
        objective, gap = fit["objective"], fit["gap"]
        assert fit["outputs"] == outputs, case
        good = fit["status"] == "ok" and gap <= 1e-4 and abs(objective / best - 1) <= 1e-4
        true_bound = objective * (1 - gap) <= best * (1 + 1e-6) <= objective * (1 + 2e-6)
        if not (good and true_bound):
            failed.append(f"{case}: objective {objective}, optimum {best}, gap {gap}, {fit['status']} {fit['notes']}")
    assert not failed, "\n".join(failed)
