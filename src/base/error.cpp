#include <mercer/error.hpp>

namespace mercer {

Error::Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
Error::~Error() = default;

}  // namespace mercer
