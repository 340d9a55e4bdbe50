/* bench/bench_kernels.c: do the kernels that read floats out of text give what strtof gives?
 *
 *   bench_kernels [--quick] [--numbers N] [--seed S]
 *
 * N (10 million) random and hard decimal texts go through read_f32 of every instruction set that this processor has;
 * each that is not refused is compared with strtof, bit by bit. Prints how many were read, refused and wrong; exits
 * with 1 if any was wrong.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "kern/dispatch.h"

enum { BATCH = 4096, LONGEST = 64 };

typedef struct batch {
  char memory[FW_KERN_PAD + BATCH * LONGEST + FW_KERN_PAD];
  fw_token tokens[BATCH + FW_KERN_PAD];
  float expected[BATCH], found[BATCH + FW_KERN_PAD];
  uint32_t refused[BATCH + FW_KERN_PAD];
} batch;

static size_t put_digits(fw_rng *rng, char *out, size_t most) {
  const size_t n = fw_rng_below(rng, most + 1);
  for (size_t i = 0; i < n; i++) out[i] = (char)('0' + fw_rng_below(rng, 10));
  return n;
}

/* [-]digits.digits[e…] with any number of digits that a token may have. */
static size_t put_decimal(fw_rng *rng, char *out) {
  size_t n = 0;
  if (fw_rng_below(rng, 4) == 0) out[n++] = '-';
  out[n++] = (char)('0' + fw_rng_below(rng, 10));
  n += put_digits(rng, out + n, fw_rng_below(rng, 9));
  if (fw_rng_below(rng, 8) > 0) out[n++] = '.';
  n += put_digits(rng, out + n, fw_rng_below(rng, 20));
  if (fw_rng_below(rng, 4) == 0) n += (size_t)snprintf(out + n, 8, "e%+03d", (int)fw_rng_below(rng, 90) - 45);
  return n;
}

static float random_float(fw_rng *rng) {
  uint32_t bits = (uint32_t)fw_rng_next(rng) & 0x7fffffff;
  if (bits >= 0x7f7fffff) bits &= 0x3fffffff;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* A float, or the middle between it and the next one, with a number of digits that may or may not tell them apart. */
static size_t put_hard(fw_rng *rng, char *out) {
  static const char *const formats[] = {"%.*g", "%.*e"};
  double value = random_float(rng);
  if (fw_rng_below(rng, 2)) {
    float next;
    float f = (float)value;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    bits++;
    memcpy(&next, &bits, sizeof next);
    value = value + ((double)next - value) / 2;
  }
  return (size_t)snprintf(out, LONGEST, formats[fw_rng_below(rng, 2)], 5 + (int)fw_rng_below(rng, 22), value);
}

static void fill(fw_rng *rng, batch *b) {
  char *text = b->memory + FW_KERN_PAD;
  size_t used = 0;
  for (size_t i = 0; i < BATCH; i++) {
    char *token = text + used;
    const size_t n = fw_rng_below(rng, 4) ? put_decimal(rng, token) : put_hard(rng, token);
    token[n] = 0;
    b->expected[i] = strtof(token, NULL);
    token[n] = ' ';
    used += n;
    b->tokens[i] = fw_token_make((uint32_t)used, (uint32_t)n);
    used++;
  }
}

static bool same(float a, float b) {
  return memcmp(&a, &b, sizeof a) == 0;
}

/* Counts, and shows the first wrong ones. */
static void compare(fw_isa isa, batch *b, uint64_t *refused, uint64_t *wrong) {
  const char *text = b->memory + FW_KERN_PAD;
  const size_t count = fw_kernels_at(isa).tokenizer.read_f32(text, b->tokens, BATCH, b->found, b->refused);
  *refused += count;
  for (size_t i = 0, k = 0; i < BATCH; i++) {
    if (k < count && b->refused[k] == i) {
      k++;
      continue;
    }
    if (same(b->expected[i], b->found[i]) || (*wrong)++ > 9) continue;
    const uint32_t n = fw_token_length(b->tokens[i]);
    printf("%s: %.*s is %.9g, not %.9g\n", fw_isa_name(isa), (int)n, text + fw_token_end(b->tokens[i]) - n,
           b->expected[i], b->found[i]);
  }
}

int main(int argc, char **argv) {
  static const struct option names[] = {{"numbers", required_argument, NULL, 'n'},
                                        {"seed", required_argument, NULL, 's'},
                                        {"quick", no_argument, NULL, 'q'},
                                        {NULL, 0, NULL, 0}};
  uint64_t numbers = 10000000, seed = 1;
  int c;
  while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
    if (c == 'n') numbers = strtoull(optarg, NULL, 10);
    if (c == 's') seed = strtoull(optarg, NULL, 10);
    if (c == 'q') numbers = 1000000;
    if (c == '?') return 2;
  }
  static batch b;
  uint64_t refused[FW_ISA_COUNT] = {0}, wrong[FW_ISA_COUNT] = {0}, done = 0;
  fw_rng rng;
  fw_rng_init(&rng, seed);
  for (; done < numbers; done += BATCH) {
    fill(&rng, &b);
    for (fw_isa isa = FW_ISA_GENERIC; isa < FW_ISA_COUNT; isa++) {
      if (!fw_isa_available(isa)) continue;
      compare(isa, &b, &refused[isa], &wrong[isa]);
    }
  }
  bool good = true;
  for (fw_isa isa = FW_ISA_GENERIC; isa < FW_ISA_COUNT; isa++) {
    if (!fw_isa_available(isa)) continue;
    printf("%-8s %" PRIu64 " texts: %" PRIu64 " read, %" PRIu64 " left to the exact reader, %" PRIu64 " wrong\n",
           fw_isa_name(isa), done, done - refused[isa], refused[isa], wrong[isa]);
    good = good && wrong[isa] == 0;
  }
  return good ? 0 : 1;
}
