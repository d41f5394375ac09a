#pragma once
#include <mercer/kernel.hpp>

#include <string>

namespace mercer {

inline constexpr int max_polynomial_degree = 100;
inline constexpr std::size_t max_mixture_components = 10000;

/// "gaussian", "sum", …: the word for the outermost form.
const char* form_name(const Kernel& kernel);

/// What is wrong with the numbers of the outermost form ("matern needs nu > 0, got -1"), or "" when nothing is. Knows
/// neither the data nor the children of sums and products.
std::string broken_rule(const Kernel& kernel);
std::string broken_rule(const OutputMatrix& outputs);
/// For the factor of a Scaled and the weight of an operator term.
std::string broken_factor_rule(double factor);
/// For the share of a Helmholtz.
std::string broken_share_rule(double share);

}  // namespace mercer
