/* tests/unit/rows/test_table.c: text tables: how they are recognised, and what their cells are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "rows/table/text_table.h"
#include "rows/text/cells.h"
#include "support/cmocka_all.h"
#include "support/each_isa.h"

/* ---- A table in memory ---------------------------------------------------------------------------------- */

/* The text with readable bytes around it and nothing else. */
static char *pad_text(const char *text, size_t n, char **memory) {
  *memory = malloc(n + 2 * FW_KERN_PAD);
  assert_non_null(*memory);
  memset(*memory, '"', n + 2 * FW_KERN_PAD);
  memcpy(*memory + FW_KERN_PAD, text, n);
  return *memory + FW_KERN_PAD;
}

static fw_table_hints hints_of(const char *args) {
  static char texts[5][16];
  static const char *const names[] = {"kind=", "delimiter=", "header=", "newlines=", "quotes="};
  const char *values[5] = {0};
  for (int i = 0; i < 5; i++) {
    const char *p = strstr(args, names[i]);
    if (!p) continue;
    snprintf(texts[i], sizeof texts[i], "%.*s", (int)strcspn(p + strlen(names[i]), "&"), p + strlen(names[i]));
    values[i] = texts[i];
  }
  return (fw_table_hints){values[0], values[1], values[2], values[3], values[4]};
}

static void print_cell(fw_buffer *out, const fw_table_cell *cell) {
  if (cell->kind == FW_TABLE_MISSING) {
    assert_int_equal(cell->length, 0);
    fw_buffer_byte(out, '-');
    return;
  }
  if (cell->kind == FW_TABLE_LIST) fw_buffer_byte(out, '[');
  for (uint32_t i = 0; i < cell->length; i++)
    fw_buffer_byte(out, cell->text[i] == FW_TABLE_LIST_SEPARATOR ? '+' : cell->text[i]);
  if (cell->kind == FW_TABLE_LIST) fw_buffer_byte(out, ']');
}

static void print_batch(fw_buffer *out, const fw_table_batch *batch, size_t slots) {
  for (size_t r = 0; r < batch->records; r++) {
    for (size_t s = 0; s < slots; s++) {
      if (s) fw_buffer_byte(out, '~');
      print_cell(out, &fw_table_cells(batch, s)[r]);
    }
    fw_buffer_text(out, " / ");
  }
}

/* Names, then records: "a~b: 1~2 / 3~- / "; or the error. */
static void read_text(const char *text, size_t n, const char *args, furrow_on_bad on_bad, fw_buffer *out,
                      fw_chunk_stats *stats, furrow_error *err) {
  char *memory;
  const char *padded = pad_text(text, n, &memory);
  const fw_table_hints hints = hints_of(args);
  fw_table_layout layout = {0};
  fw_table *table = NULL;
  fw_table_batch batch = {0};
  fw_table_cursor cursor = {.text = padded, .length = n, .on_bad = on_bad, .stats = stats};
  char *bare = malloc(n ? n : 1); /* a head has nothing readable around it */
  assert_non_null(bare);
  memcpy(bare, text, n);
  furrow_status status = fw_table_layout_find(&layout, &hints, bare, n, true, err);
  free(bare);
  if (status == FURROW_OK) status = fw_table_layout_skip_head(&layout, padded, n, &cursor.at, err);
  if (status == FURROW_OK)
    status = fw_table_create(&table, &layout, (const char *const *)layout.names, layout.columns, NULL, err);
  if (status == FURROW_OK) status = fw_table_batch_init(&batch, table, err);
  for (size_t i = 0; i < layout.columns; i++) {
    if (i) fw_buffer_byte(out, '~');
    fw_buffer_text(out, layout.names[i]);
  }
  fw_buffer_text(out, ": ");
  const size_t names = out->size;
  while (status == FURROW_OK && (status = fw_table_next(table, &cursor, &batch, err)) == FURROW_OK)
    print_batch(out, &batch, layout.columns);
  if (status != FURROW_END) out->size = names; /* records_before_an_error looks at them */
  if (status != FURROW_END)
    fw_buffer_format(out, "%s %llu+%llu %s '%s'", furrow_status_name(status),
                     err->offset == FURROW_NO_OFFSET ? 0ull : (unsigned long long)err->offset,
                     (unsigned long long)err->column, err->message, err->token);
  fw_buffer_byte(out, 0);
  fw_table_batch_clear(&batch);
  fw_table_free(table);
  fw_table_layout_clear(&layout);
  free(memory);
}

typedef struct example {
  const char *text, *args, *wanted;
} example;

static void expect(const example *examples, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const example *e = &examples[i];
    fw_buffer out = {0};
    fw_chunk_stats stats = {0};
    furrow_error err;
    read_text(e->text, strlen(e->text), e->args, FURROW_ON_BAD_ERROR, &out, &stats, &err);
    if (strcmp(out.bytes, e->wanted) != 0)
      fail_msg("'%s' (%s)\n is  %s\n not %s", e->text, e->args, out.bytes, e->wanted);
    fw_buffer_clear(&out);
  }
}

#define EXPECT(list) expect(list, sizeof(list) / sizeof((list)[0]))

/* ---- Layout --------------------------------------------------------------------------------------------- */

