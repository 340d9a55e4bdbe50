/* cli/demo/demo_folder.h: the folder that the demo leaves its files in. */
#ifndef CLI_DEMO_DEMO_FOLDER_H
#define CLI_DEMO_DEMO_FOLDER_H

#include "demo/demo_results.h"

/* Makes the folder, or clears one that an earlier demo left: of its files alone, by their names. From then on it is the
 * working folder. E_EXISTS: it holds something else and `force` is not set, which leaves that something alone. */
furrow_status demo_folder_enter(const char *path, bool force, furrow_error *err);
/* Removes what is large and of no more use. */
void demo_folder_trim(void);
/* The files there are, and their sizes; a model directory counts as one. */
void demo_folder_list(demo_results *results);

#endif
