/* tests/interop/programs/duckdb_run.c SQL …: runs statements in DuckDB, in one database in memory, or in the file that
 * the environment variable DATABASE names. Exit code 77: DuckDB's library is missing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dlfcn.h>

typedef struct result {
  unsigned long long counts[3];
  void *columns;
  char *message;
  void *internal;
} result;

#define LOAD(name) *(void **)&name = dlsym(library, "duckdb_" #name)

int main(int argc, char **argv) {
  const char *path = getenv("FURROW_DUCKDB");
  void *library = dlopen(path ? path : "libduckdb.so", RTLD_NOW);
  void *database = NULL, *connection = NULL;
  int (*open)(const char *, void **), (*connect)(void *, void **), (*query)(void *, const char *, result *);
  const char *(*result_error)(result *);
  void (*destroy_result)(result *), (*disconnect)(void **), (*close)(void **);
  if (!library) return 77;
  LOAD(open);
  LOAD(connect);
  LOAD(query);
  LOAD(result_error);
  LOAD(destroy_result);
  LOAD(disconnect);
  LOAD(close);
  if (open(getenv("DATABASE"), &database) != 0 || connect(database, &connection) != 0) return 2;
  int code = 0;
  for (int i = 1; i < argc && code == 0; i++) {
    result r;
    memset(&r, 0, sizeof r);
    code = query(connection, argv[i], &r);
    if (code) fprintf(stderr, "%s\n", result_error(&r));
    destroy_result(&r);
  }
  disconnect(&connection);
  close(&database);
  return code;
}
