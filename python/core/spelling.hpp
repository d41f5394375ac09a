#pragma once
#include <string>
#include <string_view>

namespace mercer::python {

/// A sentence of the core as a Python program would say it. The core names settings as the command line does, and nothing
/// else in its sentences looks like that: `--solver cholesky` becomes solver="cholesky", `--gp exact` ExactGP. An option
/// that Python has no word for is said to be of the command line. Errors, notes and warnings pass through here, and only
/// here.
std::string in_python(std::string_view sentence);

}  // namespace mercer::python
