"""Whatever is wrong with files, flags or numbers: exit code 2, one line that says what, where and how to mend, and no trace."""

import os
import time
from pathlib import Path

import h5py
import numpy as np
import pytest

FIT = ["--target", "y", "--map", "fourier:10"]

# Small tables, by name. Written afresh for every case.
TABLES = {
    "good.csv": "a,b,y\n" + "".join(f"{i},{i * i % 7},{i % 5}.5\n" for i in range(20)),
    "classes.csv": "a,b,kind\n" + "".join(f"{i},{i * i % 7},{['oak', 'elm'][i % 2]}\n" for i in range(20)),
    "colours.csv": "colour,a,y\nred,1,1\nblue,2,2\nred,3,1\nblue,5,3\n",
    "field.csv": "p,q,u,v\n" + "".join(f"{i},{i % 3},{i % 4},{i % 5}\n" for i in range(20)),
    "empty.csv": "",
    "blank.csv": "\n\n   \n",
    "header.csv": "a,b,y\n",
    "ragged.csv": "a,b,y\n1,2,3\n4,5\n6,7,8\n",
    "long_row.csv": "a,b,y\n1,2,3\n4,5,6,7\n",
    "text.csv": "a,b,y\n1,2,3\n4,five,6\n",
    "infinite.csv": "a,b,y\n1,2,3\n4,inf,6\n",
    "huge.csv": "a,b,y\n1,2,3\n4,1e999,6\n",
    "nan.csv": "a,b,y\n1,2,3\n4,NaN,6\n",
    "holes.csv": "a,b,y\n1,2,3\n4,,6\n",
    "target_hole.csv": "a,b,y\n1,2,3\n4,5,\n",
    "all_holes.csv": "a,b,y\n1,,3\n4,,6\n",
    "same_names.csv": "a,a,y\n1,2,3\n4,5,6\n",
    "quote.csv": 'a,b,y\n1,"2,3\n4,5,6\n',
    "negative.csv": "a,w,y\n1,1,3\n4,-2,6\n",
    "nan_weight.csv": "a,w,y\n1,1,3\n4,nan,6\n",
    "zero_weights.csv": "a,w,y\n1,0,3\n4,0,6\n",
    "least_weights.csv": "a,w,y\n" + "".join(f"{i},5e-324,{i % 3}\n" for i in range(20)),
    "outweighed.csv": "a,w,y\n" + "".join(f"{i},{1e308 if i == 3 else 1},{i % 3}\n" for i in range(20)),
    "too_large.csv": "a,b,y\n" + "".join(f"{i},{1e200 if i == 3 else i},{i % 3}\n" for i in range(20)),
    "too_large_gaps.csv": "a,b,y\n1,,3\n" + "".join(f"{i},{1e200 if i == 3 else i},{i % 3}\n" for i in range(20)),
    "too_far.csv": "a,b,y\n1,2,3\n1,2,1e200\n",
    "sumless.csv": "a,w,y\n" + "".join(f"{i},1e308,{i % 3}\n" for i in range(20)),
    "too_small.csv": "a,b,y\n" + "".join(f"{i},{i * i % 7},{i % 3}e-170\n" for i in range(20)),
    "one_class.csv": "a,b,kind\n1,2,oak\n3,4,oak\n",
    "two_labels.csv": "a,k,l\n1,x,y\n2,z,y\n",
    "one_row.csv": "a,b,y\n1,2,3\n",
    "inputs_only.csv": "a,b\n1,2\n",
    "lacks_b.csv": "a,y\n1,2\n",
    "near_b.csv": "alpha,beta,y\n1,2,3\n",
    "green.csv": "colour,a,y\ngreen,1,1\n",
    "new_class.csv": "a,b,kind\n1,2,pine\n",
    "unnamed.csv": "1\n2\n3\n",
    "edges_unknown.csv": "from,to\nu,v\nv,w\n",
    "edges_negative.csv": "u,v,-1\n",
    "edges_loop.csv": "u,u\n",
    "edges_short.csv": "u\n",
    "edges_none.csv": "from,to\n",
    "bad.arff": "@relation r\n@attribute a numeric\n@attribute y numeric\n@data\n1,2\nx,3\n",
    "no_data.arff": "@relation r\n@attribute a numeric\n",
    "backwards.svm": "1 3:1 2:1\n2 1:1\n",
    "not_pairs.svm": "1 a:b\n",
    "short.idx": b"\x00\x00\x08\x02\x00\x00\x00\x05\x00\x00\x00\x03\x01",
    "fake.npy": "this is no array",
    "cut.npy": b"\x93NUMPY\x01\x00\x76\x00{'descr': '<f8', 'fortran_order': False, 'shape': (4, 3), }" + b" " * 58 + b"\n" + b"\0" * 8,
    "fake.h5": "this is no HDF5 file",
    "cut.csv.gz": b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x4b\xd4",
    "binary.csv": b"a,b,y\n1,\x002,3\n",
}


