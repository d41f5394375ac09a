#include "solve/feature_store.hpp"

#include <algorithm>
#include <cmath>

#include "backend/backend.hpp"
#include "base/fail.hpp"
#include "base/parallel.hpp"
#include "base/progress.hpp"
#include "solve/feature_rows.hpp"
#include "solve/scratch_file.hpp"

namespace mercer {
namespace {

constexpr Index chunk_rows = 256;

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

template <class Real>
class Store final : public FeatureStore {
 public:
  Store(const FeatureMap& map, RowSource& rows, const Options& options, Progress* progress)
      : most_bytes_(options.memory_bytes) {
    columns_ = map.columns();
    outputs_ = rows.target_count();
    rows.rewind();
    append(map, rows, progress);
    source_rows_ = rows_;
    if (options.extra_inputs.rows > 0) {
      ArrayRows extra(options.extra_inputs);
      append(map, extra, progress);
    }
  }

  bool spilled() const override { return file_ != nullptr; }

  void sweep(ConstMatrix w, const Visit& visit, MutMatrix sum) const override {
    Matrix<Real> narrow(w.rows, w.cols);
    for (Index c = 0; c < w.rows; ++c) {
      for (Index k = 0; k < w.cols; ++k) narrow(c, k) = static_cast<Real>(w(c, k));
    }
    for (Index c = 0; c < sum.rows; ++c) std::ranges::fill(sum.row(c), 0.0);
    Matrix<Real> parts;  // φᵀt of each chunk of a block
    for_blocks([&](MatrixView<const Real> phi, Index first_row, Index first_chunk) {
      const Index count = (phi.rows + chunk_rows - 1) / chunk_rows;
      if (parts.rows() < count) parts = Matrix<Real>(count, columns_ * sum.cols);
      parallel_for(count, [&](Index k) {
        const Index first = k * chunk_rows;
        const Index rows = std::min(chunk_rows, phi.rows - first);
        const auto part = phi.row_range(first, rows);
        const MatrixView<Real> product(parts.row(k).data(), columns_, sum.cols);
        visit_chunk(part, narrow, first_chunk + k, first_row + first, visit, product);
      });
      add_parts(parts, count, sum);
    });
  }

  Matrix<double> moments(std::span<const double> v, Progress* progress) const override {
    Matrix<double> g(columns_ + 1, columns_ + 1);
    Matrix<Real> scaled;
    for_blocks([&](MatrixView<const Real> phi, Index first_row, Index) {
      if (scaled.rows() < phi.rows) scaled = Matrix<Real>(phi.rows, columns_ + 1);
      parallel_for((phi.rows + chunk_rows - 1) / chunk_rows, [&](Index k) {
        for (Index i = k * chunk_rows; i < std::min(phi.rows, (k + 1) * chunk_rows); ++i) {
          const auto root = static_cast<Real>(std::sqrt(v[at(first_row + i)]));
          std::ranges::transform(phi.row(i), scaled.row(i).begin(), [&](Real x) { return root * x; });
          scaled(i, columns_) = root;
        }
      });
      accumulate_gram<Real>(scaled.view().row_range(0, phi.rows), g);
      report(progress, "accumulating", static_cast<double>(first_row) / static_cast<double>(rows_));
    });
    return g;
  }

 private:
  struct Block {
    Index first_row = 0;
    Index rows = 0;
    Index first_chunk = 0;
    Index offset = 0;       ///< in the scratch file
    Matrix<Real> features;  ///< while in memory
  };

  void append(const FeatureMap& map, RowSource& source, Progress* progress) {
    FeatureRows<Real> blocks(map, source);
    const Index before = rows_;
    while (blocks.next()) {
      Block block;
      block.first_row = rows_;
      block.rows = blocks.count();
      block.first_chunk = chunks();
      block.features = Matrix<Real>(MatrixView<const Real>(blocks.features()));
      const RowBlock& row_block = blocks.source_block();
      for (Index i = 0; i < block.rows && row_block.targets.cols > 0; ++i) {
        const auto y = row_block.targets.row(i);
        targets_.insert(targets_.end(), y.begin(), y.end());
        weights_.push_back(blocks.weight(i));
      }
      cut(block.rows);
      bytes_ += block.rows * columns_ * static_cast<Index>(sizeof(Real));
      blocks_.push_back(std::move(block));
      if (bytes_ > most_bytes_) spill();
      const double total = static_cast<double>(std::max<Index>(1, source.row_count()));
      report(progress, "computing features", std::min(1.0, static_cast<double>(rows_ - before) / total));
    }
  }

