/* tests/unit/rows/test_encoder.c: what becomes of each kind of column; names of features; events and sides. */
#include <math.h>

#include "base/mem.h"
#include "rows/encode/encoder.h"
#include "support/encoded_rows.h"

#define LOG "memory://log.csv"
#define TABLE "memory://table.csv"

/* The rows of a log with one schema; and again after the encoder was loaded. */
static void expect_log(const char *schema, const char *log, const char *wanted) {
  put_text(LOG, log);
  furrow_encoder *encoder = build_encoder(LOG, schema), *loaded = NULL;
  expect_rows(encoder, LOG, "", wanted);
  assert_int_equal(furrow_encoder_load(&loaded, ENCODER_PLACE, NULL), FURROW_OK);
  expect_rows(loaded, LOG, "", wanted);
  furrow_encoder_free(encoder);
  furrow_encoder_free(loaded);
}

static void expect_refused(const char *schema, const char *log, furrow_status wanted, const char *message) {
  furrow_encoder *encoder = NULL;
  furrow_error err = {0};
  fw_buffer text = {0};
  put_text(LOG, log);
  furrow_status status = try_build(&encoder, LOG, schema, NULL, &err);
  if (status == FURROW_OK) {
    save_encoder(encoder);
    status = read_encoded(encoder, LOG, "", 1, 0, &text, &err);
  }
  assert_string_equal(err.message, message);
  assert_int_equal(status, wanted);
  fw_buffer_clear(&text);
  furrow_encoder_free(encoder);
}

/* ---- Kinds ---------------------------------------------------------------------------------------------- */

static void categories(void **state) {
  (void)state;
  expect_log("{\"columns\":{\"y\":{\"as\":\"label\"},\"a\":{\"as\":\"category\"}}}",
             "y,a\n1,x\n2,z z\n3,\n4,x\n5,\"q,\"\"\"\n6,  x  \n",
             "1 a=x\n2 a=z z\n3 a=(missing)\n4 a=x\n5 a=q,\"\n6 a=x\n");
  expect_log("{\"columns\":{\"y\":{\"as\":\"label\"},\"a\":{\"as\":\"category\",\"min_count\":2}}}",
             "y,a\n1,x\n2,z\n3,x\n4,w\n", "1 a=x\n2 a=(unknown)\n3 a=x\n4 a=(unknown)\n");
}

/* Values that the training data does not have: the feature of the unknown ones if it was trained, else none. */
static void unknown_values(void **state) {
  (void)state;
  static const char schema[] = "{\"columns\":{\"y\":{\"as\":\"label\"},\"a\":{\"as\":\"category\",\"min_count\":2},"
                               "\"b\":{\"as\":\"category\"},\"s\":{\"as\":\"set\",\"separator\":\"|\"}}}";
  put_text(LOG, "y,a,b,s\n1,x,k,p|q\n1,x,l,p\n1,w,m,\n");
  furrow_encoder *encoder = build_encoder(LOG, schema);
  put_text("memory://new.csv", "y,a,b,s\n7,new,new,new|p|newer\n7,,,\n7,w,k,new\n");
  expect_rows(encoder, "memory://new.csv", "", "7 a=(unknown) s=p:0.5774\n7 s=(missing)\n7 a=(unknown) b=k\n");
  furrow_encoder_free(encoder);
}

static void hashes(void **state) {
  (void)state;
  static const char schema[] = "{\"columns\":{\"y\":{\"as\":\"label\"},\"a\":{\"as\":\"category\",\"hash\":4},"
                               "\"s\":{\"as\":\"set\",\"separator\":\" \",\"hash\":3}}}";
  put_text(LOG, "y,a,s\n1,x,p q\n2,,\n3,x,q\n");
  furrow_encoder *encoder = build_encoder(LOG, schema);
  char wanted[256];
  uint64_t x, p, q;
  assert_int_equal(furrow_encoder_find(encoder, 0, "x", 1, &x, NULL), FURROW_OK);
  assert_int_equal(furrow_encoder_find(encoder, 1, "p", 1, &p, NULL), FURROW_OK);
  assert_int_equal(furrow_encoder_find(encoder, 1, "q", 1, &q, NULL), FURROW_OK);
  assert_int_equal(furrow_encoder_feature_count(encoder), 16 + 8);
  assert_true(x < 16 && p >= 16 && p < 24 && q >= 16 && q < 24);
  snprintf(wanted, sizeof wanted, "1 a#%u s#%u:0.7071 s#%u:0.7071\n2\n3 a#%u s#%u\n", (unsigned)x, (unsigned)p - 16,
           (unsigned)q - 16, (unsigned)x, (unsigned)q - 16);
  expect_rows(encoder, LOG, "", wanted);
  furrow_encoder_free(encoder);
}

static void sets(void **state) {
  (void)state;
  expect_log("{\"columns\":{\"y\":{\"as\":\"label\"},\"s\":{\"as\":\"set\",\"separator\":\"|\"}}}",
             "y,s\n1,a|b\n2,||a|\n3, b | a |c\n4,\n5,|\n",
             "1 s=a:0.7071 s=b:0.7071\n2 s=a\n3 s=b:0.5774 s=a:0.5774 s=c:0.5774\n4 s=(missing)\n5 s=(missing)\n");
  expect_log("{\"columns\":{\"y\":{\"as\":\"label\"},\"s\":{\"as\":\"set\",\"separator\":\" :: \"}}}",
             "y,s\n1,a :: b c\n2,a::b\n", "1 s=a:0.7071 s=b c:0.7071\n2 s=a::b\n");
  expect_log("{\"columns\":{\"y\":{\"as\":\"label\"},\"s\":{\"as\":\"set\",\"separator\":\";\",\"values\":true}}}",
             "y,s\n1,a:0.5;b:-2\n2,b\n3,a:b:3\n", "1 s=a:0.5 s=b:-2\n2 s=b\n3 s=a:b:3\n");
  expect_refused("{\"columns\":{\"y\":{\"as\":\"label\"},\"s\":{\"as\":\"set\",\"separator\":\";\",\"values\":true}}}",
                 "y,s\n1,a:0.5;b:x\n", FURROW_E_PARSE,
                 "column s: an element of the set has a value that is not a number");
  expect_refused("{\"columns\":{\"y\":{\"as\":\"label\"},\"s\":{\"as\":\"set\",\"separator\":\";\",\"values\":true}}}",
                 "y,s\n1,:2\n", FURROW_E_PARSE, "column s: an element of the set has no name");
}

static void words(void **state) {
  (void)state;
  expect_log("{\"columns\":{\"y\":{\"as\":\"label\"},\"t\":{\"as\":\"text\"}}}",
             "y,t\n1,\"Hello, World\"\n2,hello\n3,--\n4,\xc3\x84\xc3\x96 x2\n",
             "1 t=hello:0.7071 t=world:0.7071\n2 t=hello\n3 t=(missing)\n4 t=\xc3\x84\xc3\x96:0.7071 t=x2:0.7071\n");
}

