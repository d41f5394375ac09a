"""The same rows through every format give the same model."""

import gzip
import struct

import h5py
import numpy as np
import pytest
from conftest import write_csv

NAMES = ["a", "b", "c", "y"]
HOW = ["--map", "fourier:10", "--penalty", "1e-3"]


@pytest.fixture
def expected(run, smooth, tmp_path):
    """Predictions of the model fitted to train.csv on inputs.csv."""
    _, test = smooth
    write_csv(tmp_path / "inputs.csv", NAMES[:3], test.x.T)
    run("fit", "train.csv", "--target", "y", *HOW, "-o", "csv.mercer")
    return run("predict", "csv.mercer", "inputs.csv").out.splitlines()[1:]


def fitted(run, *source, stdin=None):
    run("fit", *source, *HOW, "-o", "m.mercer", stdin=stdin)
    np_inputs = run("predict", "m.mercer", "inputs.npy").out
    return np_inputs.splitlines()[1:]


@pytest.fixture
def table(smooth, tmp_path):
    train, test = smooth
    np.save(tmp_path / "inputs.npy", test.x)
    return np.column_stack([train.x, train.y])


def test_gzip(run, expected, table, tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress((tmp_path / "train.csv").read_bytes()))
    assert fitted(run, "t.csv.gz", "--target", "y") == expected


def test_standard_input(run, expected, table, tmp_path):
    text = (tmp_path / "train.csv").read_bytes()
    assert fitted(run, "-", "--target", "y", stdin=text) == expected
    assert fitted(run, "-", "--target", "y", stdin=gzip.compress(text)) == expected
    assert run("predict", "csv.mercer", "-", stdin=(tmp_path / "inputs.csv").read_bytes()).out.splitlines()[1:] == expected


@pytest.mark.parametrize("name, delimiter", [("t.tsv", "\t"), ("t.csv", ";"), ("t.txt", ",")])
def test_delimiters(run, expected, table, tmp_path, name, delimiter):
    (tmp_path / name).write_text((tmp_path / "train.csv").read_text().replace(",", delimiter))
    assert fitted(run, name, "--target", "y") == expected


def test_odd_but_honest_csv(run, expected, table, tmp_path):
    """Byte-order mark, CRLF, quotes, blanks, comments, no newline at the end."""
    lines = (tmp_path / "train.csv").read_text().splitlines()
    lines[0] = '"a", b ,"c","y"'
    lines.insert(5, "# a remark")
    lines.insert(9, "")
    lines[3] = ",".join(f' "{cell}"' for cell in lines[3].split(","))
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    assert fitted(run, "t.csv", "--target", "y") == expected


def test_csv_without_names(run, expected, table, tmp_path):
    (tmp_path / "t.csv").write_text("\n".join((tmp_path / "train.csv").read_text().splitlines()[1:]))
    assert fitted(run, "t.csv", "--target", "3") == expected
    assert fitted(run, "t.csv", "--target", "last:1", "--header", "no") == expected


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", ["<f8", ">f8"])
def test_npy(run, expected, table, tmp_path, order, kind):
    np.save(tmp_path / "t.npy", np.asarray(table, dtype=kind, order=order))
    assert fitted(run, "t.npy", "--target", "3") == expected


def test_hdf5(run, expected, table, tmp_path):
    with h5py.File(tmp_path / "t.h5", "w") as file:
        file["group/rows"] = table
    assert fitted(run, "t.h5", "--target", "last:1") == expected
    with h5py.File(tmp_path / "t.h5", "a") as file:
        file["other"] = np.zeros(3)
    assert fitted(run, "t.h5:/group/rows", "--target", "last:1") == expected


def test_arff(run, expected, table, tmp_path):
    rows = "\n".join((tmp_path / "train.csv").read_text().splitlines()[1:])
    header = "% made up\n@RELATION r\n" + "".join(f"@attribute {n} numeric\n" for n in NAMES)
    (tmp_path / "t.arff").write_text(header + "@data\n" + rows + "\n")
    assert fitted(run, "t.arff", "--target", "y") == expected


@pytest.mark.parametrize("first", [0, 1])
def test_svmlight(run, expected, table, tmp_path, first):
    lines = [f"{row[3]!r} " + " ".join(f"{j + first}:{row[j]!r}" for j in range(3)) for row in table.tolist()]
    (tmp_path / "t.svm").write_text("\n".join(lines) + "  # the end\n")
    assert fitted(run, "t.svm") == expected


def test_idx_with_labels_beside_it(run, tmp_path):
    """As MNIST comes: …images-idx3-ubyte.gz and …labels-idx1-ubyte.gz."""
    random = np.random.default_rng(6)
    labels = random.integers(0, 3, size=90).astype(np.uint8)
    images = (random.integers(0, 60, size=(90, 4, 5)) + 60 * labels[:, None, None]).astype(np.uint8)
    (tmp_path / "t-images-idx3-ubyte.gz").write_bytes(
        gzip.compress(b"\0\0\x08\x03" + struct.pack(">3I", *images.shape) + images.tobytes())
    )
    (tmp_path / "t-labels-idx1-ubyte").write_bytes(b"\0\0\x08\x01" + struct.pack(">I", 90) + labels.tobytes())
    fit = ["--target", "label", "--classify", "--map", "fourier:20"]
    run("fit", "t-images-idx3-ubyte.gz", *fit, "-o", "m.mercer")
    j = run("score", "m.mercer", "t-images-idx3-ubyte.gz", "--json").json
    assert j["n"] == 90 and j["classes"] == ["0", "1", "2"] and j["accuracy"] > 0.9
    write_csv(tmp_path / "t.csv", [*(f"x{i}" for i in range(20)), "label"], [*images.reshape(90, 20).T, labels])
    run("fit", "t.csv", *fit, "-o", "csv.mercer")
    assert run("score", "csv.mercer", "t.csv", "--json").json["confusion"] == j["confusion"]