def fit(*options, data="good.csv"):
    return ["fit", data, *FIT, "-o", "out.mercer", *options]


def gram(kernel, *options, data="good.csv"):
    return ["gram", data, "--kernel", kernel, "-o", "out.npy", *options]


def coupled(outputs):
    return ["fit", "field.csv", "--target", "u,v", "--map", "fourier:10", "-o", "out.mercer",
            "--kernel", f"decomposable(gaussian(1), {outputs})"]


# name: (arguments, fragments the line must have)
CASES = {
    # verbs, options, values
    "misspelt verb": (["predcit", "m", "x"], ["unknown verb 'predcit'", "did you mean 'predict'?", "score"]),
    "no verb but an option": (["--bogus"], ["unknown verb '--bogus'"]),
    "misspelt option": (fit("--penality", "1"), ["unknown option '--penality'", "did you mean '--penalty'?"]),
    "shortened option": (fit("--pen", "1"), ["unknown option '--pen'", "did you mean '--penalty'?"]),
    "option of another verb": (["merge", "a", "--kernel", "linear()"], ["unknown option '--kernel'", "mercer merge --help"]),
    "unknown letter": (fit("-x"), ["unknown option '-x'"]),
    "option without its value": (["fit", "good.csv", "--target"], ["--target needs a value", "COLUMNS"]),
    "-o without its value": (["fit", "good.csv", *FIT, "-o"], ["--output needs a value", "FILE"]),
    "no files": (["fit", *FIT], ["fit takes DATA", "no files were given"]),
    "a model without data": (["predict", "good.mercer"], ["predict takes MODEL DATA", "1 file was given"]),
    "two models for info": (["info", "good.mercer", "good.mercer"], ["good.mercer: not a text file"]),
    "three files for gram": (["gram", "good.csv", "good.csv", "good.csv", "-o", "out.npy"], ["gram takes X [Z]", "3 files"]),
    "info of nothing": (["info"], ["model file", "--system"]),
    # numbers
    "penalty is a word": (fit("--penalty", "small"), ["--penalty 'small'", "auto", "number"]),
    "penalty negative": (fit("--penalty", "-1"), ["penalty", "-1"]),
    "penalty nan": (fit("--penalty", "nan"), ["penalty", "nan"]),
    "penalty infinite": (fit("--penalty", "inf"), ["penalty", "inf"]),
    "penalty with a comma": (fit("--penalty", "0,1"), ["--penalty '0,1'"]),
    "seed negative": (fit("--seed", "-1"), ["--seed", "whole number", "'-1'"]),
    "seed a fraction": (fit("--seed", "1.5"), ["--seed", "whole number"]),
    "seed beyond 2^53": (fit("--seed", "1e17"), ["--seed", "whole number"]),
    "seed a word": (fit("--seed", "lucky"), ["--seed 'lucky'", "number"]),
    "threads negative": (fit("--threads", "-2"), ["--threads", "at least 0"]),
    "threads a word": (fit("--threads", "all"), ["--threads 'all'"]),
    "threads empty": (fit("--threads", ""), ["--threads ''"]),
    "memory too small": (fit("--memory", "10"), ["--memory '10'", "500MB"]),
    "memory a word": (fit("--memory", "lots"), ["--memory 'lots'", "2GB"]),
    "memory negative": (fit("--memory", "-1GB"), ["--memory '-1GB'"]),
    "passes zero": (fit("--passes", "0"), ["--passes", "at least 1"]),
    "passes a fraction": (fit("--passes", "2.5"), ["--passes", "whole number"]),
    "tolerance zero": (fit("--tolerance", "0"), ["tolerance", "between 0 and 1"]),
    "tolerance a word": (fit("--tolerance", "tight"), ["--tolerance 'tight'"]),
    "holdout above 1": (fit("--holdout", "1.5"), ["--holdout", "between 0 and 1", "1.5"]),
    "holdout zero": (fit("--holdout", "0"), ["--holdout", "between 0 and 1"]),
    "holdout a word": (fit("--holdout", "half"), ["--holdout 'half'"]),
    "holdout of one row": (fit("--holdout", "0.5", data="one_row.csv"), ["at least two rows"]),
    "split misspelt": (fit("--holdout", "0.5", "--split", "tim"), ["--split 'tim'", "did you mean 'time'?"]),
    "split without holdout": (fit("--split", "time"), ["--split", "--holdout"]),
    # choices
    "solver misspelt": (fit("--solver", "choleski"), ["'choleski'", "did you mean 'cholesky'?", "eigen"]),
    "solver with an exact map": (fit("--map", "exact", "--solver", "cg"), ["--solver cg", "exact"]),
    "precision unknown": (fit("--precision", "float16"), ["'float16'", "float32", "float64"]),
    "uncertainty misspelt": (fit("--uncertainty", "sample"), ["'sample'", "did you mean 'samples'?"]),
    "missing misspelt": (fit("--missing", "meen"), ["--missing 'meen'", "did you mean 'mean'?"]),
    "format misspelt": (fit("--format", "arf"), ["'arf'", "did you mean 'arff'?", "svmlight"]),
    "header neither yes nor no": (fit("--header", "perhaps"), ["'perhaps'", "auto"]),
    # maps
    "map misspelt": (fit("--map", "furier:10"), ["'furier:10'", "did you mean 'fourier'?"]),
    "no frequencies": (fit("--map", "fourier:0"), ["'fourier:0'", "whole number", "e.g. fourier:1000"]),
    "frequencies a fraction": (fit("--map", "fourier:1.5"), ["'fourier:1.5'", "whole number"]),
    "frequencies a word": (fit("--map", "fourier:many"), ["'fourier:many'", "whole number"]),
    "too many frequencies": (fit("--map", "fourier:1e9"), ["'fourier:1e9'", "4194304"]),
    "sampling misspelt": (fit("--map", "fourier:10,orthognal"), ["'orthognal'", "did you mean 'orthogonal'?"]),
    "orthogonal frequencies of a product law": (gram("laplacian(1)", "--map", "fourier:10,orthogonal"), ["orthogonal", "laplacian"]),
    "map with too many parts": (fit("--map", "fourier:10,mc,qmc"), ["too many parts"]),
    "exact beyond the memory": (["fit", "long.csv", "--target", "y", "--map", "exact", "--memory", "1MB"], ["exact", "budget", "--map fourier"]),
    # kernels
    "kernel misspelt": (fit("--kernel", "gausian(1)"), ["unknown kernel 'gausian'", "position 1", "did you mean 'gaussian'?"]),
    "kernel empty": (fit("--kernel", ""), ["kernel text is empty", "gaussian(median)"]),
    "kernel not closed": (gram("gaussian(1"), ["expected ')'", "the text ends"]),
    "kernel closed twice": (gram("gaussian(1))"), ["found ')' at position 12"]),
    "kernel subtracted": (gram("gaussian(1) - linear()"), ["cannot be subtracted", "position 13"]),
    "kernel a number": (gram("3"), ["a number alone is not a kernel"]),
    "kernel argument misspelt": (gram("matern(1, nuu=2.5)"), ["no argument 'nuu'", "did you mean 'nu'?"]),
    "kernel nested deeply": (gram("(" * 5000 + "linear()" + ")" * 5000), ["nested"]),
    "length scale zero": (gram("gaussian(0)"), ["length scales > 0", "got 0"]),
    "length scale negative": (gram("cauchy(-1)"), ["length scales > 0", "got -1"]),
    "length scale misspelt": (gram("gaussian(medin)"), ["'medin'", "did you mean 'median'?"]),
    "length scales for other inputs": (fit("--kernel", "gaussian([1, 2, 3])"), ["3 length scales", "2 inputs", "one per input"]),
    "nu negative": (gram("matern(1, nu=-2)"), ["nu > 0"]),
    "alpha zero": (gram("rational_quadratic(1, alpha=0)"), ["alpha > 0"]),
    "degree a fraction": (gram("polynomial(2.5)"), ["whole degree", "2.5"]),
    "degree too high": (gram("polynomial(1000)"), ["degree from 1 to 100"]),
    "factor negative": (gram("-2*gaussian(1)"), ["positive", "-2"]),
    "mixture of other sizes": (gram("spectral_mixture([1, 2], [[1, 1, 1]], [[1, 1, 1]])"), ["2 weights", "1 means"]),
    "mixture for other inputs": (gram("spectral_mixture([1], [[1]], [[1]])"), ["1 number", "3 inputs"]),
    "share beyond 1": (gram("helmholtz(gaussian(1), 2)"), ["share from 0 to 1"]),
    "curl_free of laplacian": (gram("curl_free(laplacian(0.3))"), ["second derivative", "laplacian", "matern(0.3, nu=1.5)"]),
    "divergence_free of rough matern": (gram("divergence_free(matern(1, nu=1))"), ["second derivative", "nu = 1", "gaussian(1)"]),
    "curl_free of linear": (gram("curl_free(linear())"), ["x - z alone", "linear"]),
    "curl_free of curl_free": (gram("curl_free(curl_free(gaussian(1)))"), ["takes a scalar kernel"]),
    "curl_free with one output": (fit("--kernel", "curl_free(gaussian(1))"), ["as many outputs as inputs", "1 output", "2 inputs"]),
    "product with a field": (gram("gaussian(1)*curl_free(gaussian(1))"), ["multiplied by a number"]),
    # output matrices and graphs
    "outputs not semi-definite": (coupled("[[1, 2], [2, 1]]"), ["positive semi-definite", "-1"]),
    "outputs asymmetric": (coupled("[[1, 2], [0, 1]]"), ["symmetric", "(2, 1)"]),
    "outputs of another size": (coupled("[[1]]"), ["1 × 1", "2 outputs"]),
    "outputs not square": (coupled("[[1, 2]]"), ["square"]),
    "outputs misspelt": (coupled("covarience"), ["'covarience'", "did you mean 'covariance'?"]),
    "graph missing": (coupled('graph("nowhere.csv")'), ["'nowhere.csv'", "cannot open"]),
    "graph a folder": (coupled('graph("folder")'), ["'folder'"]),
    "graph with an unknown output": (coupled('graph("edges_unknown.csv")'), ["line 3", "'w'"]),
    "graph with a negative weight": (coupled('graph("edges_negative.csv")'), ["line 1", "> 0"]),
    "graph with a loop": (coupled('graph("edges_loop.csv")'), ["line 1", "two different outputs"]),
    "graph with one column": (coupled('graph("edges_short.csv")'), ["line 1", "from,to"]),
    "graph without edges": (coupled('graph("edges_none.csv")'), ["no edges"]),
    "graph mix beyond 1": (coupled('graph("edges_loop.csv", mix=3)'), ["mix from 0 to 1"]),
    "gram with a covariance": (gram("decomposable(gaussian(1), covariance)"), ["no targets", "numbers"]),
    # tables
    "file missing": (fit(data="nowhere.csv"), ["nowhere.csv", "No such file"]),
    "file a folder": (fit(data="folder"), ["folder", "give a file"]),
    "file empty": (fit(data="empty.csv"), ["empty.csv", "empty"]),
    "file blank": (fit(data="blank.csv"), ["blank.csv", "empty"]),
    "header alone": (fit(data="header.csv"), ["header.csv", "no rows"]),
    "ragged row": (fit(data="ragged.csv"), ["ragged.csv", "line 3", "2 cells, expected 3"]),
    "long row": (fit(data="long_row.csv"), ["line 3", "4 cells, expected 3"]),
    "text among numbers": (fit(data="text.csv"), ["line 3", "column 'b'", "'five'", "--one-hot"]),
    "infinity": (fit(data="infinite.csv"), ["line 3", "column 'b'", "finite"]),
    "beyond a double": (fit(data="huge.csv"), ["line 3", "'1e999'"]),
    "NaN cell": (fit(data="nan.csv"), ["line 3", "column 'b'", "--missing mean", "--missing drop"]),
    "empty cell": (fit(data="holes.csv"), ["line 3", "column 'b'", "--missing mean"]),
    "target missing": (fit(data="target_hole.csv"), ["line 3", "column 'y'", "--missing drop"]),
    "target missing, mean": (fit("--missing", "mean", data="target_hole.csv"), ["line 3", "target", "--missing drop"]),
    "nothing to average": (fit("--missing", "mean", data="all_holes.csv"), ["column 'b'", "no value"]),
    "nothing left after drop": (fit("--missing", "drop", data="all_holes.csv"), ["2 rows", "none is left"]),
    "open quote": (fit(data="quote.csv"), ["quote.csv", "line 2", "never closed"]),
    "zero byte": (fit(data="binary.csv"), ["binary.csv", "zero byte"]),
    "cut gzip": (fit(data="cut.csv.gz"), ["cut.csv.gz"]),
    "files of different columns": (["fit", "good.csv", "lacks_b.csv", *FIT], ["lacks_b.csv", "no column 'b'", "good.csv"]),
    "columns of one name": (fit(data="same_names.csv"), ["same_names.csv", "'a'"]),
    "standard input twice": (["fit", "-", "-", *FIT], ["standard input", "once"]),
    # other formats
    "ARFF with text": (fit(data="bad.arff"), ["bad.arff", "line 6", "'x'"]),
    "ARFF without data": (fit(data="no_data.arff"), ["no_data.arff", "@data"]),
    "svmlight backwards": (["fit", "backwards.svm"], ["line 1", "index 2", "index 3"]),
    "svmlight without pairs": (["fit", "not_pairs.svm"], ["line 1", "index:value"]),
    "IDX cut short": (["fit", "short.idx", "--target", "0"], ["short.idx", "15 bytes"]),
    "NPY that is text": (["fit", "fake.npy", "--target", "0"], ["fake.npy", "NPY"]),
    "NPY cut short": (["fit", "cut.npy", "--target", "0"], ["cut.npy"]),
    "HDF5 that is text": (["fit", "fake.h5", "--target", "0"], ["fake.h5", "HDF5"]),
    "HDF5 with two datasets": (["fit", "two.h5", "--target", "0"], ["two.h5", "2 datasets", "two.h5:/left"]),
    "HDF5 dataset misspelt": (["fit", "two.h5:/rihgt", "--target", "0"], ["'/rihgt'", "did you mean '/right'?"]),
    "CSV said to be NPY": (fit("--format", "npy"), ["good.csv", "NPY"]),
    # columns
    "no target": (["fit", "good.csv"], ["--target", "'a', 'b', 'y'"]),
    "target misspelt": (["fit", "classes.csv", "--target", "kynd"], ["no column 'kynd'", "did you mean 'kind'?", "'a', 'b', 'kind'"]),
    "target beyond the last": (["fit", "good.csv", "--target", "7"], ["no column 7", "counted from 0"]),
    "target twice": (["fit", "good.csv", "--target", "y,y"], ["'y'", "twice"]),
    "target range backwards": (["fit", "good.csv", "--target", "y-a"], ["backwards"]),
    "target last:9": (["fit", "good.csv", "--target", "last:9"], ["'last:9'", "3"]),
    "every column a target": (["fit", "good.csv", "--target", "last:3"], ["no column is left as an input"]),
    "empty name": (["fit", "good.csv", "--target", "y,,a"], ["empty name"]),
    "input misspelt": (["fit", "near_b.csv", *FIT, "--inputs", "betta"], ["no column 'betta'", "did you mean 'beta'?"]),
    "target among the inputs": (fit("--inputs", "a,y"), ["'y'", "targets", "inputs"]),
    "weights unknown": (fit("--weights", "w"), ["no column 'w'"]),
    "weights that are the target": (fit("--weights", "y"), ["'y'", "weights"]),
    "weights in two columns": (fit("--weights", "a,b"), ["more than one column"]),
    "weight negative": (fit("--weights", "w", data="negative.csv"), ["line 3", "-2", "negative"]),
    "weight NaN": (fit("--weights", "w", data="nan_weight.csv"), ["line 3", "column 'w'"]),
    "weights of no size": (fit("--weights", "w", "--penalty", "1e-5", data="least_weights.csv"), ["weights", "too small"]),
    "a weight beyond all others": (fit("--weights", "w", data="outweighed.csv"), ["column 'w'", "line 5", "1e+308", "19 other rows", "check the weights"]),
    "an input too large to square": (fit(data="too_large.csv"), ["column 'b' in line 5 of too_large.csv", "1e+200", "power of ten"]),
    "the same in a part of the rows": (fit("--holdout", "0.2", data="too_large.csv"), ["column 'b' in line 5 of too_large.csv"]),
    "the same after rows that are left out": (fit("--missing", "drop", data="too_large_gaps.csv"), ["column 'b' in line 6 of too_large_gaps.csv"]),
    "weights without a sum": (fit("--weights", "w", data="sumless.csv"), ["weights add up", "1e+308", "divide"]),
    "targets too small to square": (fit(data="too_small.csv"), ["column 'y'", "differ by 2e-170", "multiply"]),
    "weights all zero": (fit("--weights", "w", data="zero_weights.csv"), ["all weights are 0"]),
    "one class": (["fit", "one_class.csv", "--target", "kind"], ["at least two classes"]),
    "two class columns": (["fit", "two_labels.csv", "--target", "k,l"], ["exactly one target"]),
    # outputs
    "output over the data": (["fit", "good.csv", *FIT, "-o", "./good.csv"], ["good.csv", "which is read", "another file"]),
    "predictions over the model": (["predict", "good.mercer", "good.csv", "-o", "good.mercer"], ["good.mercer", "which is read"]),
    "output into no folder": (["fit", "good.csv", *FIT, "-o", "nowhere/m.mercer"], ["nowhere/m.mercer", "folder does not exist"]),
    "output over a folder": (["fit", "good.csv", *FIT, "-o", "folder"], ["folder", "directory"]),
    "output on a full disk": (["fit", "good.csv", *FIT, "-o", "/dev/full"], ["/dev/full", "No space left"]),
    "model on standard output": (["fit", "good.csv", *FIT, "-o", "-"], ["-o -", "name"]),
    "gram on a full disk": (["gram", "good.csv", "-o", "/dev/full"], ["/dev/full", "No space left"]),
    "gram without -o": (["gram", "good.csv"], ["-o FILE.npy or FILE.csv"]),
    "predictions into no folder": (["predict", "good.mercer", "good.csv", "-o", "nowhere/p.csv"], ["nowhere/p.csv"]),
    "predictions on a full disk": (["predict", "good.mercer", "good.csv", "-o", "/dev/full"], ["/dev/full", "No space left"]),
    # models
    "model missing": (["predict", "nowhere.mercer", "good.csv"], ["nowhere.mercer", "No such file"]),
    "model a table": (["predict", "good.csv", "good.csv"], ["good.csv", "not a Mercer file"]),
    "model empty": (["info", "empty.csv"], ["empty.csv", "empty"]),
    "model of four bytes": (["info", "four.mercer"], ["four.mercer", "too short"]),
    "model cut in its header": (["info", "cut_header.mercer"], ["cut_header.mercer", "truncated"]),
    "model cut in its data": (["predict", "cut_data.mercer", "good.csv"], ["cut_data.mercer"]),
    "model of noise": (["info", "noise.mercer"], ["noise.mercer", "not a Mercer file"]),
    "model with a flipped bit": (["predict", "flipped.mercer", "good.csv"], ["flipped.mercer", "checksum", "damaged"]),
    "model with more behind it": (["info", "longer.mercer"], ["longer.mercer"]),
    "a folder for a model": (["info", "folder"], ["folder"]),
    "statistics for a model": (["predict", "good.stats", "good.csv"], ["good.stats", "'statistics'", "model"]),
    "safetensors of another program": (["info", "other.safetensors"], ["other.safetensors"]),
    # predict, score
    "predict without an input": (["predict", "good.mercer", "lacks_b.csv"], ["lacks_b.csv", "input 'b'", "not among the columns"]),
    "predict with too few nameless columns": (["predict", "good.mercer", "unnamed.csv"], ["unnamed.csv", "expected 2"]),
    "predict a missing cell": (["predict", "good.mercer", "holes.csv", "-o", "out.csv"], ["line 3", "--missing"]),
    "predict an unknown category": (["predict", "colours.mercer", "green.csv", "-o", "out.csv"], ["line 2", "'green'", "training"]),
    "predict to standard output as JSON": (["predict", "good.mercer", "good.csv", "--json"], ["--json", "-o"]),
    "latent without std": (["predict", "good.mercer", "good.csv", "--latent"], ["--latent", "--std"]),
    "std of classes": (["predict", "classes.mercer", "classes.csv", "--std"], ["--std", "regression", "classes"]),
    "std that was not kept": (["predict", "narrow.mercer", "good.csv", "--std"], ["narrow.mercer", "--uncertainty full"]),
    "score without targets": (["score", "good.mercer", "inputs_only.csv"], ["target 'y'", "not among the columns"]),
    "score what cannot be squared": (["score", "good.mercer", "too_far.csv"], ["column 'y' in line 3 of too_far.csv is 1e+200", "prediction"]),
    "score a new class": (["score", "classes.mercer", "new_class.csv"], ["line 2", "'pine'", "training"]),
    # plan, demo, bench
    "plan of a covariance without a target": (["plan", "good.csv", "--kernel", "decomposable(gaussian(1), covariance)"], ["--target", "'a', 'b', 'y'"]),
    "plan for no error": (["plan", "good.csv", "--target", "y", "--error", "0"], ["--error", "between 0 and 1"]),
    "plan for a word": (["plan", "good.csv", "--target", "y", "--error", "small"], ["--error 'small'"]),
    "plan with certainty": (["plan", "good.csv", "--target", "y", "--confidence", "1"], ["--confidence", "between 0 and 1"]),
    "demo with a file": (["demo", "good.csv"], ["demo takes no files", "1 file was given"]),
    "demo into a file": (["demo", "-o", "good.csv"], ["good.csv", "folder"]),
    "bench of an unknown job": (["bench", "curlfree"], ["'curlfree'", "did you mean 'curl_free'?", "canonical"]),
    "bench of no rows": (["bench", "--rows", "0"], ["--rows", "at least 1"]),
    "bench in float16": (["bench", "--precision", "float16"], ["'float16'", "float64"]),
    # statistics
    "accumulate without -o": (["accumulate", "good.csv", *FIT], ["-o FILE.stats"]),
    "accumulate an exact map": (["accumulate", "good.csv", "--target", "y", "--map", "exact", "-o", "out.stats"], ["exact", "fourier"]),
    "like and target": (["accumulate", "good.csv", "--target", "y", "--like", "good.stats", "-o", "out.stats"], ["--target", "--like"]),
    "like and kernel": (["fit", "good.csv", "--kernel", "linear()", "--like", "good.mercer"], ["--kernel", "--like"]),
    "like and seed": (["fit", "good.csv", "--seed", "3", "--like", "good.mercer"], ["--seed", "--like"]),
    "like and one-hot": (["fit", "colours.csv", "--one-hot", "--like", "colours.mercer"], ["--one-hot", "--like"]),
    "like a table": (["fit", "good.csv", "--like", "good.csv"], ["good.csv", "not a Mercer file"]),
    "like other columns": (["fit", "lacks_b.csv", "--like", "good.mercer"], ["lacks_b.csv", "'b'"]),
    "merge without -o": (["merge", "good.stats"], ["-o FILE.stats"]),
    "merge a shard with itself": (["merge", "good.stats", "good.stats", "-o", "out.stats"], ["twice", "once"]),
    "merge other recipes": (["merge", "good.stats", "seed3.stats", "-o", "out.stats"], ["seed3.stats", "another recipe", "--like good.stats"]),
    "merge a model": (["merge", "good.mercer", "-o", "out.stats"], ["good.mercer", "'model'", "statistics"]),
    "solve without -o": (["solve", "good.stats"], ["-o FILE.mercer"]),
    "solve by cg": (["solve", "good.stats", "--solver", "cg", "-o", "out.mercer"], ["--solver cg", "rows"]),
    "solve a flipped file": (["solve", "flipped.stats", "-o", "out.mercer"], ["flipped.stats", "checksum"]),
}


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """The tables, and models and statistics good and damaged, made once."""
    import subprocess

    from conftest import MERCER

    folder = tmp_path_factory.mktemp("shelf")
    for name, content in TABLES.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    (folder / "long.csv").write_text("a,y\n" + "".join(f"{i},{i % 3}\n" for i in range(400)))
    (folder / "folder").mkdir()
    with h5py.File(folder / "two.h5", "w") as file:
        file["left"] = np.zeros((3, 2))
        file["right"] = np.zeros((3, 2))

    def make(*args):
        subprocess.run([MERCER, *args, "--quiet"], cwd=folder, check=True)

    make("fit", "good.csv", *FIT, "-o", "good.mercer")
    make("fit", "good.csv", *FIT, "--uncertainty", "none", "-o", "narrow.mercer")
    make("fit", "classes.csv", "--target", "kind", "--map", "fourier:10", "-o", "classes.mercer")
    make("fit", "colours.csv", *FIT, "--one-hot", "-o", "colours.mercer")
    make("accumulate", "good.csv", *FIT, "-o", "good.stats")
    make("accumulate", "good.csv", *FIT, "--seed", "3", "-o", "seed3.stats")

    model = (folder / "good.mercer").read_bytes()
    (folder / "four.mercer").write_bytes(model[:4])
    (folder / "cut_header.mercer").write_bytes(model[:100])
    (folder / "cut_data.mercer").write_bytes(model[:-8])
    (folder / "longer.mercer").write_bytes(model + b"\0" * 8)
    (folder / "noise.mercer").write_bytes(np.random.default_rng(0).bytes(5000))
    for name in ["good.mercer", "good.stats"]:
        flipped = bytearray((folder / name).read_bytes())
        flipped[-5] ^= 4
        (folder / name.replace("good", "flipped")).write_bytes(flipped)
    from safetensors.numpy import save_file

    save_file({"x": np.zeros(3)}, folder / "other.safetensors")
    return folder


