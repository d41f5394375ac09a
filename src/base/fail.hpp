#pragma once
#include <mercer/error.hpp>

#include <string>

namespace mercer {

/// The three ways to refuse. `message` is one line: what, where, how to mend it.
[[noreturn]] inline void fail_argument(const std::string& message) {
  throw Error(ErrorKind::invalid_argument, message);
}
[[noreturn]] inline void fail_file(const std::string& message) {
  throw Error(ErrorKind::file, message);
}
[[noreturn]] inline void fail_internal(const std::string& message) {
  throw Error(ErrorKind::internal, message);
}

}  // namespace mercer