static void layouts(void **state) {
  (void)state;
  static const example list[] = {
      {"u,v\n1,2\n", "", "u~v: 1~2 / "},
      {"u;v\n1,5;2\n", "", "u~v: 1,5~2 / "},
      {"u\tv w\n1\t2,3\n", "", "u~v w: 1~2,3 / "},
      {"u|v\n1|2\n", "", "u~v: 1~2 / "},
      {"id,genres\n1,a|b\n2,c\n", "", "id~genres: 1~a|b / 2~c / "},
      {"1,2\n3,4\n", "", "0~1: 1~2 / 3~4 / "},
      {"ann,5\nbob,4\n", "", "0~1: ann~5 / bob~4 / "},
      {"name,age\nbob,4\n", "", "name~age: bob~4 / "},
      {"ann,x\nbob,y\nann,z\n", "", "0~1: ann~x / bob~y / ann~z / "},
      {"user,city\nbob,rome\nann,paris\n", "", "user~city: bob~rome / ann~paris / "},
      {"user,city\n", "", "user~city: "},
      {"user,city", "", "user~city: "},
      {"user,city\nbob,rome\n", "header=no", "0~1: user~city / bob~rome / "},
      {"user,city\nbob,rome\n", "kind=auto&header=auto&delimiter=auto", "user~city: bob~rome / "},
      {"1,2\n3,4\n", "header=yes", "1~2: 3~4 / "},
      {"a,2015,y\n1,2,0\n3,4,1\n", "", "a~2015~y: 1~2~0 / 3~4~1 / "},
      {"city,2015,x,y\nrome,2,5,0\nbern,4,6,1\n", "", "city~2015~x~y: rome~2~5~0 / bern~4~6~1 / "},
      {"bob,2015,x\nann,2016,z\n", "", "0~1~2: bob~2015~x / ann~2016~z / "},
      {"3,x,1\n4,2,0\n", "", "0~1~2: 3~x~1 / 4~2~0 / "},
      {"a,0.5,y\n1,2,0\n", "", "0~1~2: a~0.5~y / 1~2~0 / "},
      {"a,007,y\n1,2,0\n", "", "0~1~2: a~007~y / 1~2~0 / "},
      {",a,b\n0,x,y\n", "", "0~a~b: 0~x~y / "},
      {"a,b,\n1,2,\n3,4,\n", "", "a~b: 1~2 / 3~4 / "},
      {"x,1,\ny,2,z\n", "", "0~1~2: x~1~- / y~2~z / "},
      {"x,1,\ny,2,\n", "", "0~1: x~1 / y~2 / "},
      {"\xef\xbb\xbfu,v\n1,2\n", "", "u~v: 1~2 / "},
      {"\xef\xbb\xbf\"u\",v\n1,2\n", "", "u~v: 1~2 / "},
      {"\n \nu,v\n\n1,2\n\n", "", "u~v: 1~2 / "},
      {"\"a \"\"b\"\"\",\"c\nd\"\n1,2\n", "", "a \"b\"~c\nd: 1~2 / "},
      {"a b\nc d\n", "delimiter= ", "a~b: c~d / "},
      {"word\n1\n2\n", "", "word: 1 / 2 / "},
      {"a\001b\n1\0012\n", "delimiter=\001", "a~b: 1~2 / "},
      {"a:b\n1:2\n", "delimiter=:", "a~b: 1~2 / "},
      {"a,b\n1,2\n", "kind=tsv", "a,b: 1,2 / "},
      {"a,b\tc\n1,2\t3\n", "delimiter=\\t", "a,b~c: 1,2~3 / "},
      {"", "", ": E_FORMAT 0+0 the table is empty ''"},
      {" \n\r\n", "", ": E_FORMAT 0+0 the table is empty ''"},
      {"a,b,a\n1,2,3\n", "", ": E_FORMAT 0+0 the header has two columns of one name 'a'"},
      {"[{\"a\":1}]\n", "", ": E_FORMAT 0+0 this is one array of JSON: a table of JSON has an object on each line ''"},
      {"a,b\n", "kind=xml", ": E_ARGUMENT 0+0 kind of a table must be one of: csv, tsv, json, vw, auto 'xml'"},
      {"a,b\n", "header=maybe", ": E_ARGUMENT 0+0 header of a table must be one of: yes, no, auto 'maybe'"},
      {"a,b\n", "delimiter=x",
       ": E_ARGUMENT 0+0 delimiter must be one byte that is not a letter, a digit or a quote 'x'"},
      {"a,b\n1,2\n", "delimiter=ab",
       ": E_ARGUMENT 0+0 delimiter must be one byte that is not a letter, a digit or a quote 'ab'"},
      {"a,b\n1,2\n", "delimiter=\"",
       ": E_ARGUMENT 0+0 delimiter must be one byte that is not a letter, a digit or a quote '\"'"},
      {"a,b\tc\n1,2\t3\n", "delimiter=tab", "a,b~c: 1,2~3 / "},
      {"a,b\n", "quotes=maybe", ": E_ARGUMENT 0+0 quotes of a table must be one of: yes, no, auto 'maybe'"},
      {"a,b\n", "newlines=maybe", ": E_ARGUMENT 0+0 newlines of a table must be one of: yes, no, auto 'maybe'"},
      {"a,,b\nc,d,e\n", "", "0~1~2: a~-~b / c~d~e / "},
      {"\"a\"b,c\n1,2\n", "header=no", ": E_FORMAT 0+0 the first record has a quote that is not closed ''"},
      {"\"a,b\n1,2\n", "delimiter=,&header=yes",
       ": E_FORMAT 0+1 a quote in the header is not closed, or text follows it '\"a,b'"},
      {"[", "", "[: "},
      {"[ 1,2\n", "", "0~1: [ 1~2 / "},
      {"a,\"b\n1,2\n", "header=yes&newlines=no",
       ": E_FORMAT 0+3 a quote in the header is not closed, or text follows it '\"b'"},
  };
  EXPECT(list);
}

static void kinds(void **state) {
  (void)state;
  static const example list[] = {
      {"1 |f a b\n-1 |f c\n", "", "label~weight~tag~f: 1~-~-~[a+b] / -1~-~-~[c] / "},
      {"1|Toy Story (1995)|x\n2|Bar|y\n", "", "0~1~2: 1~Toy Story (1995)~x / 2~Bar~y / "},
      {"1 | ann | 5\n2 | bob | 6\n", "", "0~1~2: 1~ann~5 / 2~bob~6 / "},
      {"user|age\nann|5\n", "", "user~age: ann~5 / "},
      {"|a x\n", "", "label~weight~tag~a: -~-~-~[x] / "},
      {"|a x\n", "kind=csv&header=no", "0~1: -~a x / "},
      {"x |a y\nz |b c\n", "", "x~a y: z~b c / "},
      {"1 2 3 4 |a y\n1 2 3 4 |b c\n", "", "0~1: 1 2 3 4~a y / 1 2 3 4~b c / "},
      {"1 't |a x | y | z\n", "", "1 't~a x~y~z: "},
      {"1 |a\n2 |b\n", "", "0~1: 1~a / 2~b / "},
      {"1 | x |a y\n2 |b z\n", "", "label~weight~tag~features~a~b: 1~-~-~[x]~[y]~- / 2~-~-~-~-~[z] / "},
      {"1 1.5 't|a x\n", "", "label~weight~tag~a: 1~1.5~t~[x] / "},
      {" \n {\"a\":1}\n", "", "a: 1 / "},
      {"{\"a\":1}\n", "kind=csv&header=no", "0: {\"a\":1} / "},
  };
  EXPECT(list);
}

/* ---- Cells ---------------------------------------------------------------------------------------------- */

