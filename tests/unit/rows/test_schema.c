/* tests/unit/rows/test_schema.c: schemas read, checked and written. */
#include <stdio.h>
#include <string.h>

#include "furrow/table.h"
#include "rows/schema/schema.h"
#include "support/cmocka_all.h"

static furrow_schema *parse(const char *text) {
  furrow_schema *schema = NULL;
  furrow_error err = {0};
  if (furrow_schema_parse(&schema, text, strlen(text), &err) != FURROW_OK) fail_msg("%s: %s", text, err.message);
  return schema;
}

static void expect_text(const furrow_schema *schema, bool comments, const char *wanted) {
  char *text = NULL;
  size_t size = 0;
  assert_int_equal(furrow_schema_text(schema, comments, &text, &size, NULL), FURROW_OK);
  assert_string_equal(text, wanted);
  assert_int_equal(size, strlen(wanted));
  furrow_free(text);
}

/* Everything that a schema can say. */
static const char full[] =
    "{\n"
    "  \"columns\": {\n"
    "    \"clicked\": {\"as\": \"label\", \"classes\": [\"no\", \"yes\"]},\n"
    "    \"importance\": {\"as\": \"weight\"},\n"
    "    \"qid\": {\"as\": \"group\"},\n"
    "    \"userId\": {\"as\": \"category\", \"role\": \"user\"},\n"
    "    \"movieId\": {\"as\": \"category\", \"role\": \"item\", \"min_count\": 2},\n"
    "    \"site\": {\"as\": \"category\", \"hash\": 20},\n"
    "    \"timestamp\": {\"as\": \"time\", \"role\": \"time\", \"unit\": \"ms\", \"parts\": [\"hour\", \"weekday\", "
    "\"age\"]},\n"
    "    \"genres\": {\"as\": \"set\", \"separator\": \"|\"},\n"
    "    \"tags\": {\"as\": \"set\", \"separator\": \", \", \"values\": true, \"min_count\": 5},\n"
    "    \"price\": {\"as\": \"number\", \"scale\": \"log\"},\n"
    "    \"qty\": {\"as\": \"number\", \"scale\": \"bins\", \"bins\": 8},\n"
    "    \"words\": {\"as\": \"text\", \"hash\": 16},\n"
    "    \"title\": {\"as\": \"ignore\", \"why\": \"a \\\"title\\\"\"}\n"
    "  },\n"
    "  \"tables\": {\n"
    "    \"movies.csv\": \"movieId\",\n"
    "    \"users.csv\": {\"key\": \"userId\", \"column\": \"id\"}\n"
    "  },\n"
    "  \"cross\": [[\"userId\", \"timestamp.hour\"], {\"of\": [\"site\", \"qty\", \"genres\"], \"bits\": 20}],\n"
    "  \"history\": 20\n"
    "}\n";

static void what_is_written_is_read(void **state) {
  (void)state;
  furrow_schema *schema = parse(full);
  expect_text(schema, true, full);
  assert_int_equal(furrow_schema_column_count(schema), 13);
  furrow_schema_column column;
  furrow_schema_get_column(schema, 4, &column);
  assert_string_equal(column.name, "movieId");
  assert_string_equal(column.as, "category");
  assert_string_equal(column.role, "item");
  assert_string_equal(column.why, "");
  furrow_schema_get_column(schema, 12, &column);
  assert_string_equal(column.why, "a \"title\"");
  assert_string_equal(column.role, "");
  furrow_schema_free(schema);
}

static void members_are_kept(void **state) {
  (void)state;
  furrow_schema *schema = parse(full);
  const fw_column *time = fw_schema_of_role(schema, FW_ROLE_TIME), *tags = fw_schema_find(schema, "tags");
  assert_int_equal(time->unit, FW_UNIT_MILLIS);
  assert_int_equal(time->parts, 1u << FW_PART_HOUR | 1u << FW_PART_WEEKDAY | 1u << FW_PART_AGE);
  assert_string_equal(tags->separator, ", ");
  assert_true(tags->values);
  assert_int_equal(tags->min_count, 5);
  assert_int_equal(fw_schema_find(schema, "site")->hash_bits, 20);
  assert_int_equal(fw_schema_find(schema, "qty")->bins, 8);
  assert_int_equal(fw_schema_find(schema, "price")->scale, FW_SCALE_LOG);
  assert_string_equal(fw_schema_of_kind(schema, FW_AS_LABEL)->classes[1], "yes");
  assert_string_equal(furrow_schema_class_name(schema, 0), "no");
  assert_string_equal(furrow_schema_class_name(schema, 1), "yes");
  assert_null(furrow_schema_class_name(schema, 2));
  assert_string_equal(schema->tables[1].column, "id");
  assert_string_equal(schema->tables[0].column, "movieId");
  assert_int_equal(schema->crosses[0].bits, FW_CROSS_BITS);
  assert_int_equal(schema->crosses[1].count, 3);
  assert_int_equal(schema->history, 20);
  assert_null(fw_schema_find(schema, "id"));
  furrow_schema_free(schema);
}

