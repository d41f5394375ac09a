# Flags that every target of the project is built with.
add_library(mercer_flags INTERFACE)
target_compile_options(mercer_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor -Wold-style-cast -Woverloaded-virtual
  -Wnull-dereference -Wdouble-promotion -Wformat=2 -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 sees phantom null dereferences and overlaps through inlined standard containers.
  target_compile_options(mercer_flags INTERFACE -Wno-null-dereference -Wno-restrict -Wduplicated-cond -Wlogical-op)
endif()
if(MERCER_SANITIZE)
  target_compile_options(mercer_flags INTERFACE -fsanitize=${MERCER_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(mercer_flags INTERFACE -fsanitize=${MERCER_SANITIZE})
endif()

# mercer_layer(name [DEPENDS lower...]): the folder src/name as one static library, mercer_name. Adding a room is adding a file.
function(mercer_layer name)
  cmake_parse_arguments(LAYER "" "" "DEPENDS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  add_library(mercer_${name} STATIC ${sources})
  target_include_directories(mercer_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_include_directories(mercer_${name} SYSTEM PRIVATE ${RANDOM123_INCLUDE} ${XXHASH_INCLUDE} ${Boost_INCLUDE_DIRS})
  target_link_libraries(mercer_${name} PRIVATE mercer_flags)
  foreach(lower ${LAYER_DEPENDS})
    target_link_libraries(mercer_${name} PUBLIC mercer_${lower})
  endforeach()
  set_property(GLOBAL APPEND PROPERTY MERCER_LAYERS mercer_${name})
  if(EXISTS ${PROJECT_SOURCE_DIR}/src/${name}/layer.cmake)
    include(${PROJECT_SOURCE_DIR}/src/${name}/layer.cmake)
  endif()
endfunction()
