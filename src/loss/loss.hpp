#pragma once
#include <mercer/view.hpp>

#include <string>
#include <vector>

namespace mercer {

/// A convex loss ℓ(f, y) of a prediction f in R^p (THEORY 6). Everything a certified solver asks of it, one row at a time or
/// many rows in one call. f and y have `outputs` entries each, whatever the loss; classification losses read y as signs or
/// as a one-hot row. Every loss here is bounded below, so 0 always lies in the domain of its conjugate.
class Loss {
 public:
  virtual ~Loss() = default;

  virtual double value(Point f, Point y) const = 0;
  /// A subgradient with respect to f (the gradient where there is one); at a kink, the one of least norm.
  virtual void gradient(Point f, Point y, MutPoint g) const = 0;
  /// v := argmin_u step·ℓ(u, y) + ½‖u - v‖², step ≥ 0.
  virtual void prox(double step, Point y, MutPoint v) const = 0;
  /// ℓ*(a) = sup_u ⟨a, u⟩ - ℓ(u, y); +∞ outside of its domain. A point that misses the domain by rounding alone (8 + p ulp
  /// of the domain's size) counts as the point of its edge; anything computed as (v - prox(v)) / step carries the rounding
  /// of v / step and goes through project_dual first.
  virtual double conjugate(Point a, Point y) const = 0;
  /// a := the nearest point at which the conjugate is finite.
  virtual void project_dual(Point y, MutPoint a) const = 0;

  /// The least L with |ℓ(f, y) - ℓ(g, y)| ≤ L‖f - g‖₂ for all f, g, y; +∞ for losses that grow faster (square and its kin).
  virtual double lipschitz() const = 0;
  /// The least β for which the gradient is β-Lipschitz; +∞ for losses with a kink.
  virtual double smoothness() const = 0;
  /// True when ℓ is a sum over coordinates, Σ_j ℓ_j(f_j, y_j).
  virtual bool is_separable() const = 0;
  /// τ_1 … τ_p where ℓ is a sum of pinball losses of the outputs; empty for every other loss.
  virtual std::vector<double> pinball_levels() const = 0;
  /// The text form, which make_loss reads back: "huber:1.35", "pinball:0.1,0.5,0.9".
  virtual std::string text() const = 0;

  /// The same for all rows at once, without a virtual call per row. Row i of prox_rows takes the step step·weights[i]; no
  /// weights mean 1 each.
  virtual void value_rows(ConstMatrix f, ConstMatrix y, MutPoint values) const = 0;
  virtual void gradient_rows(ConstMatrix f, ConstMatrix y, MutMatrix g) const = 0;
  virtual void prox_rows(double step, Point weights, ConstMatrix y, MutMatrix v) const = 0;
  virtual void conjugate_rows(ConstMatrix a, ConstMatrix y, MutPoint values) const = 0;
  virtual void project_dual_rows(ConstMatrix y, MutMatrix a) const = 0;

  /// Rows a_i of the conjugates' domains, moved to rows of those domains with Σ_i weights[i] a_i = 0 up to rounding: what an
  /// unpenalised intercept asks of a dual point. The move is as long as the sum it removes (for
  /// multinomial up to 2/share of the rarest class times that), so a gap still closes. No weights mean 1 each. O(np).
  virtual void balance_dual(Point weights, ConstMatrix y, MutMatrix a) const = 0;

  /// Throws Error naming the first row that this loss cannot read as a target: not finite, not ±1, not one-hot.
  virtual void check_targets(ConstMatrix y) const = 0;
};

}  // namespace mercer