static void numbers(void **state) {
  (void)state;
  expect_log("{\"columns\":{\"y\":{\"as\":\"label\"},\"n\":{\"as\":\"number\",\"scale\":\"none\"}}}",
             "y,n\n1,2.5\n2,-1e3\n3,\n4,0\n5,NA\n6,true\n7,False\n8,nan\n9,inf\n10,-Infinity\n",
             "1 n:2.5\n2 n:-1000\n3 n=(missing)\n4 n:0\n5 n=(missing)\n6 n:1\n7 n:0\n8 n=(missing)\n9 n=(missing)\n"
             "10 n=(missing)\n");
  expect_log("{\"columns\":{\"y\":{\"as\":\"label\"},\"n\":{\"as\":\"number\",\"scale\":\"standard\"}}}",
             "y,n\n1,1\n2,3\n3,5\n4,\n", "1 n:-1.225\n2 n:0\n3 n:1.225\n4 n=(missing)\n");
  expect_log("{\"columns\":{\"y\":{\"as\":\"label\"},\"n\":{\"as\":\"number\",\"scale\":\"standard\"}}}",
             "y,n\n1,7\n2,7\n", "1 n:0\n2 n:0\n");
  expect_log("{\"columns\":{\"y\":{\"as\":\"label\"},\"n\":{\"as\":\"number\",\"scale\":\"log\"}}}",
             "y,n\n1,0\n2,1.718281828459045\n3,-1.718281828459045\n", "1 n:0\n2 n:1.225\n3 n:-1.225\n");
  expect_log("{\"columns\":{\"y\":{\"as\":\"label\"},\"n\":{\"as\":\"number\",\"scale\":\"bins\",\"bins\":3}}}",
             "y,n\n1,1\n2,5\n3,9\n4,2\n5,6\n6,10\n7,\n", "1 n#0\n2 n#1\n3 n#2\n4 n#0\n5 n#1\n6 n#2\n7 n=(missing)\n");
  static const char schema[] = "{\"columns\":{\"y\":{\"as\":\"label\"},\"n\":{\"as\":\"number\"}}}";
  expect_refused(schema, "y,n\n1,1\n2,2x\n", FURROW_E_PARSE, "column n: not a number");
  expect_refused(schema, "y,n\n1,1\n2,1e39\n", FURROW_E_PARSE, "column n: a number that is too large");
  expect_refused(schema, "y,n\n1,1\n2,1e999\n", FURROW_E_PARSE, "column n: a number that is too large");
  expect_refused(schema, "y,n\n1,1\n2,$5\n", FURROW_E_PARSE, "column n: not a number");
  expect_refused(schema, "y,n\n1,1\ninf,2\n", FURROW_E_PARSE, "column y: a number that is too large");
}

/* Numbers as people write them, also as labels and weights. */
static void written_numbers(void **state) {
  (void)state;
  expect_log("{\"columns\":{\"y\":{\"as\":\"label\",\"unit\":\"%\"},\"n\":{\"as\":\"number\",\"scale\":\"none\","
             "\"decimal\":\".\",\"unit\":\"$\"}}}",
             "y,n\n1%,\"$1,299.50\"\n2,($7)\n3,0.5\n4%,\"1,000,000\"\n5,\n6,n/a\n7,-$3\n8,inf\n",
             "1 n:1300\n2 n:-7\n3 n:0.5\n4 n:1e+06\n5 n=(missing)\n6 n=(missing)\n7 n:-3\n8 n=(missing)\n");
  static const char comma[] = "{\"columns\":{\"y\":{\"as\":\"label\"},\"n\":{\"as\":\"number\",\"scale\":\"none\","
                              "\"decimal\":\",\"},\"w\":{\"as\":\"weight\",\"decimal\":\",\"}}}";
  expect_log(comma, "y;n;w\n1;152,53;1\n2;1.234;1\n3;-1.234,5;1\n4;12;1\n", "1 n:152.5\n2 n:1234\n3 n:-1234\n4 n:12\n");
  /* a number of JSON is a program's */
  expect_log(comma,
             "{\"y\":1,\"n\":1.234,\"w\":1}\n{\"y\":2,\"n\":\"1.234\",\"w\":1}\n{\"y\":3,\"n\":-0.5,\"w\":0.5}\n",
             "1 n:1.234\n2 n:1234\n3:0.5 n:-0.5\n");
  expect_refused(comma, "y;n;w\n1;12,5;1\n2;1.5;1\n", FURROW_E_PARSE, "column n: not a number");
  expect_refused(comma, "y;n;w\n1;12,5;1\n2;5;-0,5\n", FURROW_E_PARSE, "column w: a weight must not be negative");
}

/* A deviation that is tiny makes numbers of later data large: not infinite. */
static void far_numbers(void **state) {
  (void)state;
  fw_buffer text = {0};
  furrow_error err = {0};
  put_text(LOG, "y,n\n1,1e-30\n2,2e-30\n");
  furrow_encoder *encoder =
      build_encoder(LOG, "{\"columns\":{\"y\":{\"as\":\"label\"},\"n\":{\"as\":\"number\",\"scale\":\"standard\"}}}");
  save_encoder(encoder);
  put_text("memory://new.csv", "y,n\n1,1e10\n");
  assert_int_equal(read_encoded(encoder, "memory://new.csv", "", 1, 0, &text, &err), FURROW_E_PARSE);
  assert_string_equal(err.message, "column n: too far from the numbers of the training data");
  fw_buffer_clear(&text);
  furrow_encoder_free(encoder);
}

static void times(void **state) {
  (void)state;
  expect_log("{\"columns\":{\"y\":{\"as\":\"label\"},\"t\":{\"as\":\"time\",\"unit\":\"s\","
             "\"parts\":[\"hour\",\"weekday\",\"monthday\",\"month\",\"age\"]}}}",
             "y,t\n1,0\n2,90000\n3,\n",
             "1 t.hour=0 t.weekday=Thursday t.monthday=1 t.month=1 t.age:1\n"
             "2 t.hour=1 t.weekday=Friday t.monthday=2 t.month=1 t.age:-1\n"
             "3 t.hour=(missing) t.weekday=(missing) t.monthday=(missing) t.month=(missing) t.age=(missing)\n");
  expect_log("{\"columns\":{\"y\":{\"as\":\"label\"},\"t\":{\"as\":\"time\",\"unit\":\"text\",\"parts\":[\"hour\","
             "\"month\"]}}}",
             "y,t\n1,2024-12-31T23:30:00Z\n2,2024-12-31 23:30:00-01:00\n",
             "1 t.hour=23 t.month=12\n2 t.hour=0 t.month=1\n");
  expect_refused(
      "{\"columns\":{\"y\":{\"as\":\"label\"},\"t\":{\"as\":\"time\",\"unit\":\"text\",\"parts\":[\"hour\"]}}}",
      "y,t\n1,yesterday\n", FURROW_E_PARSE, "column t: not a date whose year comes first or whose month has a name");
  expect_refused(
      "{\"columns\":{\"y\":{\"as\":\"label\"},\"t\":{\"as\":\"time\",\"unit\":\"ms\",\"parts\":[\"hour\"]}}}",
      "y,t\n1,2024-12-31\n", FURROW_E_PARSE, "column t: not a time in the unit of its column");
}

static void labels(void **state) {
  (void)state;
  expect_log("{\"columns\":{\"y\":{\"as\":\"label\",\"classes\":[\"no\",\"yes\"]},\"a\":{\"as\":\"category\"}}}",
             "a,y\nk,yes\nk,no\n", "1 a=k\n0 a=k\n");
  expect_refused("{\"columns\":{\"y\":{\"as\":\"label\",\"classes\":[\"no\",\"yes\"]},\"a\":{\"as\":\"category\"}}}",
                 "a,y\nk,yes\nk,perhaps\n", FURROW_E_PARSE, "column y: not one of the classes of the schema");
  expect_refused("{\"columns\":{\"y\":{\"as\":\"label\",\"classes\":[\"no\",\"yes\"]},\"a\":{\"as\":\"category\"}}}",
                 "a,y\nk,\n", FURROW_E_PARSE, "column y: the label is missing");
  expect_refused("{\"columns\":{\"y\":{\"as\":\"label\"},\"a\":{\"as\":\"category\"}}}", "a,y\nk,1\nk,\n",
                 FURROW_E_PARSE, "column y: the label is missing");
  expect_log("{\"columns\":{\"a\":{\"as\":\"category\"}}}", "a\nk\nl\n", "1 a=k\n1 a=l\n");
}

