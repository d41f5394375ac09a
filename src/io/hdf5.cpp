#include "base/fail.hpp"
#include "io/readers.hpp"

#ifdef MERCER_HAVE_HDF5

#include <hdf5.h>

#include <algorithm>
#include <array>

#include "base/checked.hpp"
#include "base/progress.hpp"
#include "base/text.hpp"

namespace mercer {
namespace {

/// An HDF5 handle and the function that closes it.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, hid_t{-1})), close_(other.close_) {}

  hid_t id() const { return id_; }
  bool valid() const { return id_ >= 0; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

Handle open_file(const std::string& path) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // its complaints come back as return values, not on stderr
  Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (!file.valid()) fail_file("cannot open '" + path + "' as HDF5; the file is damaged or another program writes to it");
  return file;
}

herr_t note_dataset(hid_t, const char* name, const H5O_info_t* info, void* found) noexcept {
  constexpr std::size_t most = 1000;
  auto& names = *static_cast<std::vector<std::string>*>(found);
  if (info->type == H5O_TYPE_DATASET) names.push_back("/" + std::string(name));
  return names.size() < most ? 0 : 1;
}

std::string only_dataset(hid_t file, const std::string& path) {
  std::vector<std::string> names;
  H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_INC, note_dataset, &names, H5O_INFO_BASIC);
  if (names.size() == 1) return names.front();
  if (names.empty()) fail_file(path + ": no dataset in this HDF5 file");
  constexpr std::size_t shown = 12;
  const std::size_t count = names.size();
  names.resize(std::min(count, shown));
  fail_file(path + ": " + std::to_string(count) + " datasets (" + join(names, ", ") + (count > shown ? ", …" : "") +
            "); say which, as in " + path + ":" + names.front());
}

Handle open_data(hid_t file, const std::string& path, const std::string& name) {
  const std::string wanted = name.empty() ? only_dataset(file, path) : name;
  Handle data(H5Dopen2(file, wanted.c_str(), H5P_DEFAULT), H5Dclose);
  if (!data.valid()) {
    std::vector<std::string> names;
    H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_INC, note_dataset, &names, H5O_INFO_BASIC);
    fail_file(path + ": no dataset " + quoted(wanted) + did_you_mean(wanted, names));
  }
  return data;
}

/// A 1-D or 2-D dataset of numbers, read a slab of about 1 MiB at a time.
class Hdf5Reader final : public TableReader {
 public:
  Hdf5Reader(const std::string& path, const std::string& name)
      : TableReader(path), file_(open_file(path)), data_(open_data(file_.id(), path, name)) {
    const Handle type(H5Dget_type(data_.id()), H5Tclose);
    const H5T_class_t kind = H5Tget_class(type.id());
    if (kind != H5T_FLOAT && kind != H5T_INTEGER) fail_file(path + ": the HDF5 dataset does not hold numbers");
    const Handle space(H5Dget_space(data_.id()), H5Sclose);
    dimensions_ = H5Sget_simple_extent_ndims(space.id());
    if (dimensions_ != 1 && dimensions_ != 2) {
      fail_file(path + ": an HDF5 dataset of " + std::to_string(dimensions_) + " dimensions; a table has 1 or 2");
    }
    std::array<hsize_t, 2> sizes{0, 1};
    H5Sget_simple_extent_dims(space.id(), sizes.data(), nullptr);
    constexpr hsize_t most_rows = hsize_t{1} << 62U;
    if (sizes[0] > most_rows || sizes[1] == 0 || sizes[1] > static_cast<hsize_t>(most_columns)) {
      fail_file(path + ": an HDF5 dataset of " + std::to_string(sizes[0]) + " × " + std::to_string(sizes[1]) +
                " is not read");
    }
    rows_ = static_cast<Index>(sizes[0]);
    generate_names(static_cast<Index>(sizes[1]));
    constexpr Index slab_numbers = Index{1} << 17U;
    slab_rows_ = std::max(Index{1}, slab_numbers / column_count());
  }

  void rewind() override {
    row_ = 0;
    slab_begin_ = 0;
    slab_end_ = 0;
  }
  bool next(Cells& cells) override;
  std::string place() const override { return "row " + std::to_string(row_); }

 private:
  void read_slab();

  Handle file_;
  Handle data_;
  int dimensions_ = 0;
  Index rows_ = 0;
  Index slab_rows_ = 1;
  Index slab_begin_ = 0;
  Index slab_end_ = 0;
  std::vector<double> slab_;
  Index row_ = 0;
};

void Hdf5Reader::read_slab() {
  check_stop();
  slab_begin_ = row_;
  slab_end_ = std::min(rows_, row_ + slab_rows_);
  slab_.resize(static_cast<std::size_t>(checked_product(slab_end_ - slab_begin_, column_count())));
  const std::array<hsize_t, 2> start{static_cast<hsize_t>(slab_begin_), 0};
  const std::array<hsize_t, 2> count{static_cast<hsize_t>(slab_end_ - slab_begin_), static_cast<hsize_t>(column_count())};
  const Handle space(H5Dget_space(data_.id()), H5Sclose);
  const Handle memory(H5Screate_simple(dimensions_, count.data(), nullptr), H5Sclose);
  const bool ok = H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr) >= 0 &&
                  H5Dread(data_.id(), H5T_NATIVE_DOUBLE, memory.id(), space.id(), H5P_DEFAULT, slab_.data()) >= 0;
  if (!ok) fail_file(path() + ": cannot read rows " + std::to_string(slab_begin_ + 1) + " to " + std::to_string(slab_end_));
}

bool Hdf5Reader::next(Cells& cells) {
  if (row_ == rows_) return false;
  if (row_ == slab_end_) read_slab();
  cells.numbers.resize(used().size());
  cells.texts.clear();
  const double* row = slab_.data() + (row_ - slab_begin_) * column_count();
  for (std::size_t j = 0; j < used().size(); ++j) cells.numbers[j] = row[used()[j]];
  ++row_;
  return true;
}

}  // namespace

std::unique_ptr<TableReader> open_hdf5(const std::string& path, const std::string& dataset) {
  return std::make_unique<Hdf5Reader>(path, dataset);
}

}  // namespace mercer

#else

namespace mercer {

std::unique_ptr<TableReader> open_hdf5(const std::string& path, const std::string& /*dataset*/) {
  fail_file(path + ": this build of Mercer reads no HDF5; build with -DMERCER_HDF5=ON, or convert the file to NPY or CSV");
}

}  // namespace mercer

#endif
