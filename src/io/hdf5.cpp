#include <sys/stat.h>

#include "base/fail.hpp"
#include "io/readers.hpp"

#ifdef MERCER_HAVE_HDF5

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "base/checked.hpp"
#include "base/progress.hpp"
#include "base/text.hpp"
#include "io/hdf5_table.hpp"
#include "io/worker_process.hpp"

namespace mercer {
namespace {

constexpr Index slab_numbers = most_columns;

/// What reader and worker tell each other.
struct Exchange {
  Index rows = 0;  ///< of the table; both are answers
  Index columns = 0;
  Index first = 0;                     ///< which rows are asked for
  Index count = 0;                     ///< 0: only the shape of the table
  std::array<char, 4096> complaint{};  ///< ends with 0; empty when the request was served
  std::array<double, static_cast<std::size_t>(slab_numbers)> slab{};
};

/// The worker's side. The table is opened by the first request, so that trouble with it is an answer like any other.
void serve(Exchange& exchange, const std::string& path, std::span<const char> image, const std::string& name,
           std::optional<Hdf5Table>& table) noexcept {
  exchange.complaint.front() = '\0';
  try {
    if (!table) table.emplace(path, image, name);
    exchange.rows = table->rows();
    exchange.columns = table->columns();
    if (exchange.count > 0) table->read(exchange.first, exchange.count, exchange.slab);
  } catch (const std::exception& error) {
    std::strncpy(exchange.complaint.data(), error.what(), exchange.complaint.size() - 1);
  }
}

/// libhdf5 keeps its state from one fork to the next, so that a worker need not set it up. No file is read here.
void prepare_library() {
  static const bool ready = H5dont_atexit() >= 0 && H5open() >= 0;
  if (!ready) fail_internal("libhdf5 does not start");
}

/// A dataset of numbers, read a slab of about 1 MiB at a time by a process of its own: libhdf5 may crash on a damaged file.
class Hdf5Reader final : public TableReader {
 public:
  Hdf5Reader(std::unique_ptr<ByteSource> source, bool in_file, std::string name, Index memory_bytes)
      : TableReader(source->path()),
        source_(std::move(source)),
        in_file_(in_file),
        name_(std::move(name)),
        memory_bytes_(memory_bytes) {
    start();
    rows_ = exchange().rows;
    const Index columns = exchange().columns;
    if (rows_ < 0 || columns < 1 || columns > most_columns) fail_damaged();
    generate_names(columns);
    constexpr Index usual_numbers = Index{1} << 17U;
    slab_rows_ = std::max(Index{1}, usual_numbers / columns);
  }

  void rewind() override {
    if (!worker_) start();
    row_ = 0;
    slab_begin_ = 0;
    slab_end_ = 0;
  }
  void rest() override {
    worker_.reset();
    source_->rest();
  }
  bool next(Cells& cells) override;
  Index number() const override { return row_; }
  const char* unit() const override { return "row"; }

 private:
  void start();
  void read_slab();
  void ask(Index first, Index count);
  std::vector<char> read_image();
  Exchange& exchange() const { return *reinterpret_cast<Exchange*>(worker_->memory().data()); }
  [[noreturn]] void fail_damaged() const {
    fail_file(path() + ": the HDF5 library fails on this file; it is damaged (h5dump may tell where)");
  }

  std::unique_ptr<ByteSource> source_;
  bool in_file_;  ///< else packed or a stream: libhdf5 gets it as one piece of memory
  std::string name_;
  Index memory_bytes_;
  std::optional<WorkerProcess> worker_;
  Index rows_ = 0;
  Index slab_rows_ = 1;
  Index slab_begin_ = 0;
  Index slab_end_ = 0;
  Index row_ = 0;
};

std::vector<char> Hdf5Reader::read_image() {
  const Index bound = memory_bound(memory_bytes_);
  source_->rewind();
  std::vector<char> image;
  std::vector<char> piece(std::size_t{1} << 18U);
  while (const std::size_t got = source_->read(piece)) {
    check_stop();
    image.insert(image.end(), piece.data(), piece.data() + got);
    if (static_cast<Index>(image.size()) > bound) {
      fail_file(path() + ": more than " + human_bytes(static_cast<double>(bound)) +
                " of packed HDF5, which must be held in memory; gunzip it first, or allow more memory");
    }
  }
  if (image.empty()) fail_file(path() + ": the file is empty");
  return image;
}

void Hdf5Reader::start() {
  constexpr unsigned processor_seconds = 60;  // for 1 MiB of numbers, however packed
  prepare_library();
  const std::vector<char> image = in_file_ ? std::vector<char>() : read_image();
  std::optional<Hdf5Table> table;  // the worker's own
  worker_.emplace(sizeof(Exchange), processor_seconds, [&](std::span<std::byte> memory) {
    serve(*reinterpret_cast<Exchange*>(memory.data()), path(), image, name_, table);
  });
  ask(0, 0);
}

void Hdf5Reader::ask(Index first, Index count) {
  exchange().first = first;
  exchange().count = count;
  if (!worker_->ask()) {
    worker_.reset();
    fail_damaged();
  }
  std::array<char, sizeof(Exchange::complaint)> complaint = exchange().complaint;
  complaint.back() = '\0';
  if (complaint.front() != '\0') fail_file(complaint.data());
}

void Hdf5Reader::read_slab() {
  check_stop();
  slab_begin_ = row_;
  slab_end_ = std::min(rows_, row_ + slab_rows_);
  ask(slab_begin_, slab_end_ - slab_begin_);
}

bool Hdf5Reader::next(Cells& cells) {
  if (row_ == rows_) return false;
  if (row_ == slab_end_) read_slab();
  cells.numbers.resize(used().size());
  cells.texts.clear();
  const double* row = exchange().slab.data() + (row_ - slab_begin_) * column_count();
  for (std::size_t j = 0; j < used().size(); ++j) cells.numbers[j] = row[used()[j]];
  ++row_;
  return true;
}

bool is_plain_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

std::unique_ptr<TableReader> open_hdf5(std::unique_ptr<ByteSource> source, const std::string& dataset, Index memory_bytes) {
  const bool in_file = source->size() >= 0 && is_plain_file(source->path());
  if (in_file) source->rest();
  return std::make_unique<Hdf5Reader>(std::move(source), in_file, dataset, memory_bytes);
}

}  // namespace mercer

#else

namespace mercer {

std::unique_ptr<TableReader> open_hdf5(std::unique_ptr<ByteSource> source, const std::string& /*dataset*/,
                                       Index /*memory_bytes*/) {
  fail_file(source->path() +
            ": this build of Mercer reads no HDF5; build with -DMERCER_HDF5=ON, or convert the file to NPY or CSV");
}

}  // namespace mercer

#endif
