#pragma once
#include <nanobind/nanobind.h>

namespace mercer::python {

/// One function per file of bindings; module.cpp calls them all.
void bind_kernels(nanobind::module_& module);
void bind_model(nanobind::module_& module);
void bind_parts(nanobind::module_& module);
void bind_fit(nanobind::module_& module);
void bind_statistics(nanobind::module_& module);
void bind_table(nanobind::module_& module);

}  // namespace mercer::python
