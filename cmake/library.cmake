# libwisp, for programs without Python: the objects of the core as one library, its headers, and what tells build
# systems where they are. The targets are part of every build; whoever wants them installed says so.
option(WISP_LIBRARY "Build libwisp, shared and static, and install it" ON)
if(NOT WISP_LIBRARY)
  return()
endif()

add_library(wisp SHARED ${all_objects})
target_link_libraries(wisp PRIVATE ${GOMP} ${CMAKE_DL_LIBS} pthread)
# Nothing of the libraries it is made of is seen from outside, and nothing in it is looked up there.
target_link_options(wisp PRIVATE -Wl,--exclude-libs,ALL -Wl,-Bsymbolic)
set_target_properties(wisp PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib INSTALL_RPATH "$ORIGIN/..")
set_target_properties(wisp_core PROPERTIES ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib OUTPUT_NAME wisp)

# Headers include each other by their rooms; programs find all of them under wisp/.
file(GLOB_RECURSE public_headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/core core/runtime/*.h core/runtime/*.inc)
list(FILTER public_headers EXCLUDE REGEX "bridge.h|internal")
foreach(header compiler complex device dtype error half scalar)
  list(APPEND public_headers base/${header}.h)
endforeach()
foreach(header ${public_headers})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/core/${header})
  file(READ core/${header} text)
  string(REPLACE "#include \"runtime/" "#include \"wisp/" text "${text}")
  string(REPLACE "#include \"base/" "#include \"wisp/base/" text "${text}")
  string(REGEX REPLACE "^runtime/" "" place ${header})
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/include/wisp/${place} CONTENT "${text}")
endforeach()