static void delimited(void **state) {
  (void)state;
  static const example list[] = {
      {"u,v\r\n1,2\r\n", "", "u~v: 1~2 / "},
      {"u,v\r1,2\r3,4\r", "", "u~v: 1~2 / 3~4 / "},
      {"u,v\n1,2\r\n3,4\r5,6\n", "", "u~v: 1~2 / 3~4 / 5~6 / "},
      {"u,v\n1,2", "", "u~v: 1~2 / "},
      {"u,v\n 1 ,\t2 \n", "", "u~v: 1~2 / "},
      {"u,v\n,\n , \n", "", "u~v: -~- / -~- / "},
      {"u,v\n\"\",\" \"\n", "", "u~v: -~  / "},
      {"u,v\n\"a,b\",\"c\"\"d\"\n", "", "u~v: a,b~c\"d / "},
      {"u,v\n\"\"\"\",\"\"\"x\"\"\"\n", "", "u~v: \"~\"x\" / "},
      {"u,v\n\"a\nb\",\"c\r\nd\"\r\ne,f\n", "", "u~v: a\nb~c\r\nd / e~f / "},
      {"u,v\n \"a\" , \"b\"\t\n", "", "u~v: a~b / "},
      {"u,v\n5\" disk,a\"b\n", "", "u~v: 5\" disk~a\"b / "},
      {"u,v\n5\" disk,\"a\nb\"\n", "", "u~v: 5\" disk~a\nb / "},
      {"u,v\n\"a,b\n", "quotes=no", "u~v: \"a~b / "},
      {"u,v\n1,2,\n3,4, \n", "", "u~v: 1~2 / 3~4 / "},
      {"u\tv\n\t\n a\t\tb \n", "", "u~v: E_PARSE 6+5 the header has 2 columns, this record has 3 'b'"},
      {"u\n1\n\n \n2\n", "", "u: 1 / 2 / "},
      {"u\n1,\n2\n", "delimiter=,", "u: 1 / 2 / "},
      {"#a,b\n#1,2\n", "", "#a~b: #1~2 / "},
      {"u,v\n1,NA\n", "", "u~v: 1~NA / "},
      {"u,v\n1\n", "", "u~v: E_PARSE 4+2 the header has 2 columns, this record has 1 ''"},
      {"1,2\n1,2,3\n", "", "0~1: E_PARSE 4+5 the first record has 2 columns, this record has 3 '3'"},
      {"u,v\n1,2\n\"a\"b,c\n", "", "u~v: E_PARSE 8+1 text follows a quote that closes its cell '\"a\"b,c'"},
      {"u,v\n1,2\n3,\"a\n4,5\n", "newlines=no", "u~v: E_PARSE 8+3 a quote is not closed '\"a'"},
      {"u,v\n1,2\n3,\"a\n4,5\n", "", "u~v: E_PARSE 8+3 a quote is not closed '\"a'"},
  };
  EXPECT(list);
}

static void json_lines(void **state) {
  (void)state;
  static const example list[] = {
      {"{\"a\":\"x\",\"b\":1.50,\"c\":true,\"d\":null,\"e\":\"\"}\n", "", "a~b~c~d~e: x~1.50~true~-~- / "},
      {"{\"a\":1}\n{\"b\":2,\"a\":3}\n", "", "a~b: 1~- / 3~2 / "},
      {"{\"a\":{\"b\":1,\"c\":{\"d\":[1, 2]}},\"e\":{}}\n", "", "a.b~a.c: 1~{\"d\":[1, 2]} / "},
      {"{\"a\":[1,\"x\",true,null,\"\",-2e5]}\n{\"a\":[]}\n{\"a\":[null]}\n", "", "a: [1+x+true+-2e5] / - / - / "},
      {"{\"a\":[1,[2]],\"b\":[{\"c\":1}]}\n", "", "a~b: [1,[2]]~[{\"c\":1}] / "},
      {"{\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\"}\n", "",
       "a: \"\\/\b\f\n\r\t\xc3\xa9\xf0\x9f\x98\x80 / "},
      {"{\"a\":[\"\\n\",\"b\"]}\n", "", "a: [\n+b] / "},
      {"{\"\\u0061b\":1}\n{\"ab\":2}\n", "", "ab: 1 / 2 / "},
      {" { \"a\" : 1 , \"b\" : [ 1 , 2 ] } \r\n\n", "", "a~b: 1~[1+2] / "},
      {"{}\n{\"a\":1}", "", "a: - / 1 / "},
      {"{\"a\":1}\n{\"a\":1,\"a\":2}\n", "", "a: E_PARSE 8+9 a key occurs twice 'a\":2}'"},
      {"{\"a\":1}\n{\"x.y\":1,\"x\":{\"y\":2}}\n", "", "a~x.y: E_PARSE 8+16 a key occurs twice 'y\":2}}'"},
      {"{\"a\":1}\n{\"a\":01}\n", "", "a: E_PARSE 8+6 not a number of JSON '01}'"},
      {"{\"a\":1}\n{\"a\":1.}\n", "", "a: E_PARSE 8+6 not a number of JSON '1.}'"},
      {"{\"a\":1}\n{\"a\":-}\n", "", "a: E_PARSE 8+6 not a number of JSON '-}'"},
      {"{\"a\":1}\n{\"a\":1e}\n", "", "a: E_PARSE 8+6 not a number of JSON '1e}'"},
      {"{\"a\":1}\n{\"a\":nil}\n", "", "a: E_PARSE 8+6 not a value of JSON 'nil}'"},
      {"{\"a\":1}\n{\"a\":}\n", "", "a: E_PARSE 8+6 not a value of JSON '}'"},
      {"{\"a\":1}\n{\"a\":\n", "", "a: E_PARSE 8+6 a value is missing ''"},
      {"{\"a\":1}\n{\"a\":\"x\n", "", "a: E_PARSE 8+6 a string is not closed '\"x'"},
      {"{\"a\":1}\n{\"a\":\"\\x\"}\n", "", "a: E_PARSE 8+7 not an escape sequence '\\x\"}'"},
      {"{\"a\":1}\n{\"a\":\"\\ud800\"}\n", "", "a: E_PARSE 8+7 half of a pair of \\u escapes '\\ud800\"}'"},
      {"{\"a\":1}\n{\"a\":\"x\ty\"}\n", "", "a: E_PARSE 8+8 a control character in a string '\\x09y\"}'"},
      {"{\"a\":1}\n{\"a\":[\"\\u001f\"]}\n", "",
       "a: E_PARSE 8+8 an element of a list has the character \\u001f in it '\\u001f\"]}'"},
      {"{\"a\":1}\n{a:1}\n", "", "a: E_PARSE 8+2 a key in quotes is missing 'a:1}'"},
      {"{\"a\":1}\n{\"a\":1,}\n", "", "a: E_PARSE 8+8 a key in quotes is missing '}'"},
      {"{\"a\":1}\n{\"a\" 1}\n", "", "a: E_PARSE 8+6 a colon is missing after the key '1}'"},
      {"{\"a\":1}\n{\"a\":1 \"b\":2}\n", "", "a: E_PARSE 8+8 a comma or } is missing '\"b\":2}'"},
      {"{\"a\":1}\n{\"a\":[1 2]}\n", "", "a: E_PARSE 8+9 a comma or ] is missing '2]}'"},
      {"{\"a\":1}\n{\"a\":1} x\n", "", "a: E_PARSE 8+9 text follows the object 'x'"},
      {"{\"a\":1}\n[1]\n", "", "a: E_PARSE 8+1 a line that is not an object of JSON '[1]'"},
      {"{\"a\"\n", "", ": E_FORMAT 0+5 a colon is missing after the key ''"},
  };
  EXPECT(list);
}

