# The few shapes a target can have here.
#
#   cortexfs_library(NAME SOURCES a.cpp ... LINKS Qt6::Core ...)
#   cortexfs_program(NAME SOURCES main.cpp ... LINKS ...)
#   cortexfs_test(NAME SOURCES x_test.cpp ... LINKS ... [LABELS e2e] [TIMEOUT 60] [NEEDS_ROOT])
#   cortexfs_family(NAME family FUNCTION fn HEADER h TYPE t)    see the function

function(cortexfs_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC cortexfs_flags ${ARG_LINKS})
endfunction()

function(cortexfs_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE cortexfs_flags ${ARG_LINKS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
endfunction()

function(cortexfs_test name)
  cmake_parse_arguments(ARG "NEEDS_ROOT" "TIMEOUT" "SOURCES;LINKS;LABELS;ENVIRONMENT" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES AUTOMOC ON)
  target_link_libraries(${name} PRIVATE cortexfs_flags ${ARG_LINKS} Qt6::Test)
  target_compile_definitions(${name} PRIVATE
    CORTEXFS_TEST_DATA="${CMAKE_SOURCE_DIR}/tests" CORTEXFS_BIN_DIR="${CMAKE_BINARY_DIR}/bin")
  # Tests are tables: optimising them costs minutes and wins nothing. What they test is optimised as built.
  target_compile_options(${name} PRIVATE -O0)
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}"
    ENVIRONMENT "QT_NO_GLIB=1;${ARG_ENVIRONMENT}")
endfunction()

# A family is a folder whose members are folders with a member.cmake:
#
#   <family>/<member>/member.cmake   calls cortexfs_member(SOURCES ... ENTRY qualified::function HEADER file.h)
#
# The registry is generated: <build>/generated/<family path>/registry.inc holds one `X(entry)` line a member, included
# where the family's registry.cpp builds its table. Members link what the family's library links and nothing else.
macro(cortexfs_member)
  cmake_parse_arguments(MEMBER "" "ENTRY;HEADER" "SOURCES" ${ARGN})
  foreach(source ${MEMBER_SOURCES})
    list(APPEND FAMILY_SOURCES "${MEMBER_DIR}/${source}")
  endforeach()
  file(RELATIVE_PATH member_header "${CMAKE_SOURCE_DIR}" "${MEMBER_DIR}/${MEMBER_HEADER}")
  string(APPEND FAMILY_INCLUDES "#include \"${member_header}\"\n")
  string(APPEND FAMILY_ENTRIES "X(${MEMBER_ENTRY})\n")
endmacro()

# cortexfs_family(OUT_VARIABLE FAMILY_DIR): collects the members, sets OUT_VARIABLE to their sources and writes
# generated/<path>/registry_includes.inc and generated/<path>/registry_entries.inc.
function(cortexfs_family out dir)
  set(FAMILY_SOURCES)
  set(FAMILY_INCLUDES)
  set(FAMILY_ENTRIES)
  file(GLOB members CONFIGURE_DEPENDS "${dir}/*/member.cmake")
  foreach(file ${members})
    get_filename_component(MEMBER_DIR "${file}" DIRECTORY)
    include("${file}")
  endforeach()
  file(RELATIVE_PATH relative "${CMAKE_SOURCE_DIR}" "${dir}")
  set(base "${CMAKE_BINARY_DIR}/generated/${relative}")
  file(CONFIGURE OUTPUT "${base}/registry_includes.inc" CONTENT "${FAMILY_INCLUDES}" @ONLY)
  file(CONFIGURE OUTPUT "${base}/registry_entries.inc" CONTENT "${FAMILY_ENTRIES}" @ONLY)
  set(${out} "${FAMILY_SOURCES}" PARENT_SCOPE)
endfunction()
