#ifdef MERCER_HAVE_HDF5
#include "io/hdf5_table.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "base/fail.hpp"
#include "base/text.hpp"
#include "io/table.hpp"

namespace mercer {
namespace {

Hdf5Handle open_file(const std::string& path, std::span<const char> image) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // its complaints come back as return values, not on stderr
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  if (!image.empty()) {
    constexpr std::size_t step = std::size_t{1} << 16U;
    std::vector<char> copy(image.begin(), image.end());  // libhdf5 takes its own of what it may not write
    H5Pset_fapl_core(access.id(), step, false);
    H5Pset_file_image(access.id(), copy.data(), copy.size());
  }
  const std::string name = image.empty() ? path : "/dev/null/image";  // an image must have a name that is no file's
  Hdf5Handle file(H5Fopen(name.c_str(), H5F_ACC_RDONLY, access.id()), H5Fclose);
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

herr_t refuse_other_file(const char*, const char*, const char*, const char*, unsigned*, hid_t, void*) noexcept {
  return -1;
}

/// Links into other files are not followed: a file that came from elsewhere would choose what is read here.
Hdf5Handle open_data(hid_t file, const std::string& path, const std::string& name) {
  const std::string wanted = name.empty() ? only_dataset(file, path) : name;
  const Hdf5Handle access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose);
  H5Pset_elink_cb(access.id(), refuse_other_file, nullptr);
  Hdf5Handle data(H5Dopen2(file, wanted.c_str(), access.id()), H5Dclose);
  if (!data.valid()) {
    std::vector<std::string> names;
    H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_INC, note_dataset, &names, H5O_INFO_BASIC);
    if (std::find(names.begin(), names.end(), wanted) != names.end()) {
      fail_file(path + ": cannot open the dataset " + mercer::quoted(wanted) +
                "; it is damaged, or written by a newer HDF5 than the library here");
    }
    fail_file(path + ": no dataset " + mercer::quoted(wanted) + did_you_mean(wanted, names));
  }
  return data;
}

/// Half precision, which has no name of its own in libhdf5.
Hdf5Handle half_type(hid_t base) {
  Hdf5Handle type(H5Tcopy(base), H5Tclose);
  H5Tset_fields(type.id(), 15, 10, 5, 0, 10);
  H5Tset_size(type.id(), 2);
  H5Tset_ebias(type.id(), 15);
  return type;
}

/// Numbers as machines hold them. A file may describe any bits of any number of bytes as a number; what libhdf5 makes of
/// those rests on the description alone.
void refuse_odd_type(hid_t type, const std::string& path) {
  const H5T_class_t kind = H5Tget_class(type);
  if (kind != H5T_FLOAT && kind != H5T_INTEGER) fail_file(path + ": the HDF5 dataset does not hold numbers");
  const Hdf5Handle half = half_type(H5T_IEEE_F32LE);
  const Hdf5Handle half_big = half_type(H5T_IEEE_F32BE);
  for (const hid_t known : {H5T_IEEE_F64LE, H5T_IEEE_F32LE, H5T_IEEE_F64BE, H5T_IEEE_F32BE, half.id(),         half_big.id(),
                            H5T_STD_I8LE,   H5T_STD_I16LE,  H5T_STD_I32LE,  H5T_STD_I64LE,  H5T_STD_U8LE,      H5T_STD_U16LE,
                            H5T_STD_U32LE,  H5T_STD_U64LE,  H5T_STD_I8BE,   H5T_STD_I16BE,  H5T_STD_I32BE,     H5T_STD_I64BE,
                            H5T_STD_U8BE,   H5T_STD_U16BE,  H5T_STD_U32BE,  H5T_STD_U64BE,  H5T_NATIVE_LDOUBLE}) {
    if (H5Tequal(type, known) > 0) return;
  }
  fail_file(path + ": the HDF5 dataset holds numbers of an unusual layout; convert it to float64");
}

void refuse_unknown_filter(hid_t plan, const std::string& path) {
  const int filters = H5Pget_nfilters(plan);
  for (int i = 0; i < filters; ++i) {
    unsigned flags = 0;
    std::size_t values = 0;
    const H5Z_filter_t filter =
        H5Pget_filter2(plan, static_cast<unsigned>(i), &flags, &values, nullptr, 0, nullptr, nullptr);
    if (filter < 0 || H5Zfilter_avail(filter) <= 0) {
      fail_file(path + ": the HDF5 dataset is packed by filter " + std::to_string(filter) +
                ", which the HDF5 library here lacks; pack it with gzip instead (h5repack -f GZIP=4)");
    }
  }
}

}  // namespace

