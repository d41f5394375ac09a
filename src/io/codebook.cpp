#include "io/codebook.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/text.hpp"

namespace mercer {

Codebook::Codebook(const std::vector<std::string>& texts) : sorted_(texts), ranks_(texts.size()) {
  for (const auto& text : texts) add(text);
  std::iota(ranks_.begin(), ranks_.end(), Index{0});
}

Index Codebook::find(std::string_view text) const {
  const auto it = numbers_.find(text);
  return it == numbers_.end() ? -1 : it->second;
}

Index Codebook::add(std::string_view text) {
  const auto [it, fresh] = numbers_.emplace(text, size());
  if (fresh) texts_.emplace_back(text);
  return it->second;
}

void Codebook::sort(bool by_number) {
  std::vector<double> values(texts_.size());
  for (std::size_t i = 0; by_number && i < texts_.size(); ++i) {
    by_number = parse_number(texts_[i], values[i]) && std::isfinite(values[i]);
  }
  std::vector<std::size_t> order(texts_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return by_number ? values[a] < values[b] : texts_[a] < texts_[b]; });
  sorted_.clear();
  ranks_.resize(texts_.size());
  for (std::size_t r = 0; r < order.size(); ++r) {
    sorted_.push_back(texts_[order[r]]);
    ranks_[order[r]] = static_cast<Index>(r);
  }
}

}  // namespace mercer
