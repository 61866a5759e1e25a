# Language level, warnings, sanitizers and linker: everything that is the same for every target.

option(CORTEXFS_BUILD_TESTS "Build the tests, the fuzz replays and the bench" ON)
option(CORTEXFS_WERROR "Treat warnings as errors" OFF)
set(CORTEXFS_SANITIZE "" CACHE STRING "Sanitizers of the dynamic programs: empty, address, thread")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

find_program(CORTEXFS_MOLD mold)
if(CORTEXFS_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
find_program(CORTEXFS_CCACHE ccache)
if(CORTEXFS_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CORTEXFS_CCACHE}")
  set(CMAKE_C_COMPILER_LAUNCHER "${CORTEXFS_CCACHE}")
endif()

# Carried by every target of ours through cortexfs_library/program/test; the static runner takes the warnings only.
add_library(cortexfs_warnings INTERFACE)
target_compile_options(cortexfs_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wcast-align -Woverloaded-virtual
  -Wno-missing-field-initializers)
if(CORTEXFS_WERROR)
  target_compile_options(cortexfs_warnings INTERFACE -Werror)
endif()

add_library(cortexfs_flags INTERFACE)
target_link_libraries(cortexfs_flags INTERFACE cortexfs_warnings)
target_compile_definitions(cortexfs_flags INTERFACE
  QT_NO_CAST_FROM_ASCII QT_NO_CAST_TO_ASCII QT_NO_URL_CAST_FROM_STRING
  QT_NO_NARROWING_CONVERSIONS_IN_CONNECT QT_NO_FOREACH QT_NO_KEYWORDS
  _FILE_OFFSET_BITS=64 CORTEXFS_VERSION="${PROJECT_VERSION}")
target_include_directories(cortexfs_flags INTERFACE "${CMAKE_SOURCE_DIR}" "${CMAKE_BINARY_DIR}/generated")
if(CORTEXFS_SANITIZE STREQUAL "address")
  target_compile_options(cortexfs_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=undefined
    -fno-omit-frame-pointer
    # The run time of gcc 12 looks at an object through a pipe and, where descriptors have run out (tests make them run
    # out), takes every object for a wrong one.
    -fno-sanitize=vptr)
  target_link_options(cortexfs_flags INTERFACE -fsanitize=address,undefined)
elseif(CORTEXFS_SANITIZE STREQUAL "thread")
  target_compile_options(cortexfs_flags INTERFACE -fsanitize=thread -fno-omit-frame-pointer)
  target_link_options(cortexfs_flags INTERFACE -fsanitize=thread)
endif()
