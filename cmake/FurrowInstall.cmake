# What `make install` puts where: headers, both libraries, the command, furrow.pc and the CMake package.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/furrow)
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(DIRECTORY include/furrow DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
# Two sets: the shared library can be used where the packages that the archive needs are not installed.
install(TARGETS furrow EXPORT furrow_shared DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS furrow_static EXPORT furrow_static DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET furrow_command)
  install(TARGETS furrow_command DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

# The prefix is found from where furrow.pc lies, so that the one chosen at install time holds.
file(RELATIVE_PATH FURROW_PC_PREFIX /prefix/${pkgconfig_dir} /prefix)
string(REGEX REPLACE "/$" "" FURROW_PC_PREFIX "${FURROW_PC_PREFIX}")
set(FURROW_PC_DL "")
if(CMAKE_DL_LIBS) # a C library of its own for dlopen, where there is one
  set(FURROW_PC_DL -l${CMAKE_DL_LIBS})
endif()
configure_file(cmake/furrow.pc.in furrow.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/furrow.pc DESTINATION ${pkgconfig_dir})

foreach(kind shared static)
  install(EXPORT furrow_${kind} NAMESPACE furrow:: DESTINATION ${package_dir})
endforeach()
configure_package_config_file(cmake/furrowConfig.cmake.in furrowConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(furrowConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/furrowConfig.cmake ${PROJECT_BINARY_DIR}/furrowConfigVersion.cmake
  cmake/FindZstd.cmake cmake/FindXxhash.cmake
  DESTINATION ${package_dir})
