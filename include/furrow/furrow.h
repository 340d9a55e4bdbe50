/* furrow/furrow.h: everything that Furrow offers, in one include.
 *
 *   status.h   how calls fail, and where in which file
 *   init.h     parameters as expressions
 *   comm.h     processes that work on one job together
 *   io.h       bytes from and to places other than files
 *   json.h     JSON, read value after value
 *   rows.h     sparse samples: read, keep, cache and write them
 *   model.h    models as Angel stores them: read, look up, write, convert
 *   learn.h    models trained, applied and evaluated
 *   recommend.h  items for users by name, and how good these rankings are
 *   exchange.h matrices to and from files of other programs
 *   vector.h   vector indexes as Faiss stores them: build, search, change, read, look into, check, write
 *   vector_data.h  vectors and ids in files and matrices: read, sampled, searched exactly, written
 */
#ifndef FURROW_FURROW_H
#define FURROW_FURROW_H

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
