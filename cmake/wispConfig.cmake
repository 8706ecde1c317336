# find_package(wisp) gives the targets
#   wisp::wisp    the shared library and its headers
#   wisp::static  the static library, if it was installed
#   wisp::torch   wisp::wisp, with <torch/torch.h> for programs written for PyTorch's C++ API
get_filename_component(_wisp_root "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
find_package(Threads REQUIRED)

if(NOT TARGET wisp::wisp)
  add_library(wisp::wisp SHARED IMPORTED)
  set_target_properties(wisp::wisp PROPERTIES IMPORTED_LOCATION "${_wisp_root}/lib/libwisp.so")
  if(EXISTS "${_wisp_root}/lib/libwisp.a")
    add_library(wisp::static STATIC IMPORTED)
    set_target_properties(wisp::static PROPERTIES IMPORTED_LOCATION "${_wisp_root}/lib/libwisp.a")
    target_link_libraries(wisp::static INTERFACE gomp Threads::Threads ${CMAKE_DL_LIBS})
  endif()
  foreach(_wisp_target wisp::wisp wisp::static)
    if(TARGET ${_wisp_target})
      target_include_directories(${_wisp_target} INTERFACE "${_wisp_root}/include")
      target_compile_features(${_wisp_target} INTERFACE cxx_std_17)
    endif()
  endforeach()
  add_library(wisp::torch INTERFACE IMPORTED)
  target_link_libraries(wisp::torch INTERFACE wisp::wisp)
  target_include_directories(wisp::torch INTERFACE "${_wisp_root}/include/wisp/compat")
endif()
set(wisp_LIBRARIES wisp::wisp)
set(wisp_INCLUDE_DIRS "${_wisp_root}/include")