/* Lines that are cut anywhere, values that nobody wants, escapes that say nothing. */
static void json_mistakes(void **state) {
  (void)state;
  static const example list[] = {
      {"{\"a\":false,\"b\":1E+5,\"c\":2e-7,\"d\":-0.5}\n", "", "a~b~c~d: false~1E+5~2e-7~-0.5 / "},
      {"{\"a\":\"\\ue000\\uD83D\\uDE00\\u00Ff\"}\n", "", "a: \xee\x80\x80\xf0\x9f\x98\x80\xc3\xbf / "},
      {"{\"a\":{\"b\":{}},\"c\":[[]],\"d\":[{ }],\"e\":[[ ]]}\n", "", "a.b~c~d~e: {}~[[]]~[{ }]~[[ ]] / "},
      {"{\"a\\u0000b\":1,\"c\":2}\n", "", "c: 2 / "},
      {"{\"a\":1}\n{\"a\":1", "", "a: E_PARSE 8+7 a comma or } is missing ''"},
      {"{\"a\":1}\n{\"a\":-", "", "a: E_PARSE 8+6 not a number of JSON '-'"},
      {"{\"a\":1}\n{\"a\":1.", "", "a: E_PARSE 8+6 not a number of JSON '1.'"},
      {"{\"a\":1}\n{\"a\":1e", "", "a: E_PARSE 8+6 not a number of JSON '1e'"},
      {"{\"a\":1}\n{\"a\":1e+", "", "a: E_PARSE 8+6 not a number of JSON '1e+'"},
      {"{\"a\":1}\n{\"a\":fals}", "", "a: E_PARSE 8+6 not a value of JSON 'fals}'"},
      {"{\"a\":1}\n{\"a\":\"\\", "", "a: E_PARSE 8+7 not an escape sequence '\\'"},
      {"{\"a\":1}\n{\"a\":\"x\\\"", "", "a: E_PARSE 8+8 a string is not closed '\\\"'"},
      {"{\"a\":1}\n{\"a\":\"\\u12", "", "a: E_PARSE 8+7 not an escape sequence '\\u12'"},
      {"{\"a\":1}\n{\"a\":\"\\u12g4\"}", "", "a: E_PARSE 8+7 not an escape sequence '\\u12g4\"}'"},
      {"{\"a\":1}\n{\"a\":\"\\u12:4\"}", "", "a: E_PARSE 8+7 not an escape sequence '\\u12:4\"}'"},
      {"{\"a\":1}\n{\"a\":\"\\udc00\"}", "", "a: E_PARSE 8+7 half of a pair of \\u escapes '\\udc00\"}'"},
      {"{\"a\":1}\n{\"a\":\"\\ud800\\u0041\"}", "", "a: E_PARSE 8+7 half of a pair of \\u escapes '\\ud800\\u0041\"}'"},
      {"{\"a\":1}\n{\"a\":\"\\ud800\\uf000\"}", "", "a: E_PARSE 8+7 half of a pair of \\u escapes '\\ud800\\uf000\"}'"},
      {"{\"a\":1}\n{\"a\":\"\\ud800abcdef\"}", "", "a: E_PARSE 8+7 half of a pair of \\u escapes '\\ud800abcdef\"}'"},
      {"{\"a\":1}\n{\"a\":\"\\ud800\\nbcdef\"}", "",
       "a: E_PARSE 8+7 half of a pair of \\u escapes '\\ud800\\nbcdef\"}'"},
      {"{\"a\":1}\n{\"a\":[\"\\ud800\"]}", "", "a: E_PARSE 8+8 half of a pair of \\u escapes '\\ud800\"]}'"},
      {"{\"a\":1}\n{\"\\ud800\":1}", "", "a: E_PARSE 8+3 half of a pair of \\u escapes '\\ud800\":1}'"},
      {"{\"a\":1}\n{\"a\":{\"b\":{x:1}}}", "", "a~a.b: E_PARSE 8+12 a key in quotes is missing 'x:1}}}'"},
      {"{\"a\":1}\n{\"a\":{\"b\":{", "", "a~a.b: E_PARSE 8+12 a key in quotes is missing ''"},
      {"{\"a\":1}\n{\"a\":{\"b\":{\"c", "", "a~a.b: E_PARSE 8+12 a string is not closed '\"c'"},
      {"{\"a\":1}\n{\"a\":{\"b\":{\"c\" 1}}}", "", "a~a.b: E_PARSE 8+16 a colon is missing after the key '1}}}'"},
      {"{\"a\":1}\n{\"a\":{\"b\":{\"c\":}}}", "", "a~a.b: E_PARSE 8+16 not a value of JSON '}}}'"},
      {"{\"a\":1}\n{\"a\":{\"b\":{\"c\":1", "", "a~a.b: E_PARSE 8+17 a comma or } is missing ''"},
      {"{\"a\":1}\n{\"a\":{\"b\":{\"c\":1]}}", "", "a~a.b: E_PARSE 8+17 a comma or } is missing ']}}'"},
      {"{\"a\":1}\n{\"a\":[[1", "", "a: E_PARSE 8+9 a comma or ] is missing ''"},
      {"{\"a\":1}\n{\"a\":[[1}", "", "a: E_PARSE 8+9 a comma or ] is missing '}'"},
      {"{\"a\":1}\n{\"a\":[1,[2}", "", "a: E_PARSE 8+11 a comma or ] is missing '}'"},
      {"{\"a\":1}\n{\"a\":[", "", "a: E_PARSE 8+7 a value is missing ''"},
      {"{\"a\":1}\n{\"a\":[1", "", "a: E_PARSE 8+8 a comma or ] is missing ''"},
      {"{\"a\":1}\n{\"a\":[x]}", "", "a: E_PARSE 8+7 not a value of JSON 'x]}'"},
      {"{\"a\":1}\n{", "", "a: E_PARSE 8+2 a key in quotes is missing ''"},
      {"{\"a\":1}\n{\"a", "", "a: E_PARSE 8+2 a string is not closed '\"a'"},
      {"{\"a\":1}\n{\"a\":1,\"\\u0061\":2}", "", "a: E_PARSE 8+1 a key occurs twice '{\"a\":1,\"\\u0061\":2}'"},
      {"{\"a\":1}\n{\"a\":1,\"a\":\"a text that is long\"}", "",
       "a: E_PARSE 8+9 a key occurs twice 'a\":\"a text that is l'"},
  };
  EXPECT(list);
}