static void weights_and_groups(void **state) {
  (void)state;
  static const char schema[] = "{\"columns\":{\"y\":{\"as\":\"label\"},\"a\":{\"as\":\"category\"},\"w\":{\"as\":"
                               "\"weight\"},\"g\":{\"as\":\"group\"}}}";
  expect_log(schema, "y,a,w,g\n1,k,0.5,7\n2,k,,8\n", "1:0.5 qid:7 a=k\n2 qid:8 a=k\n");
  expect_refused(schema, "y,a,w,g\n1,k,-1,7\n", FURROW_E_PARSE, "column w: a weight must not be negative");
  put_text(LOG, "y,a,w,g\n1,k,1,7\n");
  furrow_encoder *encoder = build_encoder(LOG, schema);
  furrow_parser *parser = NULL;
  put_text("memory://texts.csv", "y,a,w,g\n1,k,1,red\n1,k,1,blue\n1,k,1,red\n1,k,1,18446744073709551616\n");
  save_encoder(encoder);
  assert_int_equal(
      furrow_parser_open_part(&parser, "memory://texts.csv?format=table&encoder=" ENCODER_PLACE, 0, 1, "auto", NULL),
      FURROW_OK);
  assert_int_equal(furrow_parser_next(parser, NULL), FURROW_OK);
  const furrow_rowblock *block = furrow_parser_value(parser);
  assert_int_equal(block->size, 4);
  assert_true(block->qid[0] == block->qid[2] && block->qid[0] != block->qid[1] && block->qid[3] != 0);
  furrow_parser_close(parser);
  furrow_encoder_free(encoder);
}

static void crosses(void **state) {
  (void)state;
  static const char schema[] = "{\"columns\":{\"y\":{\"as\":\"label\"},\"a\":{\"as\":\"category\"},\"b\":{\"as\":"
                               "\"category\"}},\"cross\":[{\"of\":[\"a\",\"b\"],\"bits\":20}]}";
  furrow_encoder *encoder;
  furrow_error err = {0};
  put_text(LOG, "y,a,b\n1,k,l\n1,k,m\n1,n,l\n1,k,l\n");
  if (try_build(&encoder, LOG, schema, NULL, &err) != FURROW_OK) fail_msg("%s", err.message);
  save_encoder(encoder);
  furrow_parser *parser = NULL;
  assert_int_equal(furrow_parser_open_part(&parser, LOG "?format=table&encoder=" ENCODER_PLACE, 0, 1, "auto", NULL),
                   FURROW_OK);
  assert_int_equal(furrow_parser_next(parser, NULL), FURROW_OK);
  const furrow_rowblock *block = furrow_parser_value(parser);
  assert_int_equal(block->size, 4);
  assert_int_equal(block->offset[4], 12);
  assert_null(block->value.any);
  const uint32_t *index = block->index.u32;
  assert_int_equal(index[2], index[11]);
  assert_true(index[2] != index[5] && index[2] != index[8] && index[5] != index[8]);
  furrow_parser_close(parser);
  put_text("memory://new.csv", "y,a,b\n1,k,\n1,x,l\n"); /* a part that is not a feature: no cross */
  expect_rows(encoder, "memory://new.csv", "", "1 a=k\n1 b=l\n");
  furrow_encoder_field field;
  furrow_encoder_get_field(encoder, 2, &field);
  assert_string_equal(field.name, "a x b");
  assert_int_equal(field.count, 1 << 20);
  furrow_encoder_free(encoder);
}

/* ---- Joined tables -------------------------------------------------------------------------------------- */

#define JOINED                                                                                    \
  "{\"columns\":{\"y\":{\"as\":\"label\"},\"u\":{\"as\":\"category\",\"role\":\"user\"},"         \
  "\"i\":{\"as\":\"category\",\"role\":\"item\"},\"genre\":{\"as\":\"set\",\"separator\":\"|\"}," \
  "\"price\":{\"as\":\"number\",\"scale\":\"none\"}},\"tables\":{\"" TABLE "\":\"i\"}}"

static void joined_tables(void **state) {
  (void)state;
  put_text(TABLE, "i,genre,price,title\nm1,a|b,2,x\nm2,a,,y\nm3,,3,z\n");
  expect_log(JOINED, "y,u,i\n1,p,m1\n2,q,m2\n3,p,m9\n4,p,\n5,p,m3\n",
             "1 u=p i=m1 genre=a:0.7071 genre=b:0.7071 price:2\n2 u=q i=m2 genre=a price=(missing)\n3 u=p i=m9\n"
             "4 u=p i=(missing)\n5 u=p i=m3 genre=(missing) price:3\n");
}

static void tables_refused(void **state) {
  (void)state;
  static const char log[] = "y,u,i\n1,p,m1\n";
  put_text(TABLE, "i,genre,price\nm1,a,2\nm2,a,3x\n");
  expect_refused(JOINED, log, FURROW_E_PARSE, "column price: not a number");
  put_text(TABLE, "i,genre,price\nm1,a,2\nm1,a,3\n");
  expect_refused(JOINED, log, FURROW_E_FORMAT, "table " TABLE ": rows 1 and 2 have the same key");
  put_text(TABLE, "i,genre,price\nm1,a,2\n,a,3\n");
  expect_refused(JOINED, log, FURROW_E_PARSE, "column i: the key is missing");
  put_text(TABLE, "item,genre,price\nm1,a,2\n");
  expect_refused(JOINED, log, FURROW_E_FORMAT,
                 "the schema has columns that the data does not have: i (the key of " TABLE ")");
  put_text(TABLE, "i,genres,price\nm1,a,2\n");
  expect_refused(JOINED, log, FURROW_E_FORMAT, "the schema has columns that the data does not have: genre");
  assert_int_equal(furrow_memory_file_remove(TABLE, NULL), FURROW_OK);
  furrow_encoder *encoder;
  assert_int_equal(try_build(&encoder, LOG, JOINED, NULL, NULL), FURROW_E_NOT_FOUND);
}

/* A row that is left out of a table is counted. */
static void tables_skip(void **state) {
  (void)state;
  furrow_encoder *encoder;
  furrow_encoder_params params;
  furrow_parser_stats stats;
  furrow_encoder_params_init(&params);
  furrow_parser_stats_init(&stats);
  params.on_bad = FURROW_ON_BAD_SKIP;
  params.stats = &stats;
  put_text(LOG, "y,u,i\n1,p,m1\n1,p,m2\n");
  put_text(TABLE, "i,genre,price\nm1,a,2x\nm2,b,3\n,b,3\n");
  assert_int_equal(try_build(&encoder, LOG, JOINED, &params, NULL), FURROW_OK);
  assert_int_equal(stats.bad_rows, 2);
  assert_int_equal(stats.rows, 1);
  assert_int_equal(stats.first_bad.line, 2);
  assert_string_equal(stats.first_bad.file, TABLE);
  expect_rows(encoder, LOG, "", "1 u=p i=m1\n1 u=p i=m2 genre=b price:3\n");
  furrow_encoder_free(encoder);
}

/* What is left out of the rows is not in the dictionary either. */
static void bad_records_do_not_count(void **state) {
  (void)state;
  static const char *const bad[] = {"x,new,1,0,1,p:1\n", "1,new,x,0,1,p:1\n", "1,new,1,noon,1,p:1\n",
                                    "1,new,1,0,-1,p:1\n", "1,new,1,0,1,p:1;:2\n"};
  furrow_encoder_params params;
  furrow_encoder_params_init(&params);
  params.on_bad = FURROW_ON_BAD_SKIP;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    furrow_encoder *encoder;
    furrow_encoder_field field;
    char log[256];
    snprintf(log, sizeof log, "y,a,n,t,w,s\n1,k,1,0,1,q:1\n%s2,k,3,0,1,\n", bad[i]);
    put_text(LOG, log);
    assert_int_equal(try_build(&encoder, LOG,
                               "{\"columns\":{\"y\":{\"as\":\"label\"},\"a\":{\"as\":\"category\"},\"n\":{\"as\":"
                               "\"number\",\"scale\":\"standard\"},\"t\":{\"as\":\"time\",\"unit\":\"s\",\"parts\":"
                               "[\"hour\"]},\"w\":{\"as\":\"weight\"},\"s\":{\"as\":\"set\",\"separator\":\";\","
                               "\"values\":true}}}",
                               &params, NULL),
                     FURROW_OK);
    furrow_encoder_get_field(encoder, 0, &field);
    assert_int_equal(field.entries, 1);
    furrow_encoder_get_field(encoder, 3, &field);
    assert_int_equal(field.entries, 1);
    put_text(LOG, "y,a,n,t,w,s\n1,k,1,0,1,q:1\n2,k,3,0,1,\n");
    expect_rows(encoder, LOG, "", "1 a=k n:-1 t.hour=0 s=q\n2 a=k n:1 t.hour=0 s=(missing)\n");
    furrow_encoder_free(encoder);
  }
}