static void defaults_of_kinds(void **state) {
  (void)state;
  furrow_schema *schema = parse("{\"columns\": {\"a\": {\"as\": \"set\"}, \"b\": {\"as\": \"number\"}, \"c\": {\"as\": "
                                "\"time\"}, \"d\": {\"parts\": [], \"as\": \"time\"}, \"e\": {\"as\": \"category\"},"
                                "\"f\": {\"scale\": \"bins\", \"as\": \"number\"}}}");
  expect_text(schema, false,
              "{\n  \"columns\": {\n"
              "    \"a\": {\"as\": \"set\", \"separator\": \"|\"},\n"
              "    \"b\": {\"as\": \"number\", \"scale\": \"standard\"},\n"
              "    \"c\": {\"as\": \"time\", \"unit\": \"s\", \"parts\": [\"hour\", \"weekday\"]},\n"
              "    \"d\": {\"as\": \"time\", \"unit\": \"s\", \"parts\": []},\n"
              "    \"e\": {\"as\": \"category\"},\n"
              "    \"f\": {\"as\": \"number\", \"scale\": \"bins\", \"bins\": 16}\n"
              "  }\n}\n");
  furrow_schema_free(schema);
}

static void comments_can_be_left_out(void **state) {
  (void)state;
  furrow_schema *schema = parse("{\"columns\": {\"a\": {\"as\": \"ignore\", \"why\": \"constant\"}}}");
  expect_text(schema, false, "{\n  \"columns\": {\n    \"a\": {\"as\": \"ignore\"}\n  }\n}\n");
  expect_text(schema, true, "{\n  \"columns\": {\n    \"a\": {\"as\": \"ignore\", \"why\": \"constant\"}\n  }\n}\n");
  furrow_schema_free(schema);
}

#define TWO_AND_TIME                                                                                        \
  "{\"columns\": {\"u\": {\"as\": \"category\", \"role\": \"user\"}, \"i\": {\"as\": \"category\", "        \
  "\"role\": \"item\"}, \"t\": {\"as\": \"time\", \"parts\": [\"hour\", \"month\"]}, \"hour.x\": {\"as\": " \
  "\"category\"}}, "

static void names_in_crosses(void **state) {
  (void)state;
  static const struct {
    const char *written, *first, *second;
  } examples[] = {
      {"[\"user\", \"hour\"]", "u", "t.hour"},
      {"[\"t.month\", \"item\"]", "t.month", "i"},
      {"[[\"u\", \"month\"]]", "u", "t.month"},
      {"[{\"bits\": 3, \"of\": [\"hour.x\", \"i\"]}]", "hour.x", "i"},
  };
  for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
    char text[512];
    snprintf(text, sizeof text, TWO_AND_TIME "\"cross\": %s}", examples[i].written);
    furrow_schema *schema = parse(text);
    assert_int_equal(schema->cross_count, 1);
    assert_int_equal(schema->crosses[0].count, 2);
    assert_string_equal(schema->crosses[0].names[0], examples[i].first);
    assert_string_equal(schema->crosses[0].names[1], examples[i].second);
    furrow_schema_free(schema);
  }
}

static void columns_change_their_kind(void **state) {
  (void)state;
  furrow_schema *schema = NULL;
  fw_column *column = NULL;
  assert_int_equal(fw_schema_create(&schema, NULL), FURROW_OK);
  assert_int_equal(fw_schema_add(schema, "genres|", 6, FW_AS_SET, &column, NULL), FURROW_OK);
  assert_string_equal(column->name, "genres");
  assert_string_equal(column->separator, "|");
  assert_int_equal(fw_column_set_text(&column->why, "because", NULL), FURROW_OK);
  assert_int_equal(fw_column_set_kind(column, FW_AS_TIME, NULL), FURROW_OK);
  assert_null(column->separator);
  assert_int_equal(column->parts, 1u << FW_PART_HOUR | 1u << FW_PART_WEEKDAY);
  assert_string_equal(column->why, "because");
  assert_int_equal(fw_schema_add(schema, "\xff", 1, FW_AS_SET, NULL, NULL), FURROW_E_FORMAT);
  assert_int_equal(fw_schema_check(schema, NULL), FURROW_OK);
  schema->history = 3;
  assert_int_equal(fw_schema_check(schema, NULL), FURROW_E_ARGUMENT);
  furrow_schema_free(schema);
  furrow_schema_free(NULL);
}

static void what_a_hint_says(void **state) {
  (void)state;
  static const char *const examples[][2] = {
      {"{\"columns\": {\"a\": {\"as\": \"categroy\"}}}", "did you mean category?"},
      {"{\"columns\": {\"a\": {\"as\": \"set\", \"seperator\": \";\"}}}", "did you mean separator?"},
      {"{\"colums\": {}}", "did you mean columns?"},
      {"{\"columns\": {\"movieId\": {\"as\": \"category\"}}, \"tables\": {\"m\": \"movieid\"}}",
       "did you mean movieId?"},
  };
  for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
    furrow_schema *schema = NULL;
    furrow_error err = {0};
    assert_int_equal(furrow_schema_parse(&schema, examples[i][0], strlen(examples[i][0]), &err), FURROW_E_FORMAT);
    assert_string_equal(err.hint, examples[i][1]);
    assert_null(schema);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_written_is_read), cmocka_unit_test(members_are_kept),
      cmocka_unit_test(defaults_of_kinds),       cmocka_unit_test(comments_can_be_left_out),
      cmocka_unit_test(names_in_crosses),        cmocka_unit_test(columns_change_their_kind),
      cmocka_unit_test(what_a_hint_says),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