/* Bytes that a head must not have, further on. */
static void control_characters(void **state) {
  (void)state;
  static const struct {
    const char *text;
    size_t head, size; /* bytes that are looked at first, and all */
    const char *message;
    uint64_t column;
  } list[] = {
      /* strchr finds the 0 at the end of the list of letters */
      {"{\"a\":1}\n{\"a\":\"\\\0\"}\n", 8, 18, "not an escape sequence", 7},
      {"1 |u a\n1 |u a\x1f"
       "b\n",
       7, 16, "a feature has the control character 0x1f in it", 6},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    fw_table_layout layout;
    fw_table *table;
    fw_table_batch batch;
    furrow_error err;
    char *memory;
    const char *padded = pad_text(list[i].text, list[i].size, &memory);
    fw_table_cursor cursor = {.text = padded, .length = list[i].size};
    assert_int_equal(fw_table_layout_find(&layout, NULL, list[i].text, list[i].head, true, NULL), FURROW_OK);
    assert_int_equal(fw_table_create(&table, &layout, (const char *const *)layout.names, layout.columns, NULL, NULL),
                     FURROW_OK);
    assert_int_equal(fw_table_batch_init(&batch, table, NULL), FURROW_OK);
    assert_int_equal(fw_table_next(table, &cursor, &batch, &err), FURROW_OK);
    assert_int_equal(batch.records, 1);
    assert_int_equal(fw_table_next(table, &cursor, &batch, &err), FURROW_E_PARSE);
    assert_string_equal(err.message, list[i].message);
    assert_int_equal(err.offset, list[i].head);
    assert_int_equal(err.column, list[i].column);
    fw_table_batch_clear(&batch);
    fw_table_free(table);
    fw_table_layout_clear(&layout);
    free(memory);
  }
}

/* Arrays within arrays up to a limit, whether a column wants them or not. */
static void json_depth(void **state) {
  (void)state;
  for (int deep = 60; deep < 70; deep++) {
    fw_buffer text = {0}, out = {0};
    fw_chunk_stats stats = {0};
    furrow_error err;
    fw_buffer_text(&text, "{\"a\":1}\n{\"a\":");
    for (int i = 0; i < deep; i++) fw_buffer_byte(&text, '[');
    for (int i = 0; i < deep; i++) fw_buffer_byte(&text, ']');
    fw_buffer_text(&text, "}\n");
    read_text(text.bytes, text.size, "", FURROW_ON_BAD_ERROR, &out, &stats, &err);
    if (deep < 64)
      assert_null(strstr(out.bytes, "E_"));
    else
      assert_non_null(strstr(out.bytes, "a: E_PARSE 8+70 more than 64 arrays or objects within each other '"));
    fw_buffer_clear(&text);
    fw_buffer_clear(&out);
  }
}

static void vw_text(void **state) {
  (void)state;
  static const example list[] = {
      {"1 2 0.5 'tag|user a:2 b |item:0.5 c d:3\n", "",
       "label~weight~tag~base~user~item: 1~2~tag~0.5~[a:2+b]~[c:0.5+d:1.5] / "},
      {"1 tag|u a\n|u b\n", "kind=vw", "label~weight~tag~u: 1~-~tag~[a] / -~-~-~[b] / "},
      {"1 |u a |v |u b\n", "", "label~weight~tag~u~v: 1~-~-~[a+b]~- / "},
      {"1 | a  b\t|n c\n", "", "label~weight~tag~features~n: 1~-~-~[a+b]~[c] / "},
      {"1:0.5:0.3 |u a\n\n", "", "label~weight~tag~u: 1:0.5:0.3~-~-~[a] / "},
      {"1 |u:2 a:1e2|v x\r\n", "", "label~weight~tag~u~v: 1~-~-~[a:200]~[x] / "},
      {"1 |u a\n1 |u:x a\n", "", "label~weight~tag~u: E_PARSE 7+4 the scale of a namespace is not a number 'u:x'"},
      {"1 |u a\n1 |u:2", "kind=vw", "label~weight~tag~u: 1~-~-~[a] / 1~-~-~- / "},
      {"1 |u a\n1 |u", "kind=vw", "label~weight~tag~u: 1~-~-~[a] / 1~-~-~- / "},
      {"1 |u a\n1 |", "kind=vw", "label~weight~tag~u~features: 1~-~-~[a]~- / 1~-~-~-~- / "},
      {"1 |u a\n1 ||u a\n", "kind=vw", "label~weight~tag~u~features: 1~-~-~[a]~- / 1~-~-~[a]~- / "},
      {"1 2 3 4 5 6 |u a\n", "kind=vw", ": E_FORMAT 0+7 more than a label, a weight and a base before the first | '4'"},
      {"1 2 3 4|u a\n1 |u b\n", "kind=vw", "label~weight~tag~base~u: 1~2~4~3~[a] / 1~-~-~-~[b] / "},
      {"1 |u a\n1 a b\n", "kind=vw", "label~weight~tag~u: E_PARSE 7+1 the line has no | '1'"},
      {"1 |u a\n1 x |u a\n", "kind=vw", "label~weight~tag~u: E_PARSE 7+3 the weight is not a number 'x'"},
      {"1 |u a\n1 2 x |u a\n", "kind=vw", "label~weight~tag~u: E_PARSE 7+5 the base is not a number 'x'"},
      {"1 |u a\n1 2 3 4 |u a\n", "kind=vw",
       "label~weight~tag~u: E_PARSE 7+7 more than a label, a weight and a base before the first | '4'"},
      {"1 |u a\n1 |u a:x\n", "", "label~weight~tag~u: E_PARSE 7+6 the value of a feature is not a number 'a:x'"},
      {"1 |u a\n1 |u a:nan\n", "", "label~weight~tag~u: E_PARSE 7+6 the value of a feature is not a number 'a:nan'"},
      {"1 |u a\n1 |u :1\n", "", "label~weight~tag~u: E_PARSE 7+6 a feature without a name ':1'"},
      {"1 |u a\n1 |u: a\n", "", "label~weight~tag~u: E_PARSE 7+4 the scale of a namespace is not a number 'u: a'"},
      {"1 |u a\n1 |label a\n", "",
       "label~weight~tag~u: E_PARSE 7+4 a namespace has the name of a column: label, weight, base or tag "
       "'label'"},
  };
  EXPECT(list);
}

