# The files that `make install` installs: headers, both libraries, libfurrow_mpi.so, the command with its manual and completions,
# furrow-serve, furrow.pc and the CMake package.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/furrow)
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(DIRECTORY include/furrow DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
# Two sets: the shared library can be used where the packages that the archive needs are not installed.
install(TARGETS furrow EXPORT furrow_shared DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS furrow_static EXPORT furrow_static DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(furrow_mpi_targets) # mpi_load.c looks for them there
  install(TARGETS ${furrow_mpi_targets} DESTINATION ${CMAKE_INSTALL_LIBDIR}/furrow)
endif()
if(TARGET furrow_command)
  install(TARGETS furrow_command DESTINATION ${CMAKE_INSTALL_BINDIR})
  if(TARGET furrow_serve) # `furrow serve` starts the program that lies next to it
    install(TARGETS furrow_serve DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()

  # The command writes its own manual and completions: they say what its --help says.
  set(pages ${PROJECT_BINARY_DIR}/share)
  add_custom_command(OUTPUT ${pages}/made
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${pages}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${pages}/man1
    COMMAND furrow_command man ${pages}/man1
    COMMAND furrow_command completion bash > ${pages}/furrow
    COMMAND furrow_command completion zsh > ${pages}/_furrow
    COMMAND furrow_command completion fish > ${pages}/furrow.fish
    COMMAND ${CMAKE_COMMAND} -E touch ${pages}/made
    DEPENDS furrow_command COMMENT "Writing the manual" VERBATIM)
  add_custom_target(furrow_pages ALL DEPENDS ${pages}/made)
  set(FURROW_ZSH_DIR ${CMAKE_INSTALL_DATADIR}/zsh/site-functions CACHE STRING "Where zsh looks for completions")
  install(DIRECTORY ${pages}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
  install(FILES ${pages}/furrow DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${pages}/_furrow DESTINATION ${FURROW_ZSH_DIR})
  install(FILES ${pages}/furrow.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()

# The prefix is found from where furrow.pc lies, so that it is the one chosen at install time.
file(RELATIVE_PATH FURROW_PC_PREFIX /prefix/${pkgconfig_dir} /prefix)
string(REGEX REPLACE "/$" "" FURROW_PC_PREFIX "${FURROW_PC_PREFIX}")
set(FURROW_PC_DL "")
if(CMAKE_DL_LIBS) # where dlopen is in a library of its own
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
