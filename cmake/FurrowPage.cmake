# The page of furrow-serve: page.html, page.css and page.js become one document in a C file, and its headers with it.
#
#   furrow_add_page(TARGET)    adds the C file to the target; it is written again when a part changes
#
# The file is its own script as well: cmake -DSOURCE=… -DOUT=… -DVERSION=… -P FurrowPage.cmake writes the C file.

# Sets a variable to the base64 of a SHA-256, as a Content-Security-Policy names a script or a style.
function(page_hash variable file)
  set(alphabet ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
  file(SHA256 ${file} digits)
  # 32 bytes are ten groups of three, and two bytes that a zero completes.
  string(APPEND digits 00)
  set(text "")
  foreach(start RANGE 0 60 6)
    string(SUBSTRING ${digits} ${start} 6 group)
    foreach(shift 18 12 6 0)
      math(EXPR place "(0x${group} >> ${shift}) & 63")
      string(SUBSTRING ${alphabet} ${place} 1 letter)
      string(APPEND text ${letter})
    endforeach()
  endforeach()
  string(REGEX REPLACE ".$" "=" text ${text})
  set(${variable} ${text} PARENT_SCOPE)
endfunction()

# Sets a variable to the document as hexadecimal digits: then no sign in it means anything to CMake.
function(page_join variable)
  file(READ ${SOURCE}/page.html document HEX)
  file(READ ${SOURCE}/page.css style HEX)
  file(READ ${SOURCE}/page.js script HEX)
  string(HEX "${VERSION}" version)
  foreach(part STYLE SCRIPT VERSION)
    string(HEX "@${part}@" mark)
    string(TOLOWER ${part} name)
    string(FIND ${document} ${mark} place)
    if(place EQUAL -1)
      message(FATAL_ERROR "page.html has no @${part}@")
    endif()
    string(REPLACE ${mark} "${${name}}" document ${document})
  endforeach()
  set(${variable} ${document} PARENT_SCOPE)
endfunction()

function(page_write)
  page_join(document)
  page_hash(style ${SOURCE}/page.css)
  page_hash(script ${SOURCE}/page.js)
  embed_elements(bytes ${document})
  set(policy "default-src 'none'; style-src 'sha256-${style}'; script-src 'sha256-${script}'; connect-src 'self'; ")
  string(APPEND policy "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; ")
  string(APPEND policy "require-trusted-types-for 'script'; trusted-types 'none'")
  file(WRITE ${OUT} "/* Made from serve/page by cmake/FurrowPage.cmake. */\n#include \"page/page.h\"\n\n"
    "const unsigned char page_document[] = {\n${bytes}};\n"
    "const size_t page_document_size = sizeof page_document;\n"
    "const char page_headers[] = \"Content-Security-Policy: ${policy}\\r\\n\"\n"
    "    \"X-Frame-Options: DENY\\r\\nReferrer-Policy: no-referrer\\r\\nCache-Control: no-cache\\r\\n\";\n")
endfunction()

if(CMAKE_SCRIPT_MODE_FILE)
  include(${CMAKE_CURRENT_LIST_DIR}/EmbedFile.cmake)
  page_write()
  return()
endif()

function(furrow_add_page target)
  set(source ${PROJECT_SOURCE_DIR}/serve/page)
  set(out ${PROJECT_BINARY_DIR}/embedded/page_document.c)
  set(script ${PROJECT_SOURCE_DIR}/cmake/FurrowPage.cmake)
  add_custom_command(OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${source} -DOUT=${out} -DVERSION=${PROJECT_VERSION} -P ${script}
    DEPENDS ${source}/page.html ${source}/page.css ${source}/page.js ${script} ${PROJECT_SOURCE_DIR}/cmake/EmbedFile.cmake
    VERBATIM)
  target_sources(${target} PRIVATE ${out})
endfunction()
