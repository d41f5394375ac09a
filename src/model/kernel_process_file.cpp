#include "model/kernel_process_file.hpp"

#include "base/fail.hpp"
#include "kernel/tile.hpp"
#include "map/anchor_map.hpp"
#include "model/packed.hpp"

namespace mercer {
namespace {

using nlohmann::json;

Matrix<double> read_factor(const TensorFile& file, const std::string& name, Index size, const std::string& path) {
  Matrix<double> factor = unpacked(file.vector(name), path);
  if (factor.rows() != size) fail_file(path + ": a factor in it has the wrong size");
  check_diagonal(factor, path);
  return factor;
}

}  // namespace

json write_kernel_process(const KernelPosterior& posterior, const std::string& prefix, TensorFile& file) {
  const KernelPosteriorParts& parts = posterior.parts();
  file.add(prefix + "anchors", parts.anchors.view());
  file.add(prefix + "factor", packed(parts.factor));
  if (posterior.variational()) file.add(prefix + "inner", packed(parts.inner));
  file.add(prefix + "coefficients", parts.coefficients.view());
  file.add(prefix + "mean", parts.mean.view());
  file.add(prefix + "transform", parts.transform.view());
  file.add(prefix + "gain", parts.gain.view());
  file.add(prefix + "mean_factor", packed(parts.mean_factor));
  return {{"kernel", to_string(parts.kernel)},
          {"noise", parts.noise},
          {"ridge", parts.ridge},
          {"variational", posterior.variational()}};
}

KernelPosterior read_kernel_process(const json& j, const TensorFile& file, const std::string& prefix,
                                    const std::string& path, Index inputs) {
  KernelPosteriorParts parts;
  parts.kernel = one_scalar_kernel(parse_kernel(j.at("kernel").get<std::string>()));
  parts.noise = j.at("noise").get<double>();
  parts.ridge = j.at("ridge").get<double>();
  if (!(parts.noise > 0) || !(parts.ridge >= 0)) fail_file(path + ": a noise in it is not positive");
  parts.anchors = file.matrix(prefix + "anchors", -1, inputs);
  const Index m = parts.anchors.rows();
  if (m < 1) fail_file(path + ": a process in it has no rows");
  check_gram(parts.kernel, parts.anchors, parts.anchors);
  parts.factor = read_factor(file, prefix + "factor", m, path);
  if (j.at("variational").get<bool>()) parts.inner = read_factor(file, prefix + "inner", m, path);
  parts.coefficients = file.matrix(prefix + "coefficients", m, -1);
  const Index p = parts.coefficients.cols();
  if (p < 1) fail_file(path + ": a process in it has no outputs");
  parts.mean = file.matrix(prefix + "mean", -1, p);
  const Index raw = parts.mean.rows();
  if (raw > 1 && raw != 1 + inputs) fail_file(path + ": its mean does not fit its inputs");
  parts.transform = file.matrix(prefix + "transform", raw, -1);
  const Index rank = parts.transform.cols();
  if (rank > raw) fail_file(path + ": the basis of its mean is malformed");
  parts.gain = file.matrix(prefix + "gain", m, rank);
  parts.mean_factor = rank > 0 ? read_factor(file, prefix + "mean_factor", rank, path) : Matrix<double>();
  return KernelPosterior(std::move(parts));
}

}  // namespace mercer
