#include "model/build_map.hpp"

#include "base/fail.hpp"
#include "map/anchor_build.hpp"
#include "map/fourier.hpp"

namespace mercer {

std::shared_ptr<const FeatureMap> build_map(const Recipe& recipe, RowSource& scaled_rows, const FitOptions& options,
                                            std::vector<std::string>& notes) {
  switch (recipe.map) {
    case MapKind::fourier:
      return std::make_shared<FourierMap>(recipe.kernel, recipe.inputs(), recipe.outputs(), recipe.fourier);
    case MapKind::sketch:
      return std::make_shared<AnchorMap>(build_anchor_map(recipe.kernel, scaled_rows, recipe.outputs(), recipe.sketch,
                                                          options.memory_bytes, notes, options.progress));
    case MapKind::exact:
      break;
  }
  fail_internal("an exact model has no feature map");
}

}  // namespace mercer
