#include "kernel/evaluate.hpp"

#include <algorithm>
#include <variant>
#include <vector>

#include "kernel/leaf.hpp"
#include "kernel/visit.hpp"

namespace mercer {

double value(const Kernel& kernel, Point x, Point z) {
  return std::visit(Overload{[&](const Sum& k) {
                               double sum = 0;
                               for (const Kernel& term : k.terms) sum += value(term, x, z);
                               return sum;
                             },
                             [&](const Product& k) {
                               double product = 1;
                               for (const Kernel& factor : k.factors) product *= value(factor, x, z);
                               return product;
                             },
                             [&](const Scaled& k) { return k.factor * value(k.kernel.front(), x, z); },
                             [&](const auto& leaf) { return leaf_value(leaf, x, z); }},
                    kernel.form);
}

namespace {

void scale(MutMatrix a, double factor) {
  for (Index i = 0; i < a.rows; ++i) {
    for (double& entry : a.row(i)) entry *= factor;
  }
}

/// a += factor·b.
void add(MutMatrix a, double factor, ConstMatrix b) {
  for (Index i = 0; i < a.rows; ++i) {
    for (Index j = 0; j < a.cols; ++j) a(i, j) += factor * b(i, j);
  }
}

void fill(MutMatrix a, double entry) {
  for (Index i = 0; i < a.rows; ++i) std::fill_n(a.data + i * a.stride, a.cols, entry);
}

MutMatrix as_row(MutPoint v) {
  return {v.data(), 1, static_cast<Index>(v.size())};
}

/// ∇(uv) = u∇v + v∇u, one factor at a time.
void product_gradient(const Product& kernel, Point x, Point z, MutPoint gradient) {
  std::vector<double> part(gradient.size());
  std::fill(gradient.begin(), gradient.end(), 0.0);
  double u = 1;
  for (const Kernel& factor : kernel.factors) {
    const double v = value(factor, x, z);
    input_gradient(factor, x, z, part);
    scale(as_row(gradient), v);
    add(as_row(gradient), u, as_row(part));
    u *= v;
  }
}

/// ∇∇ᵀ(uv) = u∇∇ᵀv + ∇u∇vᵀ + ∇v∇uᵀ + v∇∇ᵀu, one factor at a time.
void product_hessian(const Product& kernel, Point x, Point z, MutMatrix hessian) {
  Matrix<double> part(hessian.rows, hessian.cols);
  std::vector<double> slope(x.size());
  std::vector<double> part_slope(x.size());
  fill(hessian, 0);
  double u = 1;
  for (const Kernel& factor : kernel.factors) {
    const double v = value(factor, x, z);
    input_gradient(factor, x, z, part_slope);
    shift_hessian(factor, x, z, part);
    scale(hessian, v);
    add(hessian, u, part);
    for (Index i = 0; i < hessian.rows; ++i) {
      const auto at = static_cast<std::size_t>(i);
      for (Index j = 0; j < hessian.cols; ++j) {
        const auto to = static_cast<std::size_t>(j);
        hessian(i, j) += slope[at] * part_slope[to] + part_slope[at] * slope[to];
      }
    }
    scale(as_row(slope), v);
    add(as_row(slope), u, as_row(part_slope));
    u *= v;
  }
}

}  // namespace

void input_gradient(const Kernel& kernel, Point x, Point z, MutPoint gradient) {
  std::visit(Overload{[&](const Sum& k) {
                        std::vector<double> part(gradient.size());
                        std::fill(gradient.begin(), gradient.end(), 0.0);
                        for (const Kernel& term : k.terms) {
                          input_gradient(term, x, z, part);
                          add(as_row(gradient), 1, as_row(part));
                        }
                      },
                      [&](const Product& k) { product_gradient(k, x, z, gradient); },
                      [&](const Scaled& k) {
                        input_gradient(k.kernel.front(), x, z, gradient);
                        scale(as_row(gradient), k.factor);
                      },
                      [&](const auto& leaf) { leaf_gradient(leaf, x, z, gradient); }},
             kernel.form);
}

void shift_hessian(const Kernel& kernel, Point x, Point z, MutMatrix hessian) {
  std::visit(Overload{[&](const Sum& k) {
                        Matrix<double> part(hessian.rows, hessian.cols);
                        fill(hessian, 0);
                        for (const Kernel& term : k.terms) {
                          shift_hessian(term, x, z, part);
                          add(hessian, 1, part);
                        }
                      },
                      [&](const Product& k) { product_hessian(k, x, z, hessian); },
                      [&](const Scaled& k) {
                        shift_hessian(k.kernel.front(), x, z, hessian);
                        scale(hessian, k.factor);
                      },
                      [&](const auto& leaf) { leaf_hessian(leaf, x, z, hessian); }},
             kernel.form);
}

namespace {

/// Whether every leaf satisfies `good`.
template <class Good>
bool all_leaves(const Kernel& kernel, const Good& good) {
  const auto inner = [&](const Kernel& child) { return all_leaves(child, good); };
  return std::visit(
      Overload{[&](const Sum& k) { return std::all_of(k.terms.begin(), k.terms.end(), inner); },
               [&](const Product& k) { return std::all_of(k.factors.begin(), k.factors.end(), inner); },
               [&](const Scaled& k) { return inner(k.kernel.front()); }, [&](const auto& leaf) { return good(leaf); }},
      kernel.form);
}

}  // namespace

bool is_shift_invariant(const Kernel& kernel) {
  return all_leaves(kernel, Overload{[](const Linear&) { return false; }, [](const Polynomial&) { return false; },
                                     [](const auto&) { return true; }});
}

/// Sums mix frequencies and products add independent ones, so the second moment is finite when it is for every leaf.
bool has_second_moment(const Kernel& kernel) {
  return all_leaves(kernel, Overload{[](const Linear&) { return false; }, [](const Polynomial&) { return false; },
                                     [](const Laplacian&) { return false; }, [](const Matern& k) { return k.nu > 1; },
                                     [](const auto&) { return true; }});
}

}  // namespace mercer
