"""Small files to start the fuzzers of the table readers from: fuzz_seeds.py FOLDER writes FOLDER/corpus-fuzz_<format>/seed-*.

The first byte of an input chooses the options (tests/fuzz/dataset_input.hpp), the rest is the file. Signatures such as NPY's are
never found by mutation alone."""

import gzip
import io
import pathlib
import struct
import sys

import h5py
import numpy as np

OPTIONS = (0, 8 + 1, 24 + 4 + 2, 3 + 128)


def csv_files():
    yield b"x,y,z\n1,2,3\n4,5.5,6e3\n-7,8,9\n"
    yield b"\xef\xbb\xbf'a b';\"c;d\";e\r\n1;\"2\";red\r\n3;;blue\r\n5;NaN;red\r\n"
    yield b"# remark\n1 2 3\n4 5 6\n"


def arff_files():
    yield b"@relation r\n@attribute a numeric\n@attribute 'b c' {red,'light blue'}\n@data\n1,red\n2,'light blue'\n?,red\n"
    yield b"% remark\n@RELATION r\n@ATTRIBUTE a REAL\n@ATTRIBUTE y INTEGER\n@DATA\n{0 1.5, 1 2}\n{1 3}\n{}\n"


def svmlight_files():
    yield b"1 1:0.5 3:2\n-1 2:1e-3\n+1 qid:3 1:4 # remark\n"
    yield b"0 0:1 7:2\n3.5 4:nan\n"


def npy_files():
    values = np.arange(6).reshape(3, 2)
    for dtype in ("<f8", ">f4", "<f2", "|i1", "<i2", ">i4", "<u8", "|b1"):
        for array in (values, values[:, 0], np.asfortranarray(values)):
            buffer = io.BytesIO()
            np.save(buffer, array.astype(dtype))
            yield buffer.getvalue()


def idx_files():
    for code, dtype in ((8, "u1"), (9, "i1"), (11, ">i2"), (12, ">i4"), (13, ">f4"), (14, ">f8")):
        for shape in ((6,), (3, 2), (2, 3, 1)):
            header = struct.pack(">BBBB", 0, 0, code, len(shape)) + struct.pack(f">{len(shape)}I", *shape)
            yield header + np.arange(6).astype(dtype).tobytes()


def hdf5_file(libver=("earliest", "v110"), name="t", links=False, **dataset):
    buffer = io.BytesIO()
    with h5py.File(buffer, "w", libver=libver) as file:
        file.create_dataset(name, **dataset)
        if links:
            file["soft"] = h5py.SoftLink("/" + name)
            file["away"] = h5py.ExternalLink("other.h5", "/t")
            file["hard"] = file[name]
    return buffer.getvalue()


def hdf5_files():
    values = np.arange(6).reshape(3, 2)
    for libver in (("earliest", "v110"), ("v110", "v110")):  # what Debian's libhdf5 1.10 reads
        for dtype in ("<f8", ">f4", "<f2", "|i1", "<u8"):
            yield hdf5_file(libver, data=values.astype(dtype))
        yield hdf5_file(libver, data=values[:, 0])
        yield hdf5_file(libver, name="g/x", data=values, links=True)
        yield hdf5_file(libver, data=values, chunks=(2, 2))
        yield hdf5_file(libver, data=values, chunks=(2, 2), maxshape=(None, None), compression="gzip", shuffle=True,
                        fletcher32=True)
        yield hdf5_file(libver, shape=(1 << 40, 2), chunks=(4, 2), dtype="f8", fillvalue=1)
        yield hdf5_file(libver, data=np.array(["a", "b"], dtype=h5py.string_dtype()))


FILES = {"csv": csv_files, "arff": arff_files, "svmlight": svmlight_files, "npy": npy_files, "idx": idx_files, "hdf5": hdf5_files}


def main():
    for form, files in FILES.items():
        folder = pathlib.Path(sys.argv[1]) / f"corpus-fuzz_{form}"
        folder.mkdir(parents=True, exist_ok=True)
        for number, content in enumerate(files()):
            for options in OPTIONS if form != "hdf5" else OPTIONS[number % 4 :][:1]:
                (folder / f"seed-{number}-{options}").write_bytes(bytes([options]) + content)
        first = next(files())
        (folder / "seed-gzip").write_bytes(b"\0" + gzip.compress(first, mtime=0))


if __name__ == "__main__":
    main()
