/* comm/mpi_load.c: finds and loads the shared object that links MPI (mpi_comm.c). */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "furrow/comm.h"

#ifndef FW_LIB_FROM_BIN
#define FW_LIB_FROM_BIN "../lib"
#endif

/* ---- The launcher --------------------------------------------------------------------------------------- */

/* The environment variables that launchers set, and the MPI that understands them. srun sets the number of processes
 * for any MPI. */
typedef struct launcher {
  const char *rank, *ranks, *flavor;
} launcher;

static const launcher launchers[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "_openmpi"},
                                     {"PMI_RANK", "PMI_SIZE", "_mpich"},
                                     {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", ""}};

static bool read_number(const char *name, unsigned *number) {
  const char *text = getenv(name);
  char *end = NULL;
  const unsigned long value = text ? strtoul(text, &end, 10) : 0;
  if (!text || end == text || *end || value > INT_MAX) return false;
  *number = (unsigned)value;
  return true;
}

/* Returns the entry of the launcher, or NULL. */
static const launcher *find_launcher(unsigned *rank, unsigned *ranks) {
  for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
    if (read_number(launchers[i].rank, rank) && read_number(launchers[i].ranks, ranks) && *rank < *ranks)
      return &launchers[i];
  *rank = 0;
  *ranks = 1;
  return NULL;
}

bool furrow_comm_launched(unsigned *rank, unsigned *ranks) {
  return find_launcher(rank, ranks) != NULL;
}

/* The suffix of the shared object's name for the launcher; "": the default MPI. */
static const char *flavor(void) {
  unsigned rank, ranks;
  const launcher *found = find_launcher(&rank, &ranks);
  if (found && found->flavor[0]) return found->flavor;
  return getenv("PMIX_RANK") ? "_openmpi" : "";
}

/* ---- The shared object ---------------------------------------------------------------------------------- */

typedef furrow_status (*open_function)(furrow_comm **comm, const void *mpi_comm, size_t known, furrow_error *err);

/* Opens a shared object. Components of Open MPI expect its symbols to be global. */
static void *open_object(const char *path) {
  return dlopen(path, RTLD_NOW | RTLD_GLOBAL);
}

/* Writes the directory of the program, or of the shared library that contains this function, with a slash at the
 * end. */
static bool own_folder(bool of_program, char folder[PATH_MAX]) {
  Dl_info info;
  folder[0] = 0;
  if (of_program) {
    const ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    folder[length > 0 ? length : 0] = 0;
  } else if (dladdr((const void *)(uintptr_t)&own_folder, &info) && info.dli_fname) {
    snprintf(folder, PATH_MAX, "%s", info.dli_fname);
  }
  char *slash = strrchr(folder, '/');
  if (!slash) return false;
  slash[1] = 0;
  return true;
}

/* Opens the first file of that name in the directories of the program and of the library. `path` is the file
 * that was found; it is empty if none was, and then the system searches for `name`. */
static void *open_installed(const char *name, char path[2 * PATH_MAX]) {
  static const char *const folders[] = {"", "furrow/", FW_LIB_FROM_BIN "/furrow/"};
  char folder[PATH_MAX];
  for (int of_program = 1; of_program >= 0; of_program--) {
    if (!own_folder(of_program, folder)) continue;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
      snprintf(path, 2 * PATH_MAX, "%s%s%s", folder, folders[i], name);
      if (access(path, F_OK) == 0) return open_object(path);
    }
  }
  path[0] = 0;
  return open_object(name);
}

static furrow_status cannot_load(const char *path, furrow_error *err) {
  const char *reason = dlerror();
  fw_fail(err, FURROW_E_NOT_FOUND, "MPI cannot be loaded: %s", reason ? reason : "unknown reason");
  if (path[0]) fw_error_set_file(err, path);
  fw_error_set_hint(err, "install the MPI that it was built for, or name another shared object in FURROW_MPI");
  return FURROW_E_NOT_FOUND;
}

/* Finds the shared object for the launcher's MPI, else the one for the default MPI. */
static furrow_status find_object(void **object, furrow_error *err) {
  char name[64], path[2 * PATH_MAX];
  const char *endings[] = {flavor(), ""};
  for (size_t i = endings[0][0] ? 0 : 1; i < 2; i++) {
    snprintf(name, sizeof name, "libfurrow_mpi%s.so", endings[i]);
    *object = open_installed(name, path);
    if (*object) return FURROW_OK;
    if (path[0]) return cannot_load(path, err);
  }
  return fw_fail(err, FURROW_E_NOT_FOUND,
                 "MPI is not available: install the package furrow-mpi (libfurrow_mpi.so was not found)");
}

static furrow_status load_object(const char *library, void **object, furrow_error *err) {
  const char *name = library ? library : getenv("FURROW_MPI");
  if (!name || !name[0]) return find_object(object, err);
  *object = open_object(name);
  return *object ? FURROW_OK : cannot_load("", err);
}

static furrow_status open_comm(furrow_comm **comm, const char *library, const void *mpi_comm, furrow_error *err) {
  void *object = NULL;
  FW_TRY(load_object(library, &object, err));
  open_function open = NULL;
  void *symbol = dlsym(object, "furrow_mpi_open");
  memcpy(&open, &symbol, sizeof open);
  if (!open) return fw_fail(err, FURROW_E_UNSUPPORTED, "MPI cannot be loaded: not a libfurrow_mpi.so of Furrow");
  return open(comm, mpi_comm, sizeof **comm, err);
}

furrow_status furrow_comm_open_mpi_comm(furrow_comm **comm, const char *library, const void *mpi_comm,
                                        furrow_error *err) {
  return open_comm(comm, library, mpi_comm, err);
}

/* If each of several processes saw only itself, every one of them would do the whole work. */
furrow_status furrow_comm_open_mpi(furrow_comm **comm, const char *library, furrow_error *err) {
  furrow_comm *opened = NULL;
  unsigned rank, ranks;
  furrow_comm_launched(&rank, &ranks);
  FW_TRY(open_comm(&opened, library, NULL, err));
  if (opened->ranks >= ranks) {
    *comm = opened;
    return FURROW_OK;
  }
  fw_fail(err, FURROW_E_STATE, "%u processes were started, but MPI knows of %u: the launcher belongs to another MPI",
          ranks, opened->ranks);
  fw_error_set_hint(err, "use the mpirun of the MPI that libfurrow_mpi.so was built for, or srun --mpi=pmix");
  furrow_comm_close(opened);
  return FURROW_E_STATE;
}

void furrow_comm_close(furrow_comm *comm) {
  if (comm && comm->close) comm->close(comm);
}
