#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <array>
#include <mercer/error.hpp>
#include <string>
#include <vector>

#include "io/hdf5_table.hpp"

namespace mercer {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

/// What a file says about its dataset, as a program would have written it: libhdf5 makes the bytes, so that all that is odd
/// here is the meaning. (Odd bytes: fuzz_hdf5.)
struct Description {
  std::vector<hsize_t> sizes;
  std::vector<hsize_t> chunk;  ///< empty: in one piece
  hid_t type = -1;
  bool bent = false;  ///< the type is not as libhdf5 has it
  bool empty_space = false;
  bool packed = false;
  bool compact = false;
  bool elsewhere = false;  ///< the numbers in another file
  bool written = false;    ///< first wanted, then done
  int names = 1;           ///< datasets in the file
  bool links = false;      ///< a soft link that leads nowhere, one in a circle, and one into another file
};

/// Half of the types are as they come; the others are bent, and never written to: libhdf5 overruns its stack converting
/// some.
void choose_type(FuzzedDataProvider& input, Description& d) {
  d.type = H5Tcopy(input.PickValueInArray<hid_t>({H5T_IEEE_F64LE, H5T_IEEE_F32BE, H5T_STD_I8LE, H5T_STD_U16BE, H5T_STD_I64LE,
                                                  H5T_NATIVE_LDOUBLE, H5T_C_S1, H5T_STD_REF_OBJ, H5T_STD_B16LE,
                                                  H5T_STD_I32LE, H5T_IEEE_F32LE}));
  d.bent = input.ConsumeBool();
  if (!d.bent) return;
  if (input.ConsumeBool()) H5Tset_precision(d.type, input.ConsumeIntegralInRange<std::size_t>(1, 128));
  if (input.ConsumeBool()) H5Tset_size(d.type, input.ConsumeIntegralInRange<std::size_t>(1, 64));
  if (input.ConsumeBool()) H5Tset_offset(d.type, input.ConsumeIntegralInRange<std::size_t>(0, 16));
  if (input.ConsumeBool()) {
    std::array<std::size_t, 5> bits{};
    for (std::size_t& bit : bits) bit = input.ConsumeIntegralInRange<std::size_t>(0, 64);
    H5Tset_fields(d.type, bits[0], bits[1], bits[2], bits[3], bits[4]);
  }
}

Description describe(FuzzedDataProvider& input) {
  Description d;
  d.empty_space = input.ConsumeProbability<float>() < 0.05F;
  const std::size_t rank = input.ConsumeIntegralInRange<std::size_t>(0, 4);
  const bool huge = input.ConsumeProbability<float>() < 0.2F;
  for (std::size_t i = 0; i < rank; ++i) {
    d.sizes.push_back(huge ? input.ConsumeIntegral<hsize_t>() : input.ConsumeIntegralInRange<hsize_t>(0, 40));
  }
  if (rank > 0 && input.ConsumeBool()) {
    for (std::size_t i = 0; i < rank; ++i) {
      const hsize_t most = huge ? hsize_t{1} << 32U : hsize_t{16};
      d.chunk.push_back(input.ConsumeIntegralInRange<hsize_t>(1, most));
    }
  }
  choose_type(input, d);
  d.packed = input.ConsumeBool();
  d.compact = input.ConsumeBool();
  d.elsewhere = input.ConsumeProbability<float>() < 0.05F;
  d.written = input.ConsumeBool();
  d.names = input.ConsumeIntegralInRange(0, 3);
  d.links = input.ConsumeBool();
  return d;
}

Hdf5Handle plan_of(const Description& d) {
  Hdf5Handle plan(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  if (!d.chunk.empty()) {
    H5Pset_chunk(plan.id(), static_cast<int>(d.chunk.size()), d.chunk.data());
    if (d.packed) {
      H5Pset_shuffle(plan.id());
      H5Pset_deflate(plan.id(), 1);
      H5Pset_fletcher32(plan.id());
    }
  } else if (d.elsewhere) {
    H5Pset_external(plan.id(), "/dev/shm/mercer-fuzz-none", 0, H5F_UNLIMITED);
  } else if (d.compact) {
    H5Pset_layout(plan.id(), H5D_COMPACT);
  }
  H5Pset_alloc_time(plan.id(), d.written ? H5D_ALLOC_TIME_DEFAULT : H5D_ALLOC_TIME_LATE);
  return plan;
}

/// Whether libhdf5 made it (chunks beyond a fixed size it does not) and wrote numbers into it.
bool add_dataset(hid_t file, const Description& d, const std::string& name) {
  const Hdf5Handle plan = plan_of(d);
  const Hdf5Handle space(d.empty_space     ? H5Screate(H5S_NULL)
                         : d.sizes.empty() ? H5Screate(H5S_SCALAR)
                                           : H5Screate_simple(static_cast<int>(d.sizes.size()), d.sizes.data(), nullptr),
                         H5Sclose);
  const Hdf5Handle groups(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  H5Pset_create_intermediate_group(groups.id(), 1);
  const Hdf5Handle data(H5Dcreate2(file, name.c_str(), d.type, space.id(), groups.id(), plan.id(), H5P_DEFAULT), H5Dclose);
  const hssize_t numbers = H5Sget_simple_extent_npoints(space.id());
  const H5T_class_t kind = H5Tget_class(d.type);
  if (!data.valid() || !d.written || d.bent || d.elsewhere || numbers < 0 || numbers > 10'000) return false;
  if (kind != H5T_INTEGER && kind != H5T_FLOAT) return false;
  const std::vector<double> values(static_cast<std::size_t>(numbers), 7.0);
  return H5Dwrite(data.id(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0;
}

std::vector<char> file_of(Description& d) {
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  constexpr std::size_t step = 1U << 16U;
  H5Pset_fapl_core(access.id(), step, 0);
  const Hdf5Handle file(H5Fcreate("made", H5F_ACC_TRUNC, H5P_DEFAULT, access.id()), H5Fclose);
  require(file.valid());
  const std::array<std::string, 3> names{"t", "g/u", "v"};
  for (int i = 0; i < d.names; ++i) d.written = add_dataset(file.id(), d, names[static_cast<std::size_t>(i)]);
  if (d.links) {
    H5Lcreate_soft("/nowhere", file.id(), "lost", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/circle", file.id(), "circle", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("/dev/shm/mercer-fuzz-none", "/t", file.id(), "away", H5P_DEFAULT, H5P_DEFAULT);
  }
  H5Fflush(file.id(), H5F_SCOPE_GLOBAL);
  const ssize_t bytes = H5Fget_file_image(file.id(), nullptr, 0);
  std::vector<char> image(static_cast<std::size_t>(std::max(bytes, ssize_t{0})));
  if (bytes > 0) require(H5Fget_file_image(file.id(), image.data(), image.size()) == bytes);
  return image;
}

bool ordinary(const Description& d) {
  const H5T_class_t kind = H5Tget_class(d.type);
  const bool plain = H5Tequal(d.type, H5T_IEEE_F64LE) > 0 || H5Tequal(d.type, H5T_STD_I8LE) > 0;
  return plain && (kind == H5T_INTEGER || kind == H5T_FLOAT) && d.written && d.names == 1 && !d.empty_space &&
         !d.elsewhere && (d.sizes.size() == 1 || d.sizes.size() == 2) &&
         std::all_of(d.sizes.begin(), d.sizes.end(), [](hsize_t size) { return size > 0 && size <= 40; }) &&
         std::all_of(d.chunk.begin(), d.chunk.end(), [](hsize_t size) { return size <= 16; });
}

/// Ordinary tables come back as they were written; all else is read or refused, but nothing large is claimed.
void read_back(const Description& d, const std::vector<char>& image, const std::string& name) {
  const bool must = ordinary(d) && name.empty();
  try {
    const Hdf5Table table("made", image, name);
    const Index rows = std::min(table.rows(), Index{100});
    require(table.rows() >= 0 && table.columns() > 0 && table.columns() <= 1'000'000);
    std::vector<double> numbers(static_cast<std::size_t>(rows * table.columns()));
    if (rows > 0) table.read(table.rows() - rows, rows, numbers);
    if (!must) return;
    require(static_cast<hsize_t>(table.rows()) == d.sizes[0]);
    require(static_cast<hsize_t>(table.columns()) == (d.sizes.size() == 2 ? d.sizes[1] : 1));
    require(std::all_of(numbers.begin(), numbers.end(), [](double number) { return number == 7.0; }));
  } catch (const Error&) {
    require(!must);
  }
}

}  // namespace
}  // namespace mercer

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  FuzzedDataProvider input(bytes, size);
  const std::string name = input.PickValueInArray({"", "/t", "/g/u", "/lost", "/circle", "/away", "/g", ""});
  mercer::Description description = mercer::describe(input);
  const std::vector<char> file = mercer::file_of(description);
  mercer::read_back(description, file, name);
  H5Tclose(description.type);
  return 0;
}
