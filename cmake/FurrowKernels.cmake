# Kernels: src/kern/<subfolder>/<topic>_<isa>.c is compiled with the flags of its instruction set, and only for its
# architecture. src/kern/dispatch.c chooses among them when the program starts.

set(furrow_avx2_flags -mavx2 -mbmi -mbmi2 -mfma -mf16c -mlzcnt -mpopcnt)
set(furrow_avx512_flags ${furrow_avx2_flags} -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512vbmi -mavx512vbmi2
  -mavx512vnni)

# Checks that end the program make clang take minutes for unrolled loops; those that go on do not. The tests and the
# fuzzing set halt_on_error=1, which ends it all the same.
if(FURROW_SANITIZE AND CMAKE_C_COMPILER_ID MATCHES "Clang")
  list(APPEND furrow_avx2_flags -fsanitize-recover=undefined)
  list(APPEND furrow_avx512_flags -fsanitize-recover=undefined)
endif()

# GCC puts what it aligns to 64 bytes on its stack of returned functions at multiples of 32 bytes.
if(FURROW_SANITIZE MATCHES "address" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
  list(APPEND furrow_avx512_flags --param=asan-use-after-return=0)
endif()

function(furrow_choose_kernels list_name)
  set(chosen ${${list_name}})
  string(TOLOWER "${CMAKE_SYSTEM_PROCESSOR}" processor)
  if(NOT processor MATCHES "^(x86_64|amd64)$")
    list(FILTER chosen EXCLUDE REGEX "/kern/[a-z]+/[a-z]+_avx[0-9]+\\.c$")
  endif()
  if(NOT processor MATCHES "^(aarch64|arm64)$")
    list(FILTER chosen EXCLUDE REGEX "/kern/[a-z]+/[a-z]+_neon\\.c$")
  endif()
  # Kernels have arrays of fixed sizes alone, and no time to check them at every call.
  set(files ${chosen})
  list(FILTER files INCLUDE REGEX "/kern/")
  set_property(SOURCE ${files} APPEND PROPERTY COMPILE_OPTIONS -fno-stack-protector)
  # AddressSanitizer sees what is read or written outside of an array; checks of every address before that take half the time.
  if(FURROW_SANITIZE AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    set_property(SOURCE ${files} APPEND PROPERTY COMPILE_OPTIONS -O2 -fno-sanitize=pointer-overflow
      -Wno-maybe-uninitialized) # which the instrumentation of -O2 confuses
  endif()
  foreach(isa avx2 avx512)
    set(files ${chosen})
    list(FILTER files INCLUDE REGEX "/kern/[a-z]+/[a-z]+_${isa}\\.c$")
    if(files)
      set_property(SOURCE ${files} APPEND PROPERTY COMPILE_OPTIONS ${furrow_${isa}_flags})
    endif()
  endforeach()
  set(${list_name} ${chosen} PARENT_SCOPE)
endfunction()
