/* model/format/format_tmpl.h: defines a format of a family whose record_size, decode and encode take the flags as an
 * argument: functions with constant flags, and the description. Included once for each format, with
 *
 *   FORMAT_CLASS            its name, a string
 *   FORMAT_OBJECT           the furrow_matrix_format that is defined
 *   FORMAT_FUNCTION(verb)   names of its functions
 *   FORMAT_FLAGS            FURROW_MATRIX_FORMAT_…
 *   FORMAT_ABOUT            a one-line description */

static void FORMAT_FUNCTION(size)(const furrow_matrix_format_context *context, size_t *least, size_t *most) {
  record_size(context, FORMAT_FLAGS, least, most);
}

static furrow_status FORMAT_FUNCTION(decode)(const furrow_matrix_format_context *context, const char *bytes,
                                             size_t size, bool last, size_t *used, furrow_matrix_records *records,
                                             furrow_error *err) {
  return decode(context, FORMAT_FLAGS, bytes, size, last, used, records, err);
}

static furrow_status FORMAT_FUNCTION(encode)(const furrow_matrix_format_context *context, const furrow_panel *panel,
                                             size_t first, size_t count, char *out, size_t *written,
                                             furrow_error *err) {
  return encode(context, FORMAT_FLAGS, panel, first, count, out, written, err);
}

const furrow_matrix_format FORMAT_OBJECT = {.size = sizeof(furrow_matrix_format),
                                            .flags = FORMAT_FLAGS,
                                            .name = FORMAT_CLASS,
                                            .class_name = FW_ANGEL_FORMATS FORMAT_CLASS,
                                            .about = FORMAT_ABOUT,
                                            .record_size = FORMAT_FUNCTION(size),
                                            .decode = FORMAT_FUNCTION(decode),
                                            .encode = FORMAT_FUNCTION(encode)};

#undef FORMAT_CLASS
#undef FORMAT_OBJECT
#undef FORMAT_FUNCTION
#undef FORMAT_FLAGS
#undef FORMAT_ABOUT