/* ---- Columns that are not there ------------------------------------------------------------------------- */

static void absent_columns(void **state) {
  (void)state;
  static const char schema[] = "{\"columns\":{\"y\":{\"as\":\"label\"},\"a\":{\"as\":\"category\"}}}";
  expect_refused(schema, "y,b,c\n1,2,3\n", FURROW_E_FORMAT, "the schema has columns that the data does not have: a");
  expect_refused(schema, "{\"y\":1,\"b\":\"x\"}\n{\"y\":2}\n", FURROW_E_FORMAT,
                 "no record has the column a of the schema");
  expect_refused(schema, "y,a\n", FURROW_E_FORMAT, "the log has no records");
  put_text(LOG, "y,a\n1,k\n");
  furrow_encoder *encoder = build_encoder(LOG, schema);
  save_encoder(encoder);
  furrow_error err = {0};
  fw_buffer text = {0};
  put_text("memory://new.csv", "b,y\nk,1\n");
  assert_int_equal(read_encoded(encoder, "memory://new.csv", "", 1, 0, &text, &err), FURROW_E_FORMAT);
  assert_string_equal(err.message, "the log lacks columns that the schema has: a");
  put_text("memory://new.csv", "z,a\n5,k\n"); /* without the label */
  assert_int_equal(read_encoded(encoder, "memory://new.csv", "", 1, 0, &text, &err), FURROW_E_FORMAT);
  assert_string_equal(err.message, "the log lacks columns that the schema has: y");
  expect_rows(encoder, "memory://new.csv", "&label=optional", "- a=k\n");
  put_text("memory://new.json", "{\"a\":\"k\"}\n{\"a\":\"l\"}\n");
  expect_rows(encoder, "memory://new.json", "&label=optional", "- a=k\n-\n");
  put_text("memory://new.json", "{\"a\":\"k\",\"y\":null}\n{\"a\":\"l\"}"); /* the last line has no end */
  expect_rows(encoder, "memory://new.json", "&label=optional", "- a=k\n-\n");
  put_text("memory://new.json", "{\"a\":\"k\",\"y\":3}\n");
  expect_rows(encoder, "memory://new.json", "&label=optional", "3 a=k\n");
  fw_buffer_clear(&text);
  furrow_encoder_free(encoder);
}

/* A log without a header: a first line that looks like one is not lost. */
static void no_header(void **state) {
  (void)state;
  fw_buffer text = {0};
  furrow_error err = {0};
  put_text(LOG, "1,k\n0,l\n");
  furrow_encoder *encoder = build_encoder(LOG, "{\"columns\":{\"0\":{\"as\":\"label\"},\"1\":{\"as\":\"category\"}}}");
  expect_rows(encoder, LOG, "", "1 1=k\n0 1=l\n");
  furrow_encoder_free(encoder);
  put_text(LOG, "k,1\nl,2\n");
  encoder = build_encoder(LOG "?header=no", "{\"columns\":{\"0\":{\"as\":\"category\"}}}");
  save_encoder(encoder);
  put_text("memory://new.csv", "k,x\nl,2\n");
  assert_int_equal(read_encoded(encoder, "memory://new.csv", "", 1, 0, &text, &err), FURROW_E_FORMAT);
  assert_string_equal(err.message, "the first line may be a header: the schema names column 0 by its number");
  expect_rows(encoder, "memory://new.csv", "&header=no", "1 0=k\n1 0=l\n");
  expect_rows(encoder, "memory://new.csv", "&header=yes", "1 0=l\n");
  fw_buffer_clear(&text);
  furrow_encoder_free(encoder);
}

static void vowpal_wabbit(void **state) {
  (void)state;
  static const char schema[] = "{\"columns\":{\"label\":{\"as\":\"label\"},\"weight\":{\"as\":\"weight\"},\"u\":{"
                               "\"as\":\"category\"},\"i\":{\"as\":\"set\",\"separator\":\"|\",\"values\":true}}}";
  put_text(LOG, "1 |u user=a |i m1 m2\n-1 |u user=b |i m2\n1 2.0 tag|u user=a |i m3:0.5\n");
  furrow_encoder *encoder = build_encoder(LOG "?kind=vw", schema);
  expect_rows(encoder, LOG, "&kind=vw", "1 u=user=a i=m1 i=m2\n-1 u=user=b i=m2\n1:2 u=user=a i=m3:0.5\n");
  put_text("memory://new.vw", "|u user=a |i m1\n|u user=z |i m2\n");
  expect_rows(encoder, "memory://new.vw", "&kind=vw&label=optional", "- u=user=a i=m1\n- i=m2\n");
  furrow_encoder_free(encoder);
}

static void lists_of_json(void **state) {
  (void)state;
  static const char schema[] =
      "{\"columns\":{\"y\":{\"as\":\"label\"},\"s\":{\"as\":\"set\",\"separator\":\"|\"},\"a\":{\"as\":\"category\"}}}";
  expect_log(
      schema,
      "{\"y\":1,\"s\":[\"p|q\",\"r\"],\"a\":\"k\"}\n{\"y\":2,\"s\":[],\"a\":\"k\"}\n{\"y\":3,\"s\":\"p|r\",\"a\":1}\n",
      "1 s=p|q:0.7071 s=r:0.7071 a=k\n2 s=(missing) a=k\n3 s=p:0.7071 s=r:0.7071 a=1\n");
  expect_refused(schema, "{\"y\":1,\"s\":[\"p\"],\"a\":[\"k\",\"l\"]}\n", FURROW_E_PARSE,
                 "column a: a list, but one value is expected");
  expect_log(schema, "{\"y\":1,\"s\":[\"p\"],\"a\":[]}\n{\"y\":1,\"a\":\"k\"}\n{\"y\":2,\"a\":[\"k\"]}\n",
             "1 s=p a=(missing)\n1 s=(missing) a=k\n2 s=(missing) a=k\n");
}

/* ---- Columns that few records have ---------------------------------------------------------------------- */

#define SPARSE_LOG "memory://sparse.jsonl"

static const char sparse_schema[] =
    "{\"columns\":{\"y\":{\"as\":\"label\"},\"c\":{\"as\":\"category\"},\"s\":{\"as\":\"set\"},"
    "\"n\":{\"as\":\"number\",\"scale\":\"standard\"},\"b\":{\"as\":\"number\",\"scale\":\"bins\",\"bins\":2},"
    "\"t\":{\"as\":\"time\",\"unit\":\"s\",\"parts\":[\"hour\",\"age\"]},\"d\":{\"as\":\"category\"}}}";
static const char sparse_lines[] =
    "{\"y\":0,\"c\":\"k\",\"d\":\"p\"}\n{\"y\":1,\"s\":[\"u\",\"v\"],\"d\":\"p\"}\n"
    "{\"y\":2,\"n\":7,\"d\":\"p\"}\n{\"y\":3,\"b\":7}\n{\"y\":4,\"t\":3600,\"d\":\"p\"}\n{\"y\":5}\n";

/* What a record lacks is a feature only where most records have it; that a number is there is a feature elsewhere. */
static void sparse_columns(void **state) {
  (void)state;
  furrow_encoder_feature feature;
  uint64_t features = 0;
  put_text(SPARSE_LOG, sparse_lines);
  furrow_encoder *encoder = build_encoder(SPARSE_LOG, sparse_schema);
  expect_rows(encoder, SPARSE_LOG, "",
              "0 c=k d=p\n1 s=u:0.7071 s=v:0.7071 d=p\n2 n:0 n=(present) d=p\n3 b:1 d=(missing)\n"
              "4 t.hour=1 t.age:0 t.age=(present) d=p\n5 d=(missing)\n");
  for (features = 0; features < furrow_encoder_feature_count(encoder); features++) {
    assert_int_equal(furrow_encoder_get_feature(encoder, features, &feature, NULL), FURROW_OK);
    if (strncmp(feature.name, "(present)", 9) == 0) assert_int_equal(feature.count, 1);
  }
  furrow_encoder_free(encoder);
}

