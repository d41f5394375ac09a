#pragma once

namespace mercer {

/// ω(c) for real c: the root of ω + log ω = c (Wright's omega, W(e^c)), to a few ulp.
double wright_omega(double c);

}  // namespace mercer
