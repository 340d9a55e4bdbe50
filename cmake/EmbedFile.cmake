# Files of the tree as C arrays:
#
#   embed_file(sources page_html serve/page/page.html)
#
# appends to `sources` a C file, made at build time, that defines
#
#   extern const unsigned char page_html[];   // followed by a 0
#   extern const size_t page_html_size;       // without the 0
#
# The file is its own script: cmake -DINPUT=… -DOUTPUT=… -DNAME=… -P EmbedFile.cmake

# Sets a variable to the elements of an array: "0x3c,0x21,", from hexadecimal digits.
function(embed_elements variable hex)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," array "${hex}")
  # 24 bytes a line: compilers and people dislike lines of megabytes.
  string(REPEAT "[0-9a-fx]+," 24 line)
  string(REGEX REPLACE "(${line})" "\\1\n" array "${array}")
  set(${variable} "${array}" PARENT_SCOPE)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  file(READ "${INPUT}" hex HEX)
  string(LENGTH "${hex}" digits)
  math(EXPR size "${digits} / 2")
  embed_elements(array "${hex}")
  file(WRITE "${OUTPUT}.new" "#include <stddef.h>\n\nextern const unsigned char ${NAME}[];\nextern const size_t ${NAME}_size;\n"
       "const unsigned char ${NAME}[] = {\n${array}0};\nconst size_t ${NAME}_size = ${size};\n")
  file(RENAME "${OUTPUT}.new" "${OUTPUT}")
  return()
endif()

set(FURROW_EMBED_SCRIPT "${CMAKE_CURRENT_LIST_FILE}")

function(embed_file sources name input)
  set(output "${CMAKE_BINARY_DIR}/embedded/${name}.c")
  file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/embedded")
  add_custom_command(
    OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" "-DINPUT=${CMAKE_CURRENT_SOURCE_DIR}/${input}" "-DOUTPUT=${output}" "-DNAME=${name}" -P
            "${FURROW_EMBED_SCRIPT}"
    DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${input}" "${FURROW_EMBED_SCRIPT}"
    VERBATIM)
  list(APPEND ${sources} "${output}")
  set(${sources} "${${sources}}" PARENT_SCOPE)
endfunction()
