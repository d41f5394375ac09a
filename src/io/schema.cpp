#include "io/dataset.hpp"

namespace mercer {

Index Schema::input_count() const {
  Index count = 0;
  for (const InputColumn& input : inputs)
    count += input.categories.empty() ? 1 : static_cast<Index>(input.categories.size());
  return count;
}

std::vector<std::string> Schema::input_names() const {
  std::vector<std::string> names;
  for (const InputColumn& input : inputs) {
    if (input.categories.empty()) names.push_back(input.name);
    for (const auto& category : input.categories) names.push_back(input.name + "=" + category);
  }
  return names;
}

}  // namespace mercer
