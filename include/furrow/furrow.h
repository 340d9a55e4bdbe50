/* furrow/furrow.h: the whole library in one include. The headers are the manual; status.h has the rules for all calls.
 *
 *   status.h       what all calls share: status codes, errors with file and line, progress, memory
 *   init.h         parameter structs as C11 expressions: defaults and named fields
 *   version.h      the version of headers and library, the instruction set, how the library was built
 *   io.h           files in memory, custom file systems, atomic writes, locks, plugins
 *   comm.h         communicators: processes (MPI ranks) that work on one job together
 *   json.h         a JSON reader that gives one value after the other, without a tree
 *   rows.h         sparse samples: parse, cache, keep in memory and write them; custom text formats
 *   arrow.h        the structs of Arrow's C interfaces, by which tables of other libraries come in
 *   table.h        raw logs with names and strings: schema, split, dictionary, encoding into rows
 *   model.h        matrices and models as Angel stores them: read, look up, write, convert, compare
 *   exchange.h     matrices to and from the files of other programs: npy, npz, fvecs, safetensors and others
 *   learn.h        models: configure, train, save, score, explain, evaluate
 *   recommend.h    recommendations: the best items for users by name, and metrics of these rankings
 *   card.h         the card of an index: its data, its recall, whether it should be rebuilt
 *   attributes.h   attributes of the vectors of an index, and filters by them
 *   vector.h       vector indexes as Faiss stores them: build, search, change, inspect, verify, save
 *   vector_data.h  vectors, ids and names of ids: read, sample, search exactly, write
 */
#ifndef FURROW_FURROW_H
#define FURROW_FURROW_H

#include "furrow/arrow.h"
#include "furrow/attributes.h"
#include "furrow/card.h"
#include "furrow/columns.h"
#include "furrow/comm.h"
#include "furrow/exchange.h"
#include "furrow/init.h"
#include "furrow/io.h"
#include "furrow/json.h"
#include "furrow/learn.h"
#include "furrow/model.h"
#include "furrow/recommend.h"
#include "furrow/rows.h"
#include "furrow/status.h"
#include "furrow/table.h"
#include "furrow/vector.h"
#include "furrow/vector_data.h"
#include "furrow/version.h"

#endif