/* A dictionary of version 1 has no sparse fields: every missing cell is a feature. */
static void first_version_has_no_sparse_columns(void **state) {
  (void)state;
  const void *image = NULL;
  void *copy = NULL;
  size_t size = 0;
  fw_buffer text = {0};
  furrow_schema *schema = NULL;
  put_text(SPARSE_LOG, sparse_lines);
  furrow_encoder *encoder = build_encoder(SPARSE_LOG, sparse_schema), *old = NULL;
  assert_int_equal(fw_encoder_files(encoder, &text, &image, &size, NULL), FURROW_OK);
  assert_int_equal(fw_get_le32((const unsigned char *)image + FW_DICT_AT_VERSION), 2);
  assert_int_equal(fw_alloc(&copy, size, 1, NULL), FURROW_OK);
  memcpy(copy, image, size);
  unsigned char *bytes = copy;
  fw_put_le32(bytes + FW_DICT_AT_VERSION, 1);
  for (size_t i = 0; i < furrow_encoder_field_count(encoder); i++)
    fw_put_le32(bytes + FW_DICT_HEADER + i * FW_DICT_FIELD + FW_DICT_FIELD_SPARSE, 0);
  fw_put_le64(bytes + FW_DICT_AT_DIGEST, XXH3_64bits(bytes + FW_DICT_AT_SCHEMA, size - FW_DICT_AT_SCHEMA));
  assert_int_equal(furrow_schema_parse(&schema, text.bytes, text.size, NULL), FURROW_OK);
  assert_int_equal(fw_encoder_create(&old, schema, copy, size, NULL), FURROW_OK);
  expect_rows(old, SPARSE_LOG, "",
              "0 c=k s=(missing) n=(missing) b=(missing) t.hour=(missing) t.age=(missing) d=p\n"
              "1 c=(missing) s=u:0.7071 s=v:0.7071 n=(missing) b=(missing) t.hour=(missing) t.age=(missing) d=p\n"
              "2 c=(missing) s=(missing) n:0 b=(missing) t.hour=(missing) t.age=(missing) d=p\n"
              "3 c=(missing) s=(missing) n=(missing) b:1 t.hour=(missing) t.age=(missing) d=(missing)\n"
              "4 c=(missing) s=(missing) n=(missing) b=(missing) t.hour=1 t.age:0 d=p\n"
              "5 c=(missing) s=(missing) n=(missing) b=(missing) t.hour=(missing) t.age=(missing) d=(missing)\n");
  fw_buffer_clear(&text);
  furrow_encoder_free(old);
  furrow_encoder_free(encoder);
}

/* ---- Names ---------------------------------------------------------------------------------------------- */

static void names_both_ways(void **state) {
  (void)state;
  put_text(TABLE, "i,genre,price\nm1,a|b,2\n");
  put_text(LOG, "y,u,i\n1,p,m1\n2,q,m2\n3,p,m9\n4,r,m1\n");
  furrow_encoder *encoder = build_encoder(LOG, JOINED);
  uint64_t features = furrow_encoder_feature_count(encoder), next = 0, index = 0;
  furrow_encoder_feature feature;
  assert_int_equal(furrow_encoder_field_count(encoder), 4);
  for (size_t f = 0; f < 4; f++) {
    furrow_encoder_field field;
    furrow_encoder_get_field(encoder, f, &field);
    assert_int_equal(field.first, next);
    next += field.count;
    if (field.entries) assert_int_equal(field.count, field.entries + 2);
  }
  assert_int_equal(next, features);
  size_t named = 0;
  for (uint64_t i = 0; i < features; i++) {
    assert_int_equal(furrow_encoder_get_feature(encoder, i, &feature, NULL), FURROW_OK);
    if (feature.length == 0 || feature.name[0] == '(') continue;
    assert_int_equal(furrow_encoder_find(encoder, feature.field, feature.name, feature.length, &index, NULL),
                     FURROW_OK);
    assert_int_equal(index, i);
    assert_true(feature.count > 0);
    named++;
  }
  assert_int_equal(named, 3 + 3 + 2);
  assert_int_equal(furrow_encoder_get_feature(encoder, 2, &feature, NULL), FURROW_OK);
  assert_true(feature.count == 2 && feature.length == 1 && feature.name[0] == 'p'); /* the most frequent first */
  furrow_error err = {0};
  assert_int_equal(furrow_encoder_get_feature(encoder, features, &feature, &err), FURROW_E_RANGE);
  assert_int_equal(furrow_encoder_find(encoder, 0, "nobody", 6, &index, &err), FURROW_E_NOT_FOUND);
  assert_string_equal(err.token, "nobody");
  assert_int_equal(furrow_encoder_find(encoder, 3, "2", 1, &index, &err), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_encoder_find(encoder, 4, "2", 1, &index, &err), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_encoder_side_field(encoder, FURROW_SIDE_USER), 0);
  assert_int_equal(furrow_encoder_side_field(encoder, FURROW_SIDE_ITEM), 1);
  assert_int_equal(furrow_encoder_side_field(encoder, FURROW_SIDE_CONTEXT), SIZE_MAX);
  furrow_encoder_field field;
  furrow_encoder_get_field(encoder, 2, &field);
  assert_int_equal(field.side, FURROW_SIDE_ITEM); /* as the key of its table */
  furrow_encoder_free(encoder);
}

/* ---- Events and sides ----------------------------------------------------------------------------------- */

static void expect_container(const furrow_encoder *encoder, furrow_container *rows, const char *wanted) {
  furrow_rowblock block;
  fw_buffer text = {0};
  assert_int_equal(furrow_container_get_block(rows, &block, NULL), FURROW_OK);
  for (size_t i = 0; i < block.size; i++) put_row_text(&text, encoder, &block, i);
  fw_buffer_byte(&text, 0);
  assert_string_equal(text.bytes, wanted);
  fw_buffer_clear(&text);
  furrow_container_clear(rows);
}

static void event_refused(const furrow_encoder *encoder, furrow_container *rows, const furrow_pair *pairs, size_t count,
                          furrow_status status, const char *message) {
  furrow_error err = {0};
  assert_int_equal(furrow_encoder_push_event(encoder, pairs, count, rows, &err), status);
  assert_string_equal(err.message, message);
  assert_int_equal(err.line, 0);
  assert_int_equal(furrow_encoder_push_event(encoder, pairs, count, rows, NULL), status);
  assert_int_equal(furrow_container_size(rows), 0);
}

