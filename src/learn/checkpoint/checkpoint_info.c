/* learn/checkpoint/checkpoint_info.c: what a checkpoint says of itself. */
#include <string.h>
#include <sys/stat.h>

#include "base/endian.h"
#include "base/error.h"
#include "base/mem.h"
#include "io/dir_names.h"
#include "learn/checkpoint/checkpoint_layout.h"

/* An info and the epoch that it shows. */
typedef struct inspected {
  furrow_checkpoint_info info;
  fw_epoch last;
} inspected;

/* What the records of parts say, where there are any. */
static uint64_t bytes_of_parts(const unsigned char *bytes) {
  uint64_t sum = 0;
  for (uint32_t r = 0; fw_checkpoint_is_in_parts(bytes) && r < fw_get_le32(bytes + FW_CHECKPOINT_AT_RANKS); r++)
    sum += FW_CHECKPOINT_HEADER +
           fw_get_le64(fw_checkpoint_table(bytes) + FW_CHECKPOINT_PARTS_ID + (size_t)r * FW_CHECKPOINT_PART_RECORD);
  return sum;
}

static furrow_status inspect(const unsigned char *bytes, size_t size, inspected *made, furrow_error *err) {
  fw_checkpoint checkpoint = {0};
  furrow_status status = fw_checkpoint_check_header(bytes, size, err);
  if (status == FURROW_OK) status = fw_checkpoint_check_parts(bytes, err);
  if (status == FURROW_OK) status = fw_checkpoint_decode_history(bytes, &checkpoint, err);
  if (status == FURROW_OK) {
    made->info = (furrow_checkpoint_info){.bytes = size + bytes_of_parts(bytes),
                                          .number_size = fw_get_le32(bytes + FW_CHECKPOINT_AT_ELEMENT),
                                          .steps = fw_get_le64(bytes + FW_CHECKPOINT_AT_STEPS),
                                          .epochs = (uint32_t)checkpoint.epochs,
                                          .best = fw_get_le32(bytes + FW_CHECKPOINT_AT_BEST)};
    if (checkpoint.epochs > 0) {
      made->last = checkpoint.history[checkpoint.epochs - 1];
      fw_epochs_link(&made->last, 1);
      made->info.last = &made->last.shown;
    }
  }
  fw_checkpoint_clear(&checkpoint);
  return status;
}

furrow_status furrow_checkpoint_info_load(furrow_checkpoint_info **info, const char *path, furrow_error *err) {
  struct stat found;
  char *file = NULL;
  unsigned char *bytes = NULL;
  size_t size = 0;
  void *made = NULL;
  const bool folder = fw_path_stat(path, &found, NULL) == FURROW_OK && S_ISDIR(found.st_mode);
  furrow_status status =
      folder ? fw_checkpoint_name_file(&file, path, err) : fw_strndup(&file, path, strlen(path), err);
  if (status == FURROW_OK) status = fw_alloc_zero(&made, 1, sizeof(inspected), err);
  if (status == FURROW_OK) status = fw_checkpoint_check_magic(file, err);
  if (status == FURROW_OK) status = fw_checkpoint_read_file(file, &bytes, &size, err);
  if (status == FURROW_OK) status = inspect(bytes, size, made, err);
  if (status == FURROW_OK)
    *info = &((inspected *)made)->info;
  else
    fw_free(made);
  if (status != FURROW_OK && file) fw_error_set_file(err, file);
  fw_free(bytes);
  fw_free(file);
  return status;
}

void furrow_checkpoint_info_free(furrow_checkpoint_info *info) {
  fw_free(info); /* the first member of what was allocated */
}