  void spill() {
    if (!file_) file_ = std::make_unique<ScratchFile>();
    for (Block& block : blocks_) {
      if (block.features.empty()) continue;
      block.offset = file_->size();
      file_->append(block.features.data(), block.features.size() * static_cast<Index>(sizeof(Real)));
      block.features = {};
    }
  }

  template <class Consumer>
  void for_blocks(const Consumer& consume) const {
    Matrix<Real> buffer;
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      check_stop();
      const Block& block = blocks_[b];
      if (!file_) {
        consume(MatrixView<const Real>(block.features), block.first_row, block.first_chunk);
        continue;
      }
      const auto bytes = [&](const Block& k) { return k.rows * columns_ * static_cast<Index>(sizeof(Real)); };
      if (buffer.rows() < block.rows) buffer = Matrix<Real>(block.rows, columns_);
      file_->read(block.offset, buffer.data(), bytes(block));
      if (b + 1 < blocks_.size()) file_->expect(blocks_[b + 1].offset, bytes(blocks_[b + 1]));
      consume(MatrixView<const Real>(buffer.view().row_range(0, block.rows)), block.first_row, block.first_chunk);
    }
  }

  static void visit_chunk(MatrixView<const Real> phi, const Matrix<Real>& w, Index chunk, Index first_row,
                          const Visit& visit, MatrixView<Real> product) {
    Matrix<Real> f(phi.rows, w.cols());
    gemm<Real>(false, false, Real(1), phi, w, Real(0), f);
    Matrix<double> wide(phi.rows, w.cols());
    std::ranges::transform(f.values(), wide.values().begin(), [](Real x) { return static_cast<double>(x); });
    Matrix<double> t(phi.rows, product.cols);
    visit(chunk, first_row, wide, t);
    Matrix<Real> narrow(phi.rows, product.cols);
    std::ranges::transform(t.values(), narrow.values().begin(), [](double x) { return static_cast<Real>(x); });
    gemm<Real>(true, false, Real(1), phi, narrow, Real(0), product);
  }

  static void add_parts(const Matrix<Real>& parts, Index count, MutMatrix sum) {
    constexpr Index slice = 4096;
    const Index size = sum.rows * sum.cols;
    parallel_for((size + slice - 1) / slice, [&](Index s) {
      for (Index k = 0; k < count; ++k) {
        for (Index e = s * slice; e < std::min(size, (s + 1) * slice); ++e) {
          sum(e / sum.cols, e % sum.cols) += static_cast<double>(parts(k, e));
        }
      }
    });
  }

  Index most_bytes_;
  Index bytes_ = 0;
  std::vector<Block> blocks_;
  std::unique_ptr<ScratchFile> file_;
};

}  // namespace

void FeatureStore::cut(Index block_rows) {
  for (Index first = 0; first < block_rows; first += chunk_rows) {
    chunk_starts_.push_back(rows_ + std::min(block_rows, first + chunk_rows));
  }
  rows_ += block_rows;
}

void FeatureStore::for_chunks(const std::function<void(Index, Index, Index)>& task) const {
  check_stop();
  parallel_for(chunks(), [&](Index k) { task(k, chunk_start(k), chunk_start(k + 1)); });
}

std::unique_ptr<FeatureStore> FeatureStore::make(const FeatureMap& map, RowSource& rows, const Options& options,
                                                 Progress* progress) {
  std::unique_ptr<FeatureStore> store;
  if (options.precision == Precision::single_) {
    store = std::make_unique<Store<float>>(map, rows, options, progress);
  } else {
    store = std::make_unique<Store<double>>(map, rows, options, progress);
  }
  if (store->source_rows() == 0) fail_argument("there are no rows to learn from");
  return store;
}

}  // namespace mercer