@pytest.mark.parametrize("name", CASES)
def test_refused_in_one_line(name, shelf, run):
    args, fragments = CASES[name]
    before = sorted(p.name for p in shelf.iterdir())
    began = time.monotonic()
    result = run(*args, ok=False, stdin=b"a,y\n1,2\n", cwd=shelf)
    assert time.monotonic() - began < 5
    assert result.code == 2, result.err
    assert result.out == ""
    assert result.err.startswith("mercer: ")
    assert result.err.endswith("\n") and result.err.count("\n") == 1, "one line"
    for fragment in fragments:
        assert fragment in result.err
    assert sorted(p.name for p in shelf.iterdir()) == before, "nothing is left behind"


def test_the_table_is_large_enough():
    assert len(CASES) >= 60


def test_a_failed_fit_keeps_the_old_model(shelf, run):
    old = (shelf / "good.mercer").read_bytes()
    run("fit", "text.csv", *FIT, "-o", "good.mercer", ok=False, cwd=shelf)
    assert (shelf / "good.mercer").read_bytes() == old


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_read_only_folder(shelf, run, tmp_path):
    tmp_path.chmod(0o500)
    result = run("fit", shelf / "good.csv", *FIT, "-o", "m.mercer", ok=False)
    assert result.code == 2 and "Permission denied" in result.err


