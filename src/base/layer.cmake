target_link_libraries(mercer_base PUBLIC Threads::Threads)
# The random streams round the same way everywhere: no fused multiply-add.
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/base/random.cpp PROPERTIES COMPILE_OPTIONS -ffp-contract=off)