static void events(void **state) {
  (void)state;
  furrow_container *rows = NULL;
  put_text(TABLE, "i,genre,price\nm1,a|b,2\nm2,a,3\n");
  put_text(LOG, "y,u,i,other,t\n1,p,m1,x,5\n2,\"q\"\"\\\",m2,x,6\n3,,m9,x,7\n");
  furrow_encoder *encoder =
      build_encoder(LOG, "{\"columns\":{\"y\":{\"as\":\"label\"},\"u\":{\"as\":\"category\",\"role\":\"user\"},"
                         "\"i\":{\"as\":\"category\",\"role\":\"item\"},\"genre\":{\"as\":\"set\",\"separator\":\"|\"},"
                         "\"price\":{\"as\":\"number\",\"scale\":\"none\"},\"other\":{\"as\":\"ignore\"},"
                         "\"t\":{\"as\":\"time\",\"role\":\"time\",\"parts\":[]}},\"tables\":{\"" TABLE "\":\"i\"}}");
  assert_int_equal(furrow_container_create(&rows, FURROW_KEY_U32, FURROW_VALUE_F32, NULL), FURROW_OK);
  const furrow_pair one[] = {{"i", "m2"}, {"u", "q\"\\"}, {"other", "anything"}, {"y", "7"}, {"t", "8"}};
  const furrow_pair two[] = {{"u", NULL}, {"i", "new"}};
  assert_int_equal(furrow_encoder_push_event(encoder, one, 5, rows, NULL), FURROW_OK);
  assert_int_equal(furrow_encoder_push_event(encoder, two, 2, rows, NULL), FURROW_OK);
  assert_int_equal(furrow_encoder_push_event(encoder, NULL, 0, rows, NULL), FURROW_OK);
  expect_container(encoder, rows, "7 u=q\"\\ i=m2 genre=a price:3\n0 u=(missing)\n0 u=(missing)\n");
  const furrow_pair stranger[] = {{"u", "p"}, {"genre", "a"}}; /* of a table: it is joined, not given */
  event_refused(encoder, rows, stranger, 2, FURROW_E_ARGUMENT, "the model's log has no column of that name");
  const furrow_pair twice[] = {{"u", "p"}, {"i", "m1"}, {"u", "p"}};
  event_refused(encoder, rows, twice, 3, FURROW_E_ARGUMENT, "the column is given twice");
  const furrow_pair label[] = {{"u", "p"}, {"y", "high"}};
  event_refused(encoder, rows, label, 2, FURROW_E_PARSE, "column y: not a number");
  furrow_container_free(rows);
  furrow_encoder_free(encoder);
}

/* Bytes that are not UTF-8, and those that JSON escapes: the same as in csv. */
static void events_of_any_bytes(void **state) {
  (void)state;
  furrow_container *rows = NULL;
  put_text(LOG, "y,a\n1,caf\xe9\n2,t\tb\n3,\"l\n\nm\"\n4,\x7f\xff\n");
  furrow_encoder *encoder = build_encoder(LOG, "{\"columns\":{\"y\":{\"as\":\"label\"},\"a\":{\"as\":\"category\"}}}");
  assert_int_equal(furrow_container_create(&rows, FURROW_KEY_U32, FURROW_VALUE_F32, NULL), FURROW_OK);
  static const char *const values[] = {"caf\xe9", "t\tb", "l\n\nm", "\x7f\xff"};
  for (size_t i = 0; i < 4; i++) {
    const furrow_pair pair = {"a", values[i]};
    furrow_error err = {0};
    if (furrow_encoder_push_event(encoder, &pair, 1, rows, &err) != FURROW_OK) fail_msg("%zu: %s", i, err.message);
  }
  expect_container(encoder, rows, "0 a=café\n0 a=t\tb\n0 a=l\n\nm\n0 a=\x7fÿ\n");
  furrow_container_free(rows);
  furrow_encoder_free(encoder);
}

static void sides(void **state) {
  (void)state;
  furrow_container *rows = NULL;
  furrow_error err = {0};
  put_text(TABLE, "i,genre,price\nm1,a|b,2\nm2,a,3\n");
  put_text(LOG, "y,u,i,t\n1,p,m1,1\n2,p,m2,2\n3,q,m9,3\n4,p,m2,3\n");
  furrow_encoder *encoder = build_encoder(
      LOG, "{\"columns\":{\"y\":{\"as\":\"label\"},\"u\":{\"as\":\"category\",\"role\":\"user\"},"
           "\"i\":{\"as\":\"category\",\"role\":\"item\"},\"genre\":{\"as\":\"set\",\"separator\":\"|\"},"
           "\"price\":{\"as\":\"number\",\"scale\":\"none\"},\"t\":{\"as\":\"time\",\"unit\":\"s\",\"role\":\"time\","
           "\"parts\":[\"hour\"]}},\"tables\":{\"" TABLE "\":\"i\"},\"history\":2}");
  uint64_t p, m1, m9;
  assert_int_equal(furrow_encoder_find(encoder, 0, "p", 1, &p, NULL), FURROW_OK);
  assert_int_equal(furrow_encoder_find(encoder, 1, "m1", 2, &m1, NULL), FURROW_OK);
  assert_int_equal(furrow_encoder_find(encoder, 1, "m9", 2, &m9, NULL), FURROW_OK);
  assert_int_equal(furrow_container_create(&rows, FURROW_KEY_U32, FURROW_VALUE_F32, NULL), FURROW_OK);
  assert_int_equal(furrow_encoder_push_side(encoder, FURROW_SIDE_USER, p, rows, NULL), FURROW_OK);
  assert_int_equal(furrow_encoder_push_side(encoder, FURROW_SIDE_ITEM, m1, rows, NULL), FURROW_OK);
  assert_int_equal(furrow_encoder_push_side(encoder, FURROW_SIDE_ITEM, m9, rows, NULL), FURROW_OK);
  assert_int_equal(furrow_encoder_push_side(encoder, FURROW_SIDE_USER, 0, rows, NULL), FURROW_OK);
  expect_container(encoder, rows,
                   "- u=p history=m2:0.7071 history=m2:0.7071\n- i=m1 genre=a:0.7071 genre=b:0.7071 price:2\n"
                   "- i=m9\n- u=(unknown)\n");
  assert_int_equal(furrow_encoder_push_side(encoder, FURROW_SIDE_USER, m1, rows, &err), FURROW_E_RANGE);
  assert_int_equal(furrow_encoder_push_side(encoder, FURROW_SIDE_ITEM, p, rows, &err), FURROW_E_RANGE);
  assert_int_equal(furrow_encoder_push_side(encoder, FURROW_SIDE_CONTEXT, p, rows, &err), FURROW_E_ARGUMENT);
  const furrow_pair event[] = {{"u", "q"}, {"i", "m1"}}; /* with the history of now; the time is not needed */
  assert_int_equal(furrow_encoder_push_event(encoder, event, 2, rows, NULL), FURROW_OK);
  expect_container(encoder, rows, "0 u=q i=m1 genre=a:0.7071 genre=b:0.7071 price:2 history=m9\n");
  expect_rows(encoder, LOG, "",
              "1 u=p i=m1 t.hour=0 genre=a:0.7071 genre=b:0.7071 price:2\n"
              "2 u=p i=m2 t.hour=0 genre=a price:3 history=m1\n3 u=q i=m9 t.hour=0\n"
              "4 u=p i=m2 t.hour=0 genre=a price:3 history=m1:0.7071 history=m2:0.7071\n");
  furrow_container_free(rows);
  furrow_encoder_free(encoder);
}

static void history_refused(void **state) {
  (void)state;
  static const char schema[] = "{\"columns\":{\"u\":{\"as\":\"category\",\"role\":\"user\"},\"i\":{\"as\":\"category\","
                               "\"role\":\"item\"},\"t\":{\"as\":\"time\",\"unit\":\"s\",\"role\":\"time\"}},"
                               "\"history\":2}";
  expect_refused(schema, "u,i,t\np,m,2\np,m,1\n", FURROW_E_FORMAT,
                 "the history needs a log in the order of its times: an event of user p is earlier than the one "
                 "before");
  expect_refused(schema, "u,i,t\np,m,2\np,m,\n", FURROW_E_PARSE,
                 "column t: the time is missing, which the history needs");
}

/* What a cross cannot combine. */
static void crosses_refused(void **state) {
  (void)state;
  static const struct {
    const char *of, *message;
    furrow_status status;
  } cases[] = {
      {"\"a\",\"n\"", "cross: n is a number", FURROW_E_FORMAT},
      {"\"a\",\"s\"", "cross: only categories, bins and parts of times of the log can be crossed", FURROW_E_ARGUMENT},
      {"\"a\",\"t.age\"", "cross: t.age is a number", FURROW_E_FORMAT},
      {"\"a\",\"genre\"", "cross: only categories, bins and parts of times of the log can be crossed",
       FURROW_E_ARGUMENT},
  };
  put_text(TABLE, "a,genre\nk,x\n");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char schema[600];
    snprintf(schema, sizeof schema,
             "{\"columns\":{\"a\":{\"as\":\"category\"},\"n\":{\"as\":\"number\"},\"s\":{\"as\":\"set\",\"separator\":"
             "\"|\"},\"t\":{\"as\":\"time\",\"unit\":\"s\",\"parts\":[\"age\"]},\"genre\":{\"as\":\"category\"}},"
             "\"tables\":{\"" TABLE "\":\"a\"},\"cross\":[{\"of\":[%s],\"bits\":4}]}",
             cases[i].of);
    expect_refused(schema, "a,n,s,t\nk,1,p,5\n", cases[i].status, cases[i].message);
  }
}