Hdf5Table::Hdf5Table(const std::string& path, std::span<const char> image, const std::string& name)
    : path_(path), file_(open_file(path, image)), data_(open_data(file_.id(), path, name)) {
  const Hdf5Handle type(H5Dget_type(data_.id()), H5Tclose);
  refuse_odd_type(type.id(), path);
  const Hdf5Handle space(H5Dget_space(data_.id()), H5Sclose);
  dimensions_ = H5Sget_simple_extent_ndims(space.id());
  if (dimensions_ != 1 && dimensions_ != 2) {
    fail_file(path + ": an HDF5 dataset of " + std::to_string(dimensions_) + " dimensions; a table has 1 or 2");
  }
  std::array<hsize_t, 2> sizes{0, 1};
  H5Sget_simple_extent_dims(space.id(), sizes.data(), nullptr);
  constexpr hsize_t most_rows = hsize_t{1} << 62U;
  if (sizes[0] > most_rows || sizes[1] == 0 || sizes[1] > static_cast<hsize_t>(most_columns)) {
    fail_file(path + ": an HDF5 dataset of " + std::to_string(sizes[0]) + " × " + std::to_string(sizes[1]) + " is not read");
  }
  rows_ = static_cast<Index>(sizes[0]);
  columns_ = static_cast<Index>(sizes[1]);
  const std::size_t number_bytes = H5Tget_size(type.id());
  refuse_odd_storage(number_bytes);
  refuse_hollow(static_cast<double>(rows_) * static_cast<double>(columns_), number_bytes);
}

/// A few bytes can claim any shape, and what was never written reads as a fill value. Deflate shrinks 1032 times at best.
void Hdf5Table::refuse_hollow(double numbers, std::size_t number_bytes) const {
  constexpr double always_fine = 16e6;
  constexpr double most_per_byte = 1100;
  const double claimed = numbers * static_cast<double>(number_bytes);
  hsize_t held = 0;
  if (H5Fget_filesize(file_.id(), &held) < 0) fail_file(path_ + ": the HDF5 file is damaged");
  if (claimed <= always_fine || claimed / static_cast<double>(held) <= most_per_byte) return;
  fail_file(path_ + ": an HDF5 file of " + human_bytes(static_cast<double>(held)) + " that claims " + human_bytes(claimed) +
            " of numbers; it is damaged, or most of it was never written");
}

/// Refuses numbers that lie in other files, unknown packing, and chunks (which are held whole) that the file cannot fill.
void Hdf5Table::refuse_odd_storage(std::size_t number_bytes) const {
  const Hdf5Handle plan(H5Dget_create_plist(data_.id()), H5Pclose);
  const H5D_layout_t layout = H5Pget_layout(plan.id());
  if (layout == H5D_LAYOUT_ERROR) fail_file(path_ + ": the layout of the HDF5 dataset is damaged");
  if (layout == H5D_VIRTUAL || H5Pget_external_count(plan.id()) != 0) {
    fail_file(path_ + ": the HDF5 dataset keeps its numbers in other files; copy it into one (h5repack)");
  }
  refuse_unknown_filter(plan.id(), path_);
  if (layout != H5D_CHUNKED) return;
  std::array<hsize_t, H5S_MAX_RANK> chunk{};
  const int rank = H5Pget_chunk(plan.id(), H5S_MAX_RANK, chunk.data());
  if (rank != dimensions_) fail_file(path_ + ": the chunks of the HDF5 dataset have another shape than the dataset");
  double numbers = 1;
  for (std::size_t i = 0; i < static_cast<std::size_t>(rank); ++i) numbers *= static_cast<double>(chunk[i]);
  refuse_hollow(numbers, number_bytes);
}

void Hdf5Table::read(Index first, Index count, std::span<double> out) const {
  if (first < 0 || count < 0 || first > rows_ - count || static_cast<Index>(out.size()) / columns_ < count) {
    fail_internal("rows " + std::to_string(first) + " + " + std::to_string(count) + " asked of an HDF5 table");
  }
  const std::array<hsize_t, 2> start{static_cast<hsize_t>(first), 0};
  const std::array<hsize_t, 2> size{static_cast<hsize_t>(count), static_cast<hsize_t>(columns_)};
  const Hdf5Handle space(H5Dget_space(data_.id()), H5Sclose);
  const Hdf5Handle memory(H5Screate_simple(dimensions_, size.data(), nullptr), H5Sclose);
  const bool ok = H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, start.data(), nullptr, size.data(), nullptr) >= 0 &&
                  H5Dread(data_.id(), H5T_NATIVE_DOUBLE, memory.id(), space.id(), H5P_DEFAULT, out.data()) >= 0;
  if (!ok) fail_file(path_ + ": cannot read rows " + std::to_string(first + 1) + " to " + std::to_string(first + count));
}

}  // namespace mercer
#endif
