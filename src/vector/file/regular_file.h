/* vector/file/regular_file.h: a file that can be read at any place and mapped. */
#ifndef FW_VECTOR_FILE_REGULAR_FILE_H
#define FW_VECTOR_FILE_REGULAR_FILE_H

#include <stdint.h>

#include "io/input.h"

/* Opens a file for reading (fw_input_close closes it) and tells its size. E_ARGUMENT: it is no regular file. */
furrow_status fw_open_regular(fw_input **input, uint64_t *size, const char *path, furrow_error *err) FURROW_MUST_USE;

#endif
