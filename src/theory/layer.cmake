# The formulas rest on kernels alone; the map is named in CMakeLists for the measured errors of the layers above.
target_link_libraries(mercer_theory PUBLIC mercer_kernel)
