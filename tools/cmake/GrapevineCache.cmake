# Where tools/setup unpacks what it fetches (GRAPEVINE_CACHE), and which versions it pins.

if(DEFINED ENV{XDG_CACHE_HOME})
  set(GRAPEVINE_CACHE $ENV{XDG_CACHE_HOME}/grapevine)
else()
  set(GRAPEVINE_CACHE $ENV{HOME}/.cache/grapevine)
endif()

# grapevine_pinned(FILE PACKAGE VARIABLE): the version of PACKAGE in tools/pins/FILE.txt.
function(grapevine_pinned FILE PACKAGE VARIABLE)
  set(pins ${PROJECT_SOURCE_DIR}/tools/pins/${FILE}.txt)
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${pins})
  file(STRINGS ${pins} line REGEX "^${PACKAGE}==")
  string(REGEX REPLACE "^${PACKAGE}==([^ ]+) .*" "\\1" version "${line}")
  set(${VARIABLE} ${version} PARENT_SCOPE)
endfunction()
