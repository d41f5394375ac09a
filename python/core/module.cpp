#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <mercer/error.hpp>
#include <mercer/threads.hpp>

#include "bindings.hpp"
#include "job.hpp"
#include "options.hpp"
#include "spelling.hpp"

namespace nb = nanobind;

namespace {

/// The kinds of Error as the exceptions Python programs expect.
void translate(const std::exception_ptr& exception, void* /*unused*/) {
  try {
    std::rethrow_exception(exception);
  } catch (const mercer::Error& error) {
    PyObject* type = PyExc_RuntimeError;
    switch (error.kind()) {
      case mercer::ErrorKind::invalid_argument:
        type = PyExc_ValueError;
        break;
      case mercer::ErrorKind::file:
        type = PyExc_OSError;
        break;
      case mercer::ErrorKind::interrupted:
        type = PyExc_KeyboardInterrupt;
        break;
      case mercer::ErrorKind::internal:
        break;
    }
    PyErr_SetString(type, mercer::python::in_python(error.what()).c_str());
  }
}

}  // namespace

NB_MODULE(_core, module) {
  module.doc() = "Mercer's core: what the estimators of the package stand on.";
  module.def(
      "version", [] { return MERCER_VERSION; }, "Of the core.");
  nb::register_exception_translator(translate);
  module.def("set_threads", &mercer::set_threads, nb::arg("count"), "Threads for all later work; 0 means one per core.");
  module.def("threads", &mercer::threads, "Threads that work is spread over.");
  module.def("set_memory", &mercer::python::set_memory, nb::arg("bytes"),
             "Budget of working memory for all later fits, in bytes: 16e9. At first 4 GiB; fits that need more are refused, "
             "or stream.");
  module.def("memory", &mercer::python::memory, "Budget of working memory, in bytes.");
  module.def("in_python", &mercer::python::in_python, nb::arg("sentence"),
             "Options in a sentence of the core, as Python spells them.");
  mercer::python::bind_kernels(module);
  mercer::python::bind_model(module);
  mercer::python::bind_parts(module);
  mercer::python::bind_fit(module);
  mercer::python::bind_statistics(module);
  mercer::python::bind_table(module);
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&mercer::python::wait_for_abandoned));
}
