# Finds the core of libevent: the target Libevent::Libevent.
find_path(Libevent_INCLUDE_DIR event2/event.h)
find_library(Libevent_LIBRARY event_core)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libevent REQUIRED_VARS Libevent_LIBRARY Libevent_INCLUDE_DIR)
if(Libevent_FOUND AND NOT TARGET Libevent::Libevent)
  add_library(Libevent::Libevent UNKNOWN IMPORTED)
  set_target_properties(Libevent::Libevent PROPERTIES
    IMPORTED_LOCATION "${Libevent_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${Libevent_INCLUDE_DIR}")
endif()
mark_as_advanced(Libevent_INCLUDE_DIR Libevent_LIBRARY)
