# grapevine::libtorch: the C++ library inside PyPI's torch wheel, as tools/setup unpacks it. The
# wheel's own find_package stops where no CUDA toolkit is installed, so the target is made here.

if(NOT GRAPEVINE_TORCH)
  return()
endif()

if(GRAPEVINE_LIBTORCH)
  set(libtorch_root ${GRAPEVINE_LIBTORCH})
elseif(DEFINED ENV{GRAPEVINE_LIBTORCH})
  set(libtorch_root $ENV{GRAPEVINE_LIBTORCH})
else()
  grapevine_pinned(libtorch torch torch_version)
  set(libtorch_root ${GRAPEVINE_CACHE}/libtorch-${torch_version})
endif()
if(NOT EXISTS ${libtorch_root}/torch/include/torch/csrc/api/include/torch/torch.h)
  message(FATAL_ERROR "No LibTorch in ${libtorch_root}: run tools/setup, or name one with GRAPEVINE_LIBTORCH=DIR.")
endif()

set(libtorch_lib ${libtorch_root}/torch/lib)
set(libtorch_cuda_lib ${libtorch_root}/nvidia/cu13/lib)
add_library(grapevine::libtorch INTERFACE IMPORTED)
target_include_directories(grapevine::libtorch SYSTEM INTERFACE
  ${libtorch_root}/torch/include ${libtorch_root}/torch/include/torch/csrc/api/include)
target_link_libraries(grapevine::libtorch INTERFACE ${libtorch_lib}/libtorch_cpu.so ${libtorch_lib}/libc10.so)
target_link_options(grapevine::libtorch INTERFACE
  -Wl,-rpath,${libtorch_lib} -Wl,-rpath,${libtorch_cuda_lib} -Wl,-rpath-link,${libtorch_cuda_lib})
