# The CUDA compiler, as tools/setup unpacks it from PyPI's wheels or as a toolkit brings it, called
# directly: CMake's own CUDA language insists on a complete toolkit. It needs no GPU and no driver.
# Gives GRAPEVINE_NVCC (false when there is none), GRAPEVINE_CUDA_INCLUDE, grapevine::cudart and
# grapevine_cuda_object().

set(GRAPEVINE_NVCC FALSE)
if(GRAPEVINE_CUDA STREQUAL "OFF")
  return()
endif()

grapevine_pinned(nvcc nvidia-cuda-nvcc nvcc_version)
find_program(GRAPEVINE_NVCC_PROGRAM nvcc NO_DEFAULT_PATH PATHS
  ${GRAPEVINE_CACHE}/nvcc-${nvcc_version}/nvidia/cu13/bin $ENV{CUDA_HOME}/bin /usr/local/cuda/bin)
if(NOT GRAPEVINE_NVCC_PROGRAM)
  if(GRAPEVINE_CUDA STREQUAL "ON")
    message(FATAL_ERROR "GRAPEVINE_CUDA=ON, but there is no nvcc: run tools/setup.")
  endif()
  message(STATUS "No nvcc: building without CUDA copies")
  return()
endif()
set(GRAPEVINE_NVCC ${GRAPEVINE_NVCC_PROGRAM})
get_filename_component(cuda_root ${GRAPEVINE_NVCC}/../.. ABSOLUTE)

set(GRAPEVINE_CUDA_INCLUDE ${cuda_root}/include)
find_library(GRAPEVINE_CUDART cudart_static REQUIRED NO_DEFAULT_PATH
  PATHS ${cuda_root}/lib ${cuda_root}/lib64)
add_library(grapevine::cudart INTERFACE IMPORTED)
target_link_libraries(grapevine::cudart INTERFACE ${GRAPEVINE_CUDART} Threads::Threads ${CMAKE_DL_LIBS} rt)

# grapevine_cuda_object(NAME SOURCE): NAME.o in the current binary folder, for A100 and H100 and, through
# PTX, for what comes after them. -fmad=false as -ffp-contract=off: the host's bits on the device too.
function(grapevine_cuda_object NAME SOURCE)
  set(object ${CMAKE_CURRENT_BINARY_DIR}/${NAME}.o)
  add_custom_command(OUTPUT ${object}
    COMMAND ${GRAPEVINE_NVCC} -c -std=c++20 -O3 -ccbin ${CMAKE_CXX_COMPILER}
      -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=[sm_90,compute_90]
      -fmad=false -Werror all-warnings -Xcompiler -fPIC,-Wall,-Wextra,-Werror,-ffp-contract=off
      -I ${PROJECT_SOURCE_DIR}/include -I ${PROJECT_SOURCE_DIR}/src -MD -MF ${object}.d -o ${object} ${SOURCE}
    DEPENDS ${SOURCE} DEPFILE ${object}.d VERBATIM COMMENT "nvcc ${NAME}.cu")
endfunction()
