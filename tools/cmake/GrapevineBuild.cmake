# Flags for every target of ours, and the functions that make targets.

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

find_program(GRAPEVINE_CCACHE ccache)
if(GRAPEVINE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${GRAPEVINE_CCACHE})
endif()

add_library(grapevine_flags INTERFACE)
target_include_directories(grapevine_flags INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
# -ffp-contract=off: averages must have the same bits on every machine.
target_compile_options(grapevine_flags INTERFACE
  -Wall -Wextra -Werror -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False alarms of g++ 12, all from inlining: one half of a coroutine frame's new and delete taken for
  # strangers; the inactive members of a variant taken for uninitialised; and, at -O3, impossible sizes
  # assumed inside std::string and std::vector.
  target_compile_options(grapevine_flags INTERFACE -Wno-mismatched-new-delete -Wno-maybe-uninitialized
    -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # Shadowing is held by g++; clang's idea of it includes names of nested types. And
  # the stable_sort of libstdc++ 12 uses a function it has itself marked as deprecated.
  target_compile_options(grapevine_flags INTERFACE -Wno-deprecated-declarations -Wno-shadow)
endif()
target_compile_definitions(grapevine_flags INTERFACE
  BOOST_ASIO_NO_DEPRECATED BOOST_ASIO_SEPARATE_COMPILATION GRAPEVINE_VERSION="${PROJECT_VERSION}")
if(GRAPEVINE_SANITIZE)
  # No recovery: undefined behaviour fails the test instead of printing a line nobody reads.
  target_compile_options(grapevine_flags INTERFACE
    -fsanitize=${GRAPEVINE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
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
  set(timeout 120)
  if(GRAPEVINE_SANITIZE)
    set(timeout 900)
  endif()
  set_tests_properties(unit_${MODULE} PROPERTIES LABELS unit TIMEOUT ${timeout} SKIP_RETURN_CODE 77)
endfunction()

# grapevine_fuzz(NAME SOURCE [LIBRARIES target…]): program fuzz_NAME from a source that defines
# LLVMFuzzerTestOneInput. With GRAPEVINE_FUZZ it is a libFuzzer program: one test runs the corpus,
# another (label fresh) goes on from there with inputs of its own, which are not the same each time.
# Otherwise the same source links with a small main that runs the corpus and mutations of it from a
# fixed seed without clang, so every build keeps the targets compiling and honest.
function(grapevine_fuzz NAME SOURCE)
  cmake_parse_arguments(ARG "" "" "LIBRARIES" ${ARGN})
  set(corpus ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${NAME})
  add_executable(fuzz_${NAME} ${SOURCE})
  target_link_libraries(fuzz_${NAME} PRIVATE ${ARG_LIBRARIES} grapevine_flags)
  target_include_directories(fuzz_${NAME} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  if(GRAPEVINE_FUZZ)
    target_link_options(fuzz_${NAME} PRIVATE -fsanitize=fuzzer)
    set(scratch ${CMAKE_CURRENT_BINARY_DIR}/found/${NAME})  # new inputs go here, not to the sources
    file(MAKE_DIRECTORY ${scratch})
    set(known)
    if(EXISTS ${corpus})
      set(known ${corpus})
    endif()
    set(bounds -rss_limit_mb=1024 -timeout=10)
    add_test(NAME fuzz_${NAME} COMMAND fuzz_${NAME} -runs=0 ${bounds} ${known})
    add_test(NAME fuzz_${NAME}_fresh COMMAND fuzz_${NAME} -runs=20000 -max_total_time=10 ${bounds}
      -print_final_stats=1 ${scratch} ${known})
    set_tests_properties(fuzz_${NAME}_fresh PROPERTIES LABELS fresh TIMEOUT 120)
  else()
    target_sources(fuzz_${NAME} PRIVATE ${PROJECT_SOURCE_DIR}/tests/fuzz/replay_main.cpp)
    add_test(NAME fuzz_${NAME} COMMAND fuzz_${NAME} ${corpus})
  endif()
  set_tests_properties(fuzz_${NAME} PROPERTIES LABELS fuzz TIMEOUT 120)
  add_dependencies(fuzzers fuzz_${NAME})
endfunction()