/* Of a head that ends within a line, what is whole counts. */
static void heads_that_are_cut(void **state) {
  (void)state;
  static const struct {
    const char *kind, *head, *wanted;
  } list[] = {
      {NULL, "{\"a\":1}\n{\"b\":", "a"},
      {NULL, "{\"a\":1}\n{\"b\":2}\n", "a~b"},
      {NULL, "{\"a\":1,\"b\":", "E_FORMAT there is no record in the first bytes of the table"},
      {"json", "[1]\n[2", "E_FORMAT a line that is not an object of JSON"},
      {NULL, "u,v\n1,2\n3", "u~v"},
      {NULL, "1,2\n3,4\n5", "0~1"},
      {NULL, "u,v,w", "E_FORMAT the header is longer than 5 bytes"},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    const fw_table_hints hints = {.kind = list[i].kind};
    fw_table_layout layout = {0};
    furrow_error err = {0};
    fw_buffer out = {0};
    const furrow_status status = fw_table_layout_find(&layout, &hints, list[i].head, strlen(list[i].head), false, &err);
    if (status != FURROW_OK) fw_buffer_format(&out, "%s %s", furrow_status_name(status), err.message);
    for (size_t k = 0; k < layout.columns; k++) fw_buffer_format(&out, "%s%s", k ? "~" : "", layout.names[k]);
    fw_buffer_byte(&out, 0);
    assert_string_equal(out.bytes, list[i].wanted);
    fw_table_layout_clear(&layout);
    fw_buffer_clear(&out);
    assert_int_equal(fw_table_layout_find(&layout, &hints, list[i].head, strlen(list[i].head), false, NULL), status);
    fw_table_layout_clear(&layout);
  }
}

/* Columns are found by name, then by number. */
static void columns_by_number(void **state) {
  (void)state;
  static const struct {
    const char *name;
    size_t wanted;
  } list[] = {{"u", 0},         {"v", 1},         {"1", 1},
              {"2", SIZE_MAX},  {"1x", SIZE_MAX}, {"18446744073709551617", SIZE_MAX},
              {"-1", SIZE_MAX}, {"", SIZE_MAX}};
  fw_table_layout layout;
  assert_int_equal(fw_table_layout_find(&layout, NULL, "u,v\n1,2\n", 8, true, NULL), FURROW_OK);
  for (size_t i = 0; i < sizeof list / sizeof *list; i++)
    assert_int_equal(fw_table_layout_column(&layout, list[i].name), list[i].wanted);
  fw_table_layout_clear(&layout);
  /* keys of JSON and namespaces of VW may be numbers */
  assert_int_equal(fw_table_layout_find(&layout, NULL, "{\"u\":1,\"v\":2}\n", 14, true, NULL), FURROW_OK);
  assert_true(fw_table_layout_column(&layout, "v") == 1 && fw_table_layout_column(&layout, "1") == SIZE_MAX);
  fw_table_layout_clear(&layout);
}

/* A long list of a namespace that comes in parts does not fit into one block of the scratch text. */
static void long_lists(void **state) {
  (void)state;
  fw_buffer text = {0}, wanted = {0}, out = {0};
  fw_buffer_text(&wanted, "label~weight~tag~u~v: 1~-~-~[");
  fw_buffer_text(&text, "1");
  for (int i = 0; i < 30000; i++) {
    fw_buffer_format(&text, "%s%sf%d", i % 100 == 0 ? " |v x" : "", i % 100 == 0 ? " |u " : " ", i);
    fw_buffer_format(&wanted, "%sf%d", i ? "+" : "", i);
  }
  fw_buffer_text(&wanted, "]~[");
  for (int i = 0; i < 300; i++) fw_buffer_text(&wanted, i ? "+x" : "x");
  fw_buffer_text(&wanted, "] / ");
  fw_buffer_byte(&wanted, 0);
  fw_chunk_stats stats = {0};
  furrow_error err;
  /* the namespace v comes first in the text */
  read_text(text.bytes, text.size, "kind=vw", FURROW_ON_BAD_ERROR, &out, &stats, &err);
  assert_non_null(strstr(out.bytes, "f29999"));
  const char *ours = strchr(out.bytes, '['), *theirs = strchr(wanted.bytes, '[');
  const char *second = strstr(theirs, "]~[") + 2;
  assert_memory_equal(ours, second, strlen(second) - 3);
  assert_non_null(strstr(ours, "[f0+f1+"));
  assert_memory_equal(strstr(ours, "[f0+f1+"), theirs, (size_t)(second - 1 - theirs));
  fw_buffer_clear(&text);
  fw_buffer_clear(&wanted);
  fw_buffer_clear(&out);
}

/* Bad records are left out and counted; what follows them is read. */
static void skipped(void **state) {
  (void)state;
  static const struct {
    const char *text, *args, *wanted;
    unsigned bad;
  } list[] = {
      {"u,v\n1,2\n3\n4,5,6\n7,8\n", "", "u~v: 1~2 / 7~8 / ", 2},
      {"u,v\n1,\"2\n3,4\n5,6\n", "", "u~v: 3~4 / 5~6 / ", 1},
      {"u,v\n1,\"2\n3,\"4\"\n5,6\n", "newlines=no", "u~v: 3~4 / 5~6 / ", 1},
      {"u,v\n\"a\"b,2\n3,4\n", "", "u~v: 3~4 / ", 1},
      {"{\"a\":1}\n{\"a\":\n{\"a\":2}\n", "", "a: 1 / 2 / ", 1},
      {"1 |u a\nx\n2 |u b\n", "kind=vw", "label~weight~tag~u: 1~-~-~[a] / 2~-~-~[b] / ", 1},
  };
  for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
    fw_buffer out = {0};
    fw_chunk_stats stats = {0};
    furrow_error err;
    read_text(list[i].text, strlen(list[i].text), list[i].args, FURROW_ON_BAD_SKIP, &out, &stats, &err);
    assert_string_equal(out.bytes, list[i].wanted);
    assert_int_equal(stats.bad_rows, list[i].bad);
    assert_int_equal(stats.first_bad.status, FURROW_E_PARSE);
    fw_buffer_clear(&out);
  }
}

