# Flags for every target of ours, and the two functions that make targets.

find_program(GRAPEVINE_CCACHE ccache)
if(GRAPEVINE_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${GRAPEVINE_CCACHE})
endif()

add_library(grapevine_flags INTERFACE)
target_include_directories(grapevine_flags INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
# -ffp-contract=off: averages must have the same bits on every machine.
target_compile_options(grapevine_flags INTERFACE
  -Wall -Wextra -Werror -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -ffp-contract=off)
target_compile_definitions(grapevine_flags INTERFACE
  BOOST_ASIO_NO_DEPRECATED BOOST_ASIO_SEPARATE_COMPILATION GRAPEVINE_VERSION="${PROJECT_VERSION}")
if(GRAPEVINE_SANITIZE)
  target_compile_options(grapevine_flags INTERFACE -fsanitize=${GRAPEVINE_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(grapevine_flags INTERFACE -fsanitize=${GRAPEVINE_SANITIZE})
  if(GRAPEVINE_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(grapevine_flags INTERFACE -Wno-tsan)
  endif()
endif()
find_program(GRAPEVINE_MOLD mold)
if(GRAPEVINE_MOLD AND NOT GRAPEVINE_FUZZ)
  target_link_options(grapevine_flags INTERFACE -fuse-ld=mold)
endif()

# grapevine_module(NAME [DEPENDS target…]): library grapevine_NAME from src/NAME/*.cpp.
function(grapevine_module NAME)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${NAME}/*.cpp)
  if(NOT sources)
    return()
  endif()
  add_library(grapevine_${NAME} STATIC ${sources})
  target_link_libraries(grapevine_${NAME} PUBLIC grapevine_flags ${ARG_DEPENDS})
endfunction()

# grapevine_unit_tests(MODULE [LIBRARIES target…]): program unit_MODULE from tests/unit/MODULE/*_test.cpp.
function(grapevine_unit_tests MODULE)
  cmake_parse_arguments(ARG "" "" "LIBRARIES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/unit/${MODULE}/*_test.cpp)
  if(NOT sources)
    return()
  endif()
  add_executable(unit_${MODULE} ${sources} ${PROJECT_SOURCE_DIR}/tests/unit/main.cpp)
  target_link_libraries(unit_${MODULE} PRIVATE grapevine_${MODULE} ${ARG_LIBRARIES} rapidcheck)
  target_include_directories(unit_${MODULE} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  add_test(NAME unit_${MODULE} COMMAND unit_${MODULE})
  set_tests_properties(unit_${MODULE} PROPERTIES LABELS unit TIMEOUT 120)
endfunction()
