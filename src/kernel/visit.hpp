#pragma once

namespace mercer {

/// One callable out of several lambdas, for std::visit.
template <class... Cases>
struct Overload : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overload(Cases...) -> Overload<Cases...>;

}  // namespace mercer
