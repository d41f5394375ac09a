#include <nanobind/nanobind.h>
#include <mercer/error.hpp>
#include <mercer/threads.hpp>

#include "bindings.hpp"
#include "job.hpp"

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
    PyErr_SetString(type, error.what());
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
  mercer::python::bind_kernels(module);
  mercer::python::bind_model(module);
  mercer::python::bind_parts(module);
  mercer::python::bind_fit(module);
  mercer::python::bind_statistics(module);
  mercer::python::bind_table(module);
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&mercer::python::wait_for_abandoned));
}
