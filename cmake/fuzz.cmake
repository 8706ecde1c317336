# Programs that feed damaged files to what reads files; tools/fuzz.sh builds and runs them. One per file core/fuzz/*.cpp.
option(WISP_FUZZ "Build the fuzzers of what reads files: needs clang" OFF)
if(NOT WISP_FUZZ)
  return()
endif()

# Readers call few kernels: those only have to be there, and to be built quickly.
foreach(target kernels_baseline loops)
  target_compile_options(${target} PRIVATE -O1 -fno-sanitize=all)
endforeach()
target_compile_options(wisp_core PRIVATE -O1)

file(GLOB fuzz_sources CONFIGURE_DEPENDS core/fuzz/*.cpp)
foreach(source ${fuzz_sources})
  get_filename_component(name ${source} NAME_WE)
  add_executable(fuzz_${name} ${source} core/fuzz/shared/input.cpp)
  target_link_libraries(fuzz_${name} PRIVATE wisp_core)
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  precompile(fuzz_${name} core/precompiled.h)
endforeach()
if(TARGET fuzz_npy)
  target_sources(fuzz_npy PRIVATE core/runtime/tool/npy.cpp)
endif()
