#pragma once
#include <mercer/view.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mercer {

/// A convex loss ℓ(f, y) of a prediction f in R^p (THEORY 6). Everything a certified solver asks of it, one row at a time.
/// f and y have `outputs` entries each, whatever the loss; classification losses read y as signs or as a one-hot row.
class Loss {
 public:
  virtual ~Loss() = default;

  virtual double value(Point f, Point y) const = 0;
  /// A subgradient with respect to f (the gradient where there is one).
  virtual void gradient(Point f, Point y, MutPoint g) const = 0;
  /// v := argmin_u step·ℓ(u, y) + ½‖u - v‖².
  virtual void prox(double step, Point y, MutPoint v) const = 0;
  /// ℓ*(a) = sup_u ⟨a, u⟩ - ℓ(u, y); +∞ outside of its domain.
  virtual double conjugate(Point a, Point y) const = 0;
  /// a := the nearest point at which the conjugate is finite.
  virtual void project_dual(Point y, MutPoint a) const = 0;
  /// The least L with |ℓ(f, y) - ℓ(g, y)| ≤ L‖f - g‖₂ for all f, g, y; +∞ for losses that grow faster (square and its kin).
  virtual double lipschitz() const = 0;
  /// The least β for which the gradient is β-Lipschitz; +∞ for losses with a kink.
  virtual double smoothness() const = 0;
  /// True when ℓ is a sum over coordinates, Σ_j ℓ_j(f_j, y_j).
  virtual bool is_separable() const = 0;
  /// The text form, which make_loss reads back: "huber:1.35", "pinball:0.1,0.5,0.9".
  virtual std::string text() const = 0;
};

}  // namespace mercer
