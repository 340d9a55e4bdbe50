/* bench/bench_number_peers.cc: numbers to text and back beside the libraries that do nothing else.
 *
 *   bench_number_peers [--quick] [--rounds N] [--json]
 *
 * Reading: fast_float, std::from_chars, double-conversion and strtod. Writing the shortest text that reads back to the
 * same bits: std::to_chars (Ryu), double-conversion and dragonbox, and printf with 9 and 17 digits. All readers must
 * find the same bits, and all shortest texts must have as many digits. bench_numbers.c has more kinds of data, beside
 * libc alone. */
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "contest.h"
extern "C" {
#include "base/number_in.h"
#include "base/number_out.h"
#include "base/rng.h"
}

#ifdef HAVE_FAST_FLOAT
#include <fast_float/fast_float.h>
#endif
#ifdef HAVE_DOUBLE_CONVERSION
#include <double-conversion/double-conversion.h>
#endif
#ifdef HAVE_DRAGONBOX
#include <dragonbox/dragonbox_to_chars.h>
#endif

namespace {

struct data_set {
  std::vector<double> value;
  std::string text; /* a line each */
  uint64_t found;   /* by the last one: a sum of bits read, or digits written */
};

uint64_t bits_of(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

uint64_t bits_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

/* ---- Readers: read(at, end, value) gives the place behind the number ---- */

template <typename number, typename reader> void read_all(void *context, reader read) {
  auto *d = static_cast<data_set *>(context);
  const char *s = d->text.data(), *end = s + d->text.size();
  uint64_t found = 0;
  while (s < end) {
    number x = 0;
    s = read(s, end, x) + 1; /* behind the end of the line */
    found += bits_of(x);
  }
  d->found = found;
}

const char *ours_of(const char *s, const char *end, float &x) {
  return fw_read_f32(s, end, &x);
}
const char *ours_of(const char *s, const char *end, double &x) {
  return fw_read_f64(s, end, &x);
}

template <typename number> void read_ours(void *d) {
  read_all<number>(d, [](const char *s, const char *end, number &x) { return ours_of(s, end, x); });
}

template <typename number> void read_std(void *d) {
  read_all<number>(d, [](const char *s, const char *end, number &x) { return std::from_chars(s, end, x).ptr; });
}

#ifdef HAVE_FAST_FLOAT
template <typename number> void read_fast_float(void *d) {
  read_all<number>(d, [](const char *s, const char *end, number &x) { return fast_float::from_chars(s, end, x).ptr; });
}
#endif

#ifdef HAVE_DOUBLE_CONVERSION
using double_conversion::StringToDoubleConverter;

const StringToDoubleConverter &converter() {
  static const StringToDoubleConverter made(StringToDoubleConverter::ALLOW_TRAILING_JUNK, 0, 0, "inf", "nan");
  return made;
}

/* it needs the length of the number, which the others find out */
template <typename number> void read_double_conversion(void *d) {
  read_all<number>(d, [](const char *s, const char *end, number &x) {
    int used;
    const auto *line = static_cast<const char *>(memchr(s, '\n', static_cast<size_t>(end - s)));
    const int length = static_cast<int>(line - s);
    if constexpr (sizeof(number) == 4)
      x = converter().StringToFloat(s, length, &used);
    else
      x = converter().StringToDouble(s, length, &used);
    return s + used;
  });
}
#endif

template <typename number> void read_libc(void *d) {
  read_all<number>(d, [](const char *s, const char *, number &x) {
    char *after;
    if constexpr (sizeof(number) == 4)
      x = strtof(s, &after);
    else
      x = strtod(s, &after);
    return static_cast<const char *>(after);
  });
}

/* ---- Writers: write(out, value) gives the count of bytes ---- */

template <typename number, typename writer> void write_all(void *context, writer write) {
  auto *d = static_cast<data_set *>(context);
  char out[512];
  uint64_t found = 0;
  for (const double value : d->value) {
    found += static_cast<uint64_t>(write(out, static_cast<number>(value)));
    __asm__ volatile("" : : "r"(out) : "memory"); /* the text is there to be read */
  }
  d->found = found;
}

size_t ours_to(char *out, float x) {
  return fw_write_f32(out, x);
}
size_t ours_to(char *out, double x) {
  return fw_write_f64(out, x);
}

template <typename number> void write_ours(void *d) {
  write_all<number>(d, [](char *out, number x) { return ours_to(out, x); });
}

template <typename number> void write_std(void *d) {
  write_all<number>(d, [](char *out, number x) { return std::to_chars(out, out + 512, x).ptr - out; });
}

#ifdef HAVE_DOUBLE_CONVERSION
template <typename number> void write_double_conversion(void *d) {
  write_all<number>(d, [](char *out, number x) {
    double_conversion::StringBuilder builder(out, 512);
    const auto &maker = double_conversion::DoubleToStringConverter::EcmaScriptConverter();
    if constexpr (sizeof(number) == 4)
      maker.ToShortestSingle(x, &builder);
    else
      maker.ToShortest(x, &builder);
    const int size = builder.position();
    builder.Finalize();
    return size;
  });
}
#endif

#ifdef HAVE_DRAGONBOX
template <typename number> void write_dragonbox(void *d) {
  write_all<number>(d, [](char *out, number x) { return jkj::dragonbox::to_chars_n(x, out) - out; });
}
#endif

template <typename number> void write_libc(void *d) {
  write_all<number>(d, [](char *out, number x) {
    return snprintf(out, 512, sizeof(number) == 4 ? "%.9g" : "%.17g", static_cast<double>(x));
  });
}

template <typename number> void write_digits(void *d) {
  write_all<number>(d, [](char *out, number x) {
    if constexpr (sizeof(number) == 4)
      return fw_write_f32_g9(out, x);
    else
      return fw_write_f64_g17(out, x);
  });
}

template <typename number> void write_digits_std(void *d) {
  write_all<number>(d, [](char *out, number x) {
    return std::to_chars(out, out + 512, x, std::chars_format::general, sizeof(number) == 4 ? 9 : 17).ptr - out;
  });
}

/* ---- What is compared ---- */

struct kind {
  const char *name, *format;
  double (*make)(fw_rng *rng);
};

const kind kinds[] = {
    {"0.dddddd", "%.6f", [](fw_rng *rng) { return fw_rng_double(rng) * 2 - 1; }},
    {"%.9g", "%.9g", [](fw_rng *rng) { return static_cast<double>(static_cast<float>(fw_rng_normal(rng))); }},
    {"%.17g", "%.17g", [](fw_rng *rng) { return fw_rng_normal(rng); }},
};

data_set make_data(const kind &k, size_t count) {
  data_set d;
  fw_rng rng;
  fw_rng_init(&rng, 1);
  for (size_t i = 0; i < count; i++) {
    char text[64];
    d.text.append(text, static_cast<size_t>(snprintf(text, sizeof text, k.format, k.make(&rng))));
    d.text.push_back('\n');
    d.value.push_back(strtod(text, nullptr));
  }
  return d;
}

bool good = true;

void compare(const char *what, const char *data, std::vector<contestant> all, data_set *d, bool same,
             const contest_options *o) {
  for (auto &c : all) c.context = d;
  all[0].work(d);
  const uint64_t found = d->found;
  for (size_t i = 1; i < all.size(); i++) {
    all[i].work(d);
    if (same && d->found != found) {
      fprintf(stderr, "bench_number_peers: %s, %s: %s does not give what Furrow gives\n", what, data, all[i].name);
      good = false;
    }
  }
  contest_run(all.data(), all.size(), o);
  const double n = static_cast<double>(d->value.size());
  for (size_t i = 1; i < all.size(); i++) {
    const char *form = o->json ? "{\"what\": \"%s\", \"data\": \"%s\", \"ns\": %.1f, \"peer\": \"%s\", \"peer_ns\": "
                                 "%.1f, \"ratio\": %.2f}\n"
                               : "%-18s %-9s Furrow %6.1f ns   %-18s %6.1f ns   %5.2f\n";
    printf(form, what, data, all[0].seconds / n * 1e9, all[i].name, all[i].seconds / n * 1e9, all[i].ratio);
  }
  fflush(stdout);
}

contestant entry(const char *name, void (*work)(void *)) {
  contestant c = {};
  c.name = name;
  c.work = work;
  return c;
}

template <typename number> std::vector<contestant> readers() {
  return {
      entry("Furrow", read_ours<number>),
#ifdef HAVE_FAST_FLOAT
      entry("fast_float", read_fast_float<number>),
#endif
      entry("std::from_chars", read_std<number>),
#ifdef HAVE_DOUBLE_CONVERSION
      entry("double-conversion", read_double_conversion<number>),
#endif
      entry(sizeof(number) == 4 ? "strtof" : "strtod", read_libc<number>),
  };
}

template <typename number> std::vector<contestant> writers() {
  return {
      entry("Furrow", write_ours<number>),
      entry("std::to_chars", write_std<number>),
#ifdef HAVE_DOUBLE_CONVERSION
      entry("double-conversion", write_double_conversion<number>),
#endif
#ifdef HAVE_DRAGONBOX
      entry("dragonbox", write_dragonbox<number>),
#endif
  };
}

template <typename number> std::vector<contestant> digit_writers() {
  return {entry("Furrow", write_digits<number>), entry("std::to_chars", write_digits_std<number>),
          entry("printf", write_libc<number>)};
}

} // namespace

int main(int argc, char **argv) {
  contest_options o = {};
  o.rounds = 15;
  o.least = 0.01;
  int rest;
  if (!contest_parse(argc, argv, &o, &rest) || rest != argc) {
    fprintf(stderr, "usage: bench_number_peers [--quick] [--rounds N] [--json]\n");
    return 2;
  }
#ifndef HAVE_FAST_FLOAT
  fprintf(stderr, "bench_number_peers: built without fast_float (libfast-float-dev)\n");
#endif
#ifndef HAVE_DOUBLE_CONVERSION
  fprintf(stderr, "bench_number_peers: built without double-conversion (libdouble-conversion-dev)\n");
#endif
#ifndef HAVE_DRAGONBOX
  fprintf(stderr, "bench_number_peers: built without dragonbox (libdragonbox-dev)\n");
#endif
  for (const kind &k : kinds) {
    data_set d = make_data(k, 50000);
    compare("read f32", k.name, readers<float>(), &d, true, &o);
    compare("read f64", k.name, readers<double>(), &d, true, &o);
    compare("write f32", k.name, writers<float>(), &d, false, &o);
    compare("write f64", k.name, writers<double>(), &d, false, &o);
    compare("write f32, 9 digits", k.name, digit_writers<float>(), &d, true, &o);
    compare("write f64, 17", k.name, digit_writers<double>(), &d, true, &o);
  }
  return good ? 0 : 1;
}