@pytest.mark.parametrize("args", [["--help"], ["fit", "--help"], ["info", "--system"], ["info", "good.mercer"],
                                  ["score", "good.mercer", "good.csv"], ["score", "good.mercer", "good.csv", "--json", "--quiet"],
                                  ["predict", "good.mercer", "good.csv"]])
def test_full_standard_output_is_an_error(args, shelf, run):
    with open("/dev/full", "wb") as full:
        result = run(*args, ok=False, cwd=shelf, stdout=full)
    assert result.code == 2
    assert result.err.startswith("mercer: cannot write to standard output") and result.err.count("\n") == 1


def test_a_reader_that_leaves_early_is_no_error(shelf, run):
    """mercer predict … | head says nothing, as other programs."""
    from conftest import start

    np.save(shelf / "many.npy", np.zeros((100_000, 2)))
    process = start("predict", "good.mercer", "many.npy", cwd=shelf)
    assert process.stdout.readline() == b"y\n"
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    process.wait(10)
    (shelf / "many.npy").unlink()


@pytest.mark.parametrize("position", range(0, 100, 7))
def test_flipped_bits_anywhere(position, shelf, run):
    """One bit of a model, at every seventh hundredth of its length."""
    bytes_ = bytearray((shelf / "good.mercer").read_bytes())
    bytes_[len(bytes_) * position // 100] ^= 1
    damaged = shelf / "bit.mercer"
    damaged.write_bytes(bytes_)
    result = run("predict", damaged, "good.csv", ok=False, cwd=shelf)
    damaged.unlink()
    assert result.code == 2 and result.out == "" and result.err.count("\n") == 1, result.err


@pytest.mark.parametrize("share", [0, 1, 5, 20, 50, 80, 99])
def test_truncated_anywhere(share, shelf, run):
    whole = (shelf / "good.mercer").read_bytes()
    cut = shelf / "cut.mercer"
    cut.write_bytes(whole[: len(whole) * share // 100])
    result = run("info", cut, ok=False, cwd=shelf)
    cut.unlink()
    assert result.code == 2 and result.out == "" and result.err.count("\n") == 1, result.err
