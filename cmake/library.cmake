# libwisp, for programs without Python: the objects of the core as one library, its headers, and what tells build
# systems where they are. The build folder looks as the installed package does, so that programs can be built from either.
option(WISP_LIBRARY "Build libwisp, and install it with its headers" ON)
option(WISP_STATIC "Install libwisp.a too" OFF)
if(NOT WISP_LIBRARY)
  return()
endif()
set(place ${CMAKE_BINARY_DIR})

# --- the libraries: the same objects; the shared one has what the runtime needs

add_library(wisp SHARED $<TARGET_OBJECTS:runtime>)
target_link_libraries(wisp PRIVATE wisp_core)
# What is in it is found in it, whatever else a program has loaded.
target_link_options(wisp PRIVATE -Wl,-Bsymbolic)
set_target_properties(wisp PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${place}/lib)
set_target_properties(wisp_core PROPERTIES ARCHIVE_OUTPUT_DIRECTORY ${place}/lib OUTPUT_NAME wisp)

# --- the program, which uses the library as any other does

file(GLOB tool_sources CONFIGURE_DEPENDS core/runtime/tool/*.cpp)
add_executable(wisp_tool ${tool_sources})
target_include_directories(wisp_tool PRIVATE core)
target_link_libraries(wisp_tool PRIVATE wisp)
set_target_properties(wisp_tool PROPERTIES OUTPUT_NAME wisp RUNTIME_OUTPUT_DIRECTORY ${place}/bin
  BUILD_RPATH "$ORIGIN/../lib" INSTALL_RPATH "$ORIGIN/../lib")

# --- headers: they include each other by their rooms; programs find all of them under wisp/

file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/core core/runtime/*.h core/runtime/*.inc)
list(FILTER headers EXCLUDE REGEX "bridge.h$|/internal/|/tool/")
foreach(name compiler complex device dtype error float8 half scalar)
  list(APPEND headers base/${name}.h)
endforeach()
foreach(header ${headers})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/core/${header})
  file(READ core/${header} text)
  string(REPLACE "#include \"runtime/" "#include \"wisp/" text "${text}")
  string(REPLACE "#include \"base/" "#include \"wisp/base/" text "${text}")
  string(REGEX REPLACE "^runtime/" "" name ${header})
  file(GENERATE OUTPUT ${place}/include/wisp/${name} CONTENT "${text}")
endforeach()
# <torch/torch.h> and <torch/script.h>, for who asks for it: a folder of its own.
foreach(name torch script)
  file(GENERATE OUTPUT ${place}/include/wisp/compat/torch/${name}.h CONTENT "#pragma once\n#include \"wisp/torch.h\"\n")
endforeach()

# --- for CMake and pkg-config

file(STRINGS pyproject.toml version REGEX "^version = ")
string(REGEX REPLACE ".*\"(.*)\".*" "\\1" version "${version}")
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${place}/share/cmake/wisp/wispConfigVersion.cmake
  VERSION ${version} COMPATIBILITY SameMinorVersion)
configure_file(cmake/wispConfig.cmake ${place}/share/cmake/wisp/wispConfig.cmake COPYONLY)
configure_file(cmake/wisp.pc.in ${place}/lib/pkgconfig/wisp.pc @ONLY)

install(TARGETS wisp LIBRARY DESTINATION wisp/lib)
install(TARGETS wisp_tool RUNTIME DESTINATION wisp/bin)
install(DIRECTORY ${place}/include ${place}/share DESTINATION wisp)
install(FILES ${place}/lib/pkgconfig/wisp.pc DESTINATION wisp/lib/pkgconfig)
if(WISP_STATIC)
  install(TARGETS wisp_core ARCHIVE DESTINATION wisp/lib)
endif()
