#pragma once
#include <mercer/export.hpp>
#include <stdexcept>
#include <string>

namespace mercer {

/// Whose fault it is, so that every front end (exit code, Python exception) can react alike.
enum class ErrorKind {
  invalid_argument,  ///< an option, kernel text or array that cannot mean anything (exit 2, ValueError)
  file,              ///< a file that is missing, unreadable, malformed or cannot be written (exit 2, OSError)
  interrupted,       ///< the user asked to stop (exit 130, KeyboardInterrupt)
  internal,          ///< a broken promise of ours (exit 1, RuntimeError)
};

/// The one exception Mercer throws. The message says what, where, and how to mend it, in one line.
class MERCER_API Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message);
  ~Error() override;
  ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace mercer
