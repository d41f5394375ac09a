# Frequencies are regenerated from their recipe, so they round the same way on every machine: no fused multiply-add.
foreach(file spectral_quantile spectral_law spectral_sampling orthogonal sobol)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/kernel/${file}.cpp PROPERTIES COMPILE_OPTIONS -ffp-contract=off)
endforeach()