/* ---- The format of rows --------------------------------------------------------------------------------- */

#define WEIGHED                                                                                                 \
  "{\"columns\":{\"y\":{\"as\":\"label\"},\"w\":{\"as\":\"weight\"},\"a\":{\"as\":\"category\"},\"n\":{\"as\":" \
  "\"number\",\"scale\":\"none\"}}}"

static furrow_status open_table(furrow_parser **parser, const char *uri, furrow_value_type type, uint32_t nparts,
                                furrow_error *err) {
  furrow_parser_params params;
  furrow_parser_params_init(&params);
  params.format = "table";
  params.value_type = type;
  params.nparts = nparts;
  params.threads = 1;
  *parser = NULL;
  return furrow_parser_open(parser, uri, &params, err);
}

static void the_format_table(void **state) {
  (void)state;
  furrow_parser *parser;
  furrow_error err = {0};
  fw_buffer text = {0};
  put_text(LOG, "y,w,a,n\n1,2,k,3\n0,1,l,4\n");
  furrow_encoder *encoder = build_encoder(LOG, WEIGHED);
  save_encoder(encoder);
  assert_int_equal(open_table(&parser, LOG, FURROW_VALUE_F32, 1, &err), FURROW_E_ARGUMENT);
  assert_string_equal(err.message, "format table needs the argument encoder");
  assert_string_equal(err.hint, "LOG?format=table&encoder=DIR, where DIR is a model or was made by furrow rows encode");
  assert_int_equal(open_table(&parser, LOG "?encoder=" ENCODER_PLACE, FURROW_VALUE_I32, 1, &err), FURROW_OK);
  assert_int_equal(furrow_parser_next(parser, &err), FURROW_E_UNSUPPORTED);
  assert_string_equal(err.message, "rows of a table have values of type f32");
  furrow_parser_close(parser);
  assert_int_equal(open_table(&parser, LOG "?encoder=" ENCODER_PLACE, FURROW_VALUE_F32, 2, &err), FURROW_OK);
  assert_int_equal(furrow_parser_column_count(parser), 2);
  assert_string_equal(furrow_parser_column_name(parser, 0), "a");
  assert_string_equal(furrow_parser_column_name(parser, 1), "n");
  assert_null(furrow_parser_column_name(parser, 2));
  assert_string_equal(furrow_parser_label_name(parser), "y");
  assert_string_equal(furrow_parser_weight_name(parser), "w");
  assert_int_equal(furrow_parser_label_column(parser), -1);
  assert_int_equal(furrow_parser_weight_column(parser), -1);
  furrow_parser_close(parser);
  put_text("memory://new.csv", "a,n\nk,5\nl,6\n"); /* neither label nor weight */
  expect_rows(encoder, "memory://new.csv", "&label=optional", "- a=k n:5\n- a=l n:6\n");
  expect_rows(encoder, "memory://new.csv", "&label=none", "- a=k n:5\n- a=l n:6\n");
  assert_int_equal(read_encoded(encoder, "memory://new.csv", "", 1, 0, &text, &err), FURROW_E_FORMAT);
  assert_string_equal(err.message, "the log lacks columns that the schema has: y, w");
  assert_string_equal(err.hint, "");
  put_text("memory://new.csv", "1 2:3\n0 1:2\n"); /* rows that are encoded already */
  assert_int_equal(read_encoded(encoder, "memory://new.csv", "", 1, 0, &text, &err), FURROW_E_FORMAT);
  assert_string_equal(err.hint, "rows that are encoded already are read by their own format, such as libffm");
  fw_buffer_clear(&text);
  furrow_encoder_free(encoder);
}

/* A log that is longer than what is looked at first: whether it has labels its first records say. */
static void labels_of_long_logs(void **state) {
  (void)state;
  fw_buffer log = {0}, bare = {0}, text = {0};
  furrow_error err = {0};
  put_text(LOG, "y,w,a,n\n1,1,k,3\n0,1,l,4\n");
  furrow_encoder *encoder = build_encoder(LOG, WEIGHED);
  save_encoder(encoder);
  for (int i = 0; i < 9000; i++) {
    fw_buffer_format(&log, "{\"y\":%d,\"w\":1,\"a\":\"k\",\"n\":%d}\n", i % 2, i);
    fw_buffer_format(&bare, "{\"y\":null,\"w\":1,\"a\":\"k\",\"n\":%d}\n", i);
  }
  fw_buffer_byte(&log, 0);
  fw_buffer_byte(&bare, 0);
  put_text("memory://long.json", log.bytes);
  if (read_encoded(encoder, "memory://long.json", "&label=optional", 1, 0, &text, &err) != FURROW_OK)
    fail_msg("%s", err.message);
  assert_memory_equal(text.bytes, "0 a=k n:0\n1 a=k n:1\n", 20);
  text.size = 0;
  put_text("memory://long.json", bare.bytes);
  if (read_encoded(encoder, "memory://long.json", "&label=optional", 1, 0, &text, &err) != FURROW_OK)
    fail_msg("%s", err.message);
  assert_memory_equal(text.bytes, "- a=k n:0\n- a=k n:1\n", 20);
  assert_int_equal(furrow_memory_file_remove("memory://long.json", NULL), FURROW_OK);
  fw_buffer_clear(&log);
  fw_buffer_clear(&bare);
  fw_buffer_clear(&text);
  furrow_encoder_free(encoder);
}

/* Rows that depend on those before them: all again after a rewind, and never in parts. */
static void rows_with_a_history(void **state) {
  (void)state;
  furrow_parser *parser;
  furrow_error err = {0};
  put_text(LOG, "u,i,t\np,m1,1\np,m2,2\np,m3,3\n");
  furrow_encoder *encoder = build_encoder(
      LOG, "{\"columns\":{\"u\":{\"as\":\"category\",\"role\":\"user\"},\"i\":{\"as\":\"category\",\"role\":\"item\"},"
           "\"t\":{\"as\":\"time\",\"unit\":\"s\",\"role\":\"time\",\"parts\":[]}},\"history\":2}");
  save_encoder(encoder);
  assert_int_equal(open_table(&parser, LOG "?encoder=" ENCODER_PLACE, FURROW_VALUE_F32, 2, &err), FURROW_E_ARGUMENT);
  assert_string_equal(err.message, "rows with a history cannot be read in parts");
  assert_null(parser);
  assert_int_equal(open_table(&parser, LOG "?encoder=" ENCODER_PLACE, FURROW_VALUE_F32, 1, &err), FURROW_OK);
  for (int pass = 0; pass < 2; pass++) {
    fw_buffer text = {0};
    assert_int_equal(furrow_parser_next(parser, &err), FURROW_OK);
    for (size_t i = 0; i < 3; i++) put_row_text(&text, encoder, furrow_parser_value(parser), i);
    fw_buffer_byte(&text, 0);
    assert_string_equal(text.bytes,
                        "1 u=p i=m1\n1 u=p i=m2 history=m1\n1 u=p i=m3 history=m1:0.7071 history=m2:0.7071\n");
    fw_buffer_clear(&text);
    assert_int_equal(furrow_parser_rewind(parser, &err), FURROW_OK);
  }
  furrow_parser_close(parser);
  furrow_encoder_free(encoder);
}

/* ---- Tables that are elsewhere, or of something else ------------------------------------------------------ */

