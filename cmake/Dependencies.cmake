# What Mercer is built from; docs/design.md says in one line each why. OpenBLAS is not here: it is loaded at run time, after
# its kernels have been chosen for this CPU (src/backend/cpu/blas.cpp).
if(MERCER_INSTALL)
  execute_process(COMMAND ${PROJECT_SOURCE_DIR}/tools/setup.sh wheel COMMAND_ERROR_IS_FATAL ANY)
endif()
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(Boost 1.74 REQUIRED)

find_path(RANDOM123_INCLUDE Random123/philox.h REQUIRED)
find_path(XXHASH_INCLUDE xxhash.h REQUIRED)
find_path(KISSFFT_INCLUDE kissfft/kissfft.hh REQUIRED)

set(MERCER_HAVE_HDF5 OFF)
if(MERCER_HDF5)
  find_package(HDF5 COMPONENTS C)
  if(HDF5_FOUND)
    set(MERCER_HAVE_HDF5 ON)
  endif()
endif()
