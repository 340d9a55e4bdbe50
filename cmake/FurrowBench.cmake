# Benchmarks, in <build>/bench/: bench_*.c measure Furrow, gen_*.c make their data, peer_*.cc measure another library
# where it is installed. The target furrow_bench builds what can be built.

add_custom_target(furrow_bench)

function(furrow_add_bench file)
  get_filename_component(name ${file} NAME_WE)
  add_executable(${name} EXCLUDE_FROM_ALL ${file})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
  target_include_directories(${name} PRIVATE bench src cli)
  target_link_libraries(${name} PRIVATE furrow_flags ${ARGN})
  add_dependencies(furrow_bench ${name})
endfunction()

# A program links the peers that furrow_<program> names, too.
include(FurrowBenchPeers)
file(GLOB programs CONFIGURE_DEPENDS bench/bench_*.c bench/gen_*.c bench/log/bench_*.c bench/log/gen_*.c
     bench/python/bench_*.c bench/serve/gen_*.c)
foreach(file ${programs})
  get_filename_component(name ${file} NAME_WE)
  furrow_add_bench(${file} furrow_static ${furrow_${name}})
endforeach()

# A peer_<name>.cc is built when furrow_peer_<name> names the libraries to link it with.
include(FurrowPeers)
if(CMAKE_CXX_COMPILER)
  file(GLOB programs CONFIGURE_DEPENDS bench/bench_*.cc)
  foreach(file ${programs})
    get_filename_component(name ${file} NAME_WE)
    furrow_add_bench(${file} furrow_static ${furrow_${name}})
  endforeach()
  file(GLOB peers CONFIGURE_DEPENDS bench/peer_*.cc)
  foreach(file ${peers})
    get_filename_component(name ${file} NAME_WE)
    if(furrow_${name})
      furrow_add_bench(${file} ${furrow_${name}})
    else()
      message(STATUS "${name} is not built: the library it measures is not installed")
    endif()
  endforeach()
endif()