/* Records before a bad one come first; the error is found again and again. */
static void records_before_an_error(void **state) {
  (void)state;
  static const char *const texts[] = {
      "u,v\n1,2\n3,4\n5\n6,7\n",
      "u,v\n1,2\n5\" disk,4\n5\n6,7\n",
      "{\"u\":1,\"v\":2}\n{\"v\":4}\n{\"u\"}\n{\"u\":6}\n",
      "1 |v 2\n1 |v 4\n5 |v :\n1 |v 7\n",
  };
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    char *memory;
    const size_t n = strlen(texts[i]);
    const char *text = pad_text(texts[i], n, &memory);
    static const char *const names[] = {"v", "v"};
    fw_table_layout layout;
    fw_table *table;
    fw_table_batch batch;
    fw_table_cursor cursor = {.text = text, .length = n};
    furrow_error err;
    fw_buffer out = {0};
    assert_int_equal(fw_table_layout_find(&layout, NULL, text, n, true, NULL), FURROW_OK);
    assert_int_equal(fw_table_layout_skip_head(&layout, text, n, &cursor.at, NULL), FURROW_OK);
    assert_int_equal(fw_table_create(&table, &layout, names, 2, NULL, NULL), FURROW_OK);
    assert_int_equal(fw_table_batch_init(&batch, table, NULL), FURROW_OK);
    assert_int_equal(fw_table_next(table, &cursor, &batch, &err), FURROW_OK);
    print_batch(&out, &batch, 2);
    fw_buffer_byte(&out, 0);
    assert_string_equal(out.bytes, i == 3 ? "[2]~[2] / [4]~[4] / " : "2~2 / 4~4 / ");
    for (int k = 0; k < 3; k++) assert_int_equal(fw_table_next(table, &cursor, &batch, &err), FURROW_E_PARSE);
    assert_int_equal(err.status, FURROW_E_PARSE);
    cursor.on_bad = FURROW_ON_BAD_SKIP;
    assert_int_equal(fw_table_next(table, &cursor, &batch, &err), FURROW_OK);
    assert_int_equal(batch.records, 1);
    fw_buffer_clear(&out);
    fw_table_batch_clear(&batch);
    fw_table_free(table);
    fw_table_layout_clear(&layout);
    free(memory);
  }
}

/* ---- Slots ---------------------------------------------------------------------------------------------- */

typedef struct told {
  fw_buffer names;
} told;

static furrow_status tell(void *user, const char *name, size_t length, uint64_t offset, furrow_error *err) {
  told *t = user;
  (void)err;
  fw_buffer_append(&t->names, name, length);
  fw_buffer_format(&t->names, "@%llu ", (unsigned long long)offset);
  return FURROW_OK;
}

/* Slots in their own order, twice the same, by number, absent; what no slot has is told. */
static void slots(void **state) {
  (void)state;
  static const struct {
    const char *text, *names[4], *wanted, *absent, *told;
  } list[] = {
      {"u,v\n1,2\n3,4\n", {"v", "x", "v", "0"}, "2~-~2~1 / 4~-~4~3 / ", "0100", ""},
      {"{\"a\":1,\"b\":2}\n{\"c\":3,\"a\":4}\n", {"b", "a", "a", "x"}, "2~1~1~- / -~4~4~- / ", "0000", "c@14 "},
      {"1 |u a |v b\n1 |w c\n", {"v", "label", "u", "u"}, "[b]~1~[a]~[a] / -~1~-~- / ", "0000", "w@12 "},
  };
  for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
    char *memory;
    const size_t n = strlen(list[i].text);
    const char *text = pad_text(list[i].text, n, &memory);
    fw_table_layout layout;
    fw_table *table;
    fw_table_batch batch;
    bool absent[4];
    told t = {0};
    fw_buffer out = {0};
    fw_table_cursor cursor = {.text = text, .length = n, .other_column = tell, .user = &t};
    assert_int_equal(fw_table_layout_find(&layout, NULL, text, n, true, NULL), FURROW_OK);
    assert_int_equal(fw_table_create(&table, &layout, list[i].names, 4, absent, NULL), FURROW_OK);
    fw_table_layout_clear(&layout);
    assert_int_equal(fw_table_layout_skip_head(fw_table_get_layout(table), text, n, &cursor.at, NULL), FURROW_OK);
    assert_int_equal(fw_table_batch_init(&batch, table, NULL), FURROW_OK);
    assert_int_equal(fw_table_next(table, &cursor, &batch, NULL), FURROW_OK);
    print_batch(&out, &batch, 4);
    fw_buffer_byte(&out, 0);
    fw_buffer_byte(&t.names, 0);
    assert_string_equal(out.bytes, list[i].wanted);
    assert_string_equal(t.names.bytes, list[i].told);
    for (int s = 0; s < 4; s++) assert_int_equal(absent[s], list[i].absent[s] == '1');
    assert_int_equal(fw_table_next(table, &cursor, &batch, NULL), FURROW_END);
    assert_int_equal(batch.records, 0);
    fw_buffer_clear(&out);
    fw_buffer_clear(&t.names);
    fw_table_batch_clear(&batch);
    fw_table_free(table);
    free(memory);
  }
}

