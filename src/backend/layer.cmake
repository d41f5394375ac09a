target_link_libraries(mercer_backend PUBLIC ${CMAKE_DL_LIBS})
# Instruction sets only on isolated files, chosen at run time (cos_sin_dispatch.cpp, tile_loops_dispatch.cpp, thin_products_dispatch.cpp, side_by_side_dispatch.cpp).
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(simd_options -O3 -fno-math-errno -fno-trapping-math)
  foreach(loops cos_sin tile_loops thin_products)
    set(simd_file ${PROJECT_SOURCE_DIR}/src/backend/cpu/${loops})
    set_source_files_properties(${simd_file}_portable.cpp PROPERTIES COMPILE_OPTIONS "${simd_options}")
    set_source_files_properties(${simd_file}_avx2.cpp PROPERTIES COMPILE_OPTIONS "${simd_options};-mavx2;-mfma")
    set_source_files_properties(${simd_file}_avx512.cpp
      PROPERTIES COMPILE_OPTIONS "${simd_options};-mavx512f;-mavx512dq;-mavx512bw;-mavx512vl;-mfma;-mprefer-vector-width=512")
  endforeach()
  set(packed_file ${PROJECT_SOURCE_DIR}/src/backend/cpu/packed)
  set(packed_options -O3 -mavx512f -mavx512dq -mavx512bw -mavx512vl)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # GCC 12 takes _mm512_undefined() of its own headers for an oversight
    list(APPEND packed_options -Wno-maybe-uninitialized -Wno-uninitialized)
  endif()
  set_source_files_properties(${packed_file}_avx512_bf16.cpp PROPERTIES COMPILE_OPTIONS "${packed_options};-mavx512bf16")
  set_source_files_properties(${packed_file}_avx512_vnni.cpp PROPERTIES COMPILE_OPTIONS "${packed_options};-mavx512vnni")
  set_source_files_properties(${packed_file}_amx.cpp
    PROPERTIES COMPILE_OPTIONS "${packed_options};-mprefer-vector-width=512;-mamx-tile;-mamx-bf16;-mamx-int8")
endif()
