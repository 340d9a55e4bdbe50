/* io/file_map.h: mapped files, and what happens when another program truncates one of them.
 *
 * Reading a page of a map beyond the end of its file raises SIGBUS, which ends the process. A library must not do
 * that to its host. The alternatives:
 *
 *   - Reading with pread instead of mapping needs no signals, and Furrow does so for dictionaries and names, because
 *     their offsets and sizes decide where to read next. But it copies every list that a search scans.
 *   - sigsetjmp around each call leaks the locks and scratch memory of the threads that it jumps out of.
 *   - A check of the file's size before each access comes too early: the file may be truncated right after it.
 *   - A handler of SIGBUS sees exactly the accesses that fail. That is what this file does.
 *
 * The handler is installed with the first map and stays. A faulting address inside one of our maps gets pages of
 * zeros, from there to the end of the map, and the map is marked as lost; the thread continues and reads zeros. Any
 * other SIGBUS is passed to the previous handler, as if ours did not exist. So a host installs its own handler
 * before the first map, or passes on the signals that are not its own. A thread that reads a map must not block
 * SIGBUS: the kernel would end the process.
 *
 * Zeros must therefore be harmless: a map may hold only data that decides nothing (codes and ids of lists). Counts,
 * offsets and sizes are copied and checked when a file is opened. And zeros must not become results: every function
 * that read from a map calls fw_file_map_check before it reports success. The check also compares the size of the
 * file, because the rest of the last page reads as zeros without a signal.
 *
 * Not covered: bytes that another program overwrites without truncating the file. They are read as they are. */
#ifndef FW_IO_FILE_MAP_H
#define FW_IO_FILE_MAP_H

#include "io/input.h"

typedef struct fw_file_map fw_file_map;

/* The number of files that can be mapped at once: the handler searches a table that is never reallocated. */
enum { FW_FILE_MAPS_MOST = 1024 };

/* Maps the first `size` > 0 bytes of a local file (fw_input_descriptor), which may be closed afterwards. E_IO: the
 * file cannot be mapped. */
furrow_status fw_file_map_open(fw_file_map **map, const fw_input *input, uint64_t size, const char *path,
                               furrow_error *err) FURROW_MUST_USE;
/* Accepts NULL. */
void fw_file_map_close(fw_file_map *map);
const void *fw_file_map_bytes(const fw_file_map *map);
size_t fw_file_map_size(const fw_file_map *map);

/* E_IO: bytes that were read since the map was made may have been zeros instead of the file's, because the file was
 * truncated or its disk failed. The map stays lost. NULL is never lost. */
furrow_status fw_file_map_check(const fw_file_map *map, furrow_error *err) FURROW_MUST_USE;

#endif