/* A caller that cannot use a cell. */
static void refused_cells(void **state) {
  (void)state;
  static const char source[] = "u,v\n1,abc\n2,\"d\"\"e\"\n";
  static const char *const names[] = {"v"};
  char *memory;
  const size_t n = strlen(source);
  const char *text = pad_text(source, n, &memory);
  fw_table_layout layout;
  fw_table *table;
  fw_table_batch batch;
  furrow_error err;
  fw_chunk_stats stats = {0};
  fw_table_cursor cursor = {.text = text, .length = n, .at = 4, .offset = 100, .stats = &stats};
  assert_int_equal(fw_table_layout_find(&layout, NULL, text, n, true, NULL), FURROW_OK);
  assert_int_equal(fw_table_create(&table, &layout, names, 1, NULL, NULL), FURROW_OK);
  assert_int_equal(fw_table_batch_init(&batch, table, NULL), FURROW_OK);
  assert_int_equal(fw_table_next(table, &cursor, &batch, NULL), FURROW_OK);
  assert_int_equal(batch.records, 2);
  assert_int_equal(fw_table_refuse(table, &cursor, &batch, 0, 0, "not a number", &err), FURROW_E_PARSE);
  assert_string_equal(err.message, "column v: not a number");
  assert_string_equal(err.token, "abc");
  assert_int_equal(err.offset, 104);
  assert_int_equal(err.column, 3);
  assert_int_equal(fw_table_refuse(table, &cursor, &batch, 0, 1, "not a number", &err), FURROW_E_PARSE);
  assert_string_equal(err.token, "d\"e");
  assert_int_equal(err.offset, 110);
  cursor.on_bad = FURROW_ON_BAD_SKIP;
  assert_int_equal(fw_table_refuse(table, &cursor, &batch, 0, 1, "no", &err), FURROW_OK);
  assert_int_equal(stats.bad_rows, 1);
  assert_string_equal(stats.first_bad.message, "column v: no");
  fw_table_batch_clear(&batch);
  fw_table_free(table);
  fw_table_layout_clear(&layout);
  free(memory);
}

/* Windows: more records than a batch holds, records longer than a window, odd ones among them. */
static void many_records(void **state) {
  (void)state;
  for (int kind = 0; kind < 4; kind++) {
    fw_buffer text = {0}, wanted = {0}, out = {0};
    fw_buffer_text(&text, "u,v\n");
    fw_buffer_text(&wanted, "u~v: ");
    for (int i = 0; i < 5000; i++) {
      const int wide = i == 2500 && kind != 1 ? 100000 : 5;
      fw_buffer_format(&text, kind == 1 ? "%d,a%*d\"\n" : kind == 2 ? "%d,\"a%*d\"\n" : "%d,a%*d\r\n", i, wide, i);
      fw_buffer_format(&wanted, kind == 1 ? "%d~a%*d\" / " : "%d~a%*d / ", i, wide, i);
    }
    fw_buffer_byte(&wanted, 0);
    fw_chunk_stats stats = {0};
    furrow_error err;
    read_text(text.bytes, text.size, "", FURROW_ON_BAD_ERROR, &out, &stats, &err);
    assert_int_equal(out.size, wanted.size);
    assert_memory_equal(out.bytes, wanted.bytes, wanted.size);
    fw_buffer_clear(&text);
    fw_buffer_clear(&wanted);
    fw_buffer_clear(&out);
  }
}

static void codes(void **state) {
  (void)state;
  static const struct {
    const char *text;
    fw_cell_code wanted;
  } cells[] = {{"01234", FW_CODE_PADDED},
               {"00", FW_CODE_PADDED},
               {"-007", FW_CODE_PADDED},
               {"1234567890123456", FW_CODE_LONG},
               {"-1234567890123456", FW_CODE_LONG},
               {"0", FW_CODE_NONE},
               {"123456789012345", FW_CODE_NONE},
               {"0.5", FW_CODE_NONE},
               {"01x", FW_CODE_NONE},
               {"-", FW_CODE_NONE},
               {"", FW_CODE_NONE}};
  for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
    assert_int_equal(fw_cell_code_of(cells[i].text, cells[i].text + strlen(cells[i].text)), cells[i].wanted);
}

/* Names and cells of Windows-1252 become UTF-8; those that are UTF-8 stay. */
static void other_encodings(void **state) {
  (void)state;
  static const example list[] = {
      {"st\xfc"
       "ck,preis\n5,9 \x80\nK\xf6ln,7\n",
       "", "stück~preis: 5~9 € / Köln~7 / "},
      {"u,v\n\"K\xf6ln \"\"a\"\"\",\"9 \x80\"\n", "", "u~v: Köln \"a\"~9 € / "},
      {"u,v\r1,\x93x\x94\r2,\x96\r", "", "u~v: 1~“x” / 2~– / "},
      {"u,v\nK\xc3\xb6ln,1\nK\xf6ln,2\n\xc3,3\n", "", "u~v: Köln~1 / Köln~2 / Ã~3 / "},
      {"u,v\n\x81\x8d\xff,1\n", "", "u~v: \xc2\x81\xc2\x8dÿ~1 / "},
      {"{\"a\":\"K\xf6ln\",\"b\":[\"\x80\",\"x\"]}\n{\"a\":\"K\xc3\xb6ln\"}\n", "", "a~b: Köln~[€+x] / Köln~- / "},
      {"u,v\n1,K\xf6ln,2\n", "", "u~v: E_PARSE 4+8 the header has 2 columns, this record has 3 '2'"},
  };
  EXPECT(list);
  static const char text[] = "u,v\nK\xf6ln,1\nUlm,2\nM\xfcnchen,\xe4\nK\xc3\xb6ln,1\n";
  static const char binary[] = "u,v\n\xff\0\xff,1\n";
  fw_chunk_stats stats = {0};
  fw_buffer out = {0};
  furrow_error err;
  read_text(text, sizeof text - 1, "", FURROW_ON_BAD_ERROR, &out, &stats, &err);
  assert_int_equal(stats.recoded, 3);
  fw_buffer_reset(&out);
  read_text(binary, sizeof binary - 1, "", FURROW_ON_BAD_ERROR, &out, &stats, &err);
  assert_int_equal(stats.recoded, 3); /* it is not text */
  fw_buffer_clear(&out);
}

static int tests(void) {
  const struct CMUnitTest list[] = {
      cmocka_unit_test(layouts),
      cmocka_unit_test(kinds),
      cmocka_unit_test(delimited),
      cmocka_unit_test(json_lines),
      cmocka_unit_test(json_mistakes),
      cmocka_unit_test(control_characters),
      cmocka_unit_test(json_depth),
      cmocka_unit_test(heads_that_are_cut),
      cmocka_unit_test(columns_by_number),
      cmocka_unit_test(vw_text),
      cmocka_unit_test(long_lists),
      cmocka_unit_test(skipped),
      cmocka_unit_test(slots),
      cmocka_unit_test(refused_cells),
      cmocka_unit_test(many_records),
      cmocka_unit_test(records_before_an_error),
      cmocka_unit_test(other_encodings),
      cmocka_unit_test(codes),
  };
  return cmocka_run_group_tests(list, NULL, NULL);
}

int main(void) {
  return each_isa(tests);
}
