/* cli/index/cmd_index.c: furrow index: its commands. */

#include "core/commands.h"
#include <stddef.h>

static const command *const verbs[] = {&index_build_command,    &index_add_command,        &index_search_command,
                                       &index_recall_command,   &index_remove_command,     &index_merge_command,
                                       &index_estimate_command, &index_kmeans_command,     &index_info_command,
                                       &index_map_command,      &index_verify_command,     &index_convert_command,
                                       &index_names_command,    &index_attributes_command, NULL};

const command index_command = {
    .name = "index",
    .summary = "build, search, change and inspect vector indexes in Faiss's format",
    .example = "furrow index build --base base.fvecs --out items.index --nlist 1024 --m 16\n"
               "furrow index search items.index queries.fvecs -k 10 --nprobe 16\n"
               "furrow index info items.index",
    .about = "When Furrow reads an index file, it checks every number against the others and against the size of the "
             "file. If the lists are in a separate data file (ilod), it looks for that file in the folder of the "
             "index, by the last part of the name that the index stores; --lists names another file.",
    .verbs = verbs,
};