static void tables_in_folders(void **state) {
  (void)state;
  static const char schema[] = "{\"columns\":{\"i\":{\"as\":\"category\"},\"genre\":{\"as\":\"category\"}},\"tables\":{"
                               "\"table.csv\":\"i\"}}";
  static const char absolute[] = "{\"columns\":{\"i\":{\"as\":\"category\"},\"genre\":{\"as\":\"category\"}},"
                                 "\"tables\":{\"/nowhere/table.csv\":\"i\"}}";
  furrow_encoder *encoder;
  furrow_encoder_params params;
  furrow_error err = {0};
  furrow_encoder_params_init(&params);
  put_text(LOG, "i,x\nm1,1\nm2,2\n");
  put_text("memory://folder/table.csv", "i,genre\nm1,a\nm3,b\n");
  assert_int_equal(try_build(&encoder, LOG, schema, &params, &err), FURROW_E_NOT_FOUND);
  params.folder = "memory://folder";
  if (try_build(&encoder, LOG, schema, &params, &err) != FURROW_OK) fail_msg("%s", err.message);
  expect_rows(encoder, LOG, "", "1 i=m1 genre=a\n1 i=m2\n");
  furrow_encoder_free(encoder);
  assert_int_equal(try_build(&encoder, LOG, absolute, &params, &err), FURROW_E_NOT_FOUND);
  assert_null(encoder);
  put_text("memory://folder/table.csv", "i,genre\nx1,a\nx3,b\n"); /* of other items */
  assert_int_equal(try_build(&encoder, LOG, schema, &params, &err), FURROW_E_FORMAT);
  assert_string_equal(err.message, "table table.csv: its column i has none of the values that the log has in i");
  put_text("memory://folder/table.csv", "i,genre\n");
  assert_int_equal(try_build(&encoder, LOG, schema, &params, &err), FURROW_E_FORMAT);
  assert_string_equal(err.message, "table table.csv: its column i has none of the values that the log has in i");
  assert_null(encoder);
  assert_int_equal(furrow_memory_file_remove("memory://folder/table.csv", NULL), FURROW_OK);
}

/* A label or the role of an item is the log's own; all that is absent is named. */
static void columns_of_the_log(void **state) {
  (void)state;
  put_text(TABLE, "i,y,genre\nm1,1,a\n");
  expect_refused("{\"columns\":{\"y\":{\"as\":\"label\"},\"i\":{\"as\":\"category\"},\"genre\":{\"as\":\"category\"},"
                 "\"b\":{\"as\":\"category\"}},\"tables\":{\"" TABLE "\":\"i\"}}",
                 "i,x\nm1,1\n", FURROW_E_FORMAT, "the schema has columns that the data does not have: y, b");
  put_text(TABLE, "i,genre\nm1,a\n");
  expect_refused(
      "{\"columns\":{\"a\":{\"as\":\"category\"},\"i\":{\"as\":\"category\"},\"genre\":{\"as\":\"category\"}},"
      "\"tables\":{\"" TABLE "\":{\"key\":\"i\",\"column\":\"item\"}}}",
      "i,x\nm1,1\n", FURROW_E_FORMAT,
      "the schema has columns that the data does not have: a, item (the key of " TABLE ")");
}

/* Of a log with many columns the hint has the first ones. */
static void hints_are_cut_short(void **state) {
  (void)state;
  fw_buffer log = {0};
  furrow_encoder *encoder;
  furrow_error err = {0};
  for (int i = 0; i < 60; i++) fw_buffer_format(&log, "%scolumn%d", i ? "," : "", i);
  for (int i = 0; i < 60; i++) fw_buffer_format(&log, "%s%d", i ? "," : "\n", i);
  fw_buffer_text(&log, "\n");
  fw_buffer_byte(&log, 0);
  put_text(LOG, log.bytes);
  assert_int_equal(try_build(&encoder, LOG, "{\"columns\":{\"a\":{\"as\":\"category\"}}}", NULL, &err),
                   FURROW_E_FORMAT);
  assert_memory_equal(err.hint, "the log has the columns column0, column1, ", 42);
  assert_null(strstr(err.hint, "column40"));
  assert_int_equal(try_build(&encoder, LOG, "{\"columns\":{\"a\":{\"as\":\"category\"}}}", NULL, NULL),
                   FURROW_E_FORMAT);
  assert_int_equal(furrow_memory_file_remove(LOG, NULL), FURROW_OK);
  fw_buffer_clear(&log);
}

/* A log of which no record can be read. */
static void bad_logs(void **state) {
  (void)state;
  furrow_encoder *encoder;
  furrow_encoder_params params;
  furrow_error err = {0};
  furrow_encoder_params_init(&params);
  params.on_bad = FURROW_ON_BAD_SKIP;
  put_text(LOG, "y,a\nx,k\nz,l\n");
  static const char schema[] = "{\"columns\":{\"y\":{\"as\":\"label\"},\"a\":{\"as\":\"category\"}}}";
  assert_int_equal(try_build(&encoder, LOG, schema, &params, &err), FURROW_E_FORMAT);
  assert_string_equal(err.message, "the log has no records that can be read");
  assert_string_equal(err.file, LOG);
  assert_int_equal(try_build(&encoder, LOG, schema, &params, NULL), FURROW_E_FORMAT);
  assert_null(encoder);
}

/* An encoder that is there already stays, and so does one of which a file is there. */
static void saves_that_are_refused(void **state) {
  (void)state;
  furrow_error err = {0};
  furrow_encoder *loaded = NULL;
  put_text(LOG, "y,a\n1,k\n");
  furrow_encoder *encoder = build_encoder(LOG, "{\"columns\":{\"y\":{\"as\":\"label\"},\"a\":{\"as\":\"category\"}}}");
  save_encoder(encoder);
  assert_int_equal(furrow_encoder_save(encoder, ENCODER_PLACE, false, &err), FURROW_E_EXISTS);
  assert_int_equal(furrow_memory_file_remove(ENCODER_PLACE "/dictionary.furrow", NULL), FURROW_OK);
  assert_int_equal(furrow_encoder_save(encoder, ENCODER_PLACE, false, &err), FURROW_E_EXISTS);
  assert_int_equal(furrow_encoder_load(&loaded, ENCODER_PLACE, &err), FURROW_E_NOT_FOUND);
  assert_null(loaded);
  save_encoder(encoder);
  assert_int_equal(furrow_encoder_load(&loaded, ENCODER_PLACE, &err), FURROW_OK);
  furrow_encoder_free(loaded);
  furrow_encoder_free(encoder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(categories),
      cmocka_unit_test(unknown_values),
      cmocka_unit_test(hashes),
      cmocka_unit_test(sets),
      cmocka_unit_test(words),
      cmocka_unit_test(numbers),
      cmocka_unit_test(written_numbers),
      cmocka_unit_test(far_numbers),
      cmocka_unit_test(times),
      cmocka_unit_test(labels),
      cmocka_unit_test(weights_and_groups),
      cmocka_unit_test(crosses),
      cmocka_unit_test(joined_tables),
      cmocka_unit_test(tables_refused),
      cmocka_unit_test(tables_skip),
      cmocka_unit_test(bad_records_do_not_count),
      cmocka_unit_test(absent_columns),
      cmocka_unit_test(no_header),
      cmocka_unit_test(lists_of_json),
      cmocka_unit_test(sparse_columns),
      cmocka_unit_test(first_version_has_no_sparse_columns),
      cmocka_unit_test(vowpal_wabbit),
      cmocka_unit_test(names_both_ways),
      cmocka_unit_test(events),
      cmocka_unit_test(events_of_any_bytes),
      cmocka_unit_test(sides),
      cmocka_unit_test(history_refused),
      cmocka_unit_test(crosses_refused),
      cmocka_unit_test(the_format_table),
      cmocka_unit_test(labels_of_long_logs),
      cmocka_unit_test(rows_with_a_history),
      cmocka_unit_test(tables_in_folders),
      cmocka_unit_test(columns_of_the_log),
      cmocka_unit_test(hints_are_cut_short),
      cmocka_unit_test(bad_logs),
      cmocka_unit_test(saves_that_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
