/* array/zip_layout.h: the records of a zip archive (APPNOTE 6.3): signatures, sizes, offsets of fields. */
#ifndef FW_ARRAY_ZIP_LAYOUT_H
#define FW_ARRAY_ZIP_LAYOUT_H

/* A member: local header, name, extra fields, data. At the end of the file: an entry for each member (header, name,
 * extra fields, comment), then the end record; before that, if a number needs it, the zip64 end record and a locator
 * that has its place. */
#define FW_ZIP_LOCAL 0x04034b50u
#define FW_ZIP_LOCAL_SIZE 30
#define FW_ZIP_ENTRY 0x02014b50u
#define FW_ZIP_ENTRY_SIZE 46
#define FW_ZIP_END 0x06054b50u
#define FW_ZIP_END_SIZE 22
#define FW_ZIP_END64 0x06064b50u
#define FW_ZIP_END64_SIZE 56
#define FW_ZIP_LOCATOR 0x07064b50u
#define FW_ZIP_LOCATOR_SIZE 20

#define FW_ZIP_EXTRA64 1 /* extra field: those of size, packed size, offset (64 bits) that did not fit */
#define FW_ZIP_FULL16 0xffffu
#define FW_ZIP_FULL32 0xffffffffu
#define FW_ZIP_STORED 0
#define FW_ZIP_DEFLATED 8
#define FW_ZIP_VERSION64 45 /* with zip64 */

#endif
