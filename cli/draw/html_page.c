/* cli/draw/html_page.c: an HTML page in one file, readable on phones, with light and dark colours, without a network.
 */
#include "draw/html_page.h"

#include <math.h>
#include <string.h>

#include "core/text_file.h"

static const char page_style[] =
    ":root{color-scheme:light "
    "dark;--ink:#22262b;--soft:#5c636b;--line:#dfe2e6;--ground:#fff;--tint:#f5f6f8;--accent:#1f5fa8}\n"
    "@media "
    "(prefers-color-scheme:dark){:root{--ink:#e3e5e8;--soft:#a4a8ae;--line:#33383f;--ground:#16181c;--tint:#1e2126;"
    "--accent:#6aa9ee}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0;background:var(--ground);color:var(--ink);font:17px/1.55 system-ui,'Segoe UI','DejaVu "
    "Sans',sans-serif}\n"
    "main{max-width:68rem;margin:0 auto;padding:2.5rem 1.1rem 4rem}\n"
    "h1{font-size:clamp(1.7rem,5vw,2.5rem);line-height:1.15;letter-spacing:-.015em;margin:0 0 .9rem;font-weight:650}\n"
    "h2{font-size:1.4rem;line-height:1.25;margin:3.4rem 0 .7rem;padding-top:1rem;border-top:1px solid var(--line);"
    "font-weight:640}\n"
    "h3{font-size:1rem;margin:0 0 .3rem;font-weight:640}\n"
    "p{max-width:44rem;margin:.6rem 0}.lead{font-size:1.13rem}\n"
    "code,pre{font-family:ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;font-size:.86em}\n"
    "pre{background:var(--tint);border:1px solid var(--line);border-radius:6px;padding:.9rem 1rem;overflow-x:auto;"
    "line-height:1.5;font-size:.8rem;white-space:pre-wrap;overflow-wrap:anywhere}pre "
    "i{color:var(--soft);font-style:normal}\n"
    ".tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:.7rem;margin:1.5rem "
    "0;padding:0}\n"
    ".tiles div{background:var(--tint);border-radius:8px;padding:.7rem .9rem}\n"
    ".tiles b{display:block;font-size:1.5rem;line-height:1.25;font-weight:640;font-variant-numeric:tabular-nums}\n"
    ".tiles span{font-size:.84rem;color:var(--soft);line-height:1.35;display:block}\n"
    ".pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(26rem,100%),1fr));gap:2rem "
    "2.2rem;margin:1.4rem 0}\n"
    "figure{margin:0;min-width:0}figure.wide{grid-column:1/-1;margin:1.4rem 0}\n"
    "figure svg{width:100%;height:auto;display:block}\n"
    "figcaption{font-size:.86rem;color:var(--soft);line-height:1.45;margin-top:.3rem;max-width:44rem}\n"
    ".key{list-style:none;display:flex;flex-wrap:wrap;gap:.1rem 1.1rem;margin:.1rem 0 .4rem;padding:0;font-size:.84rem;"
    "color:var(--soft)}.key li{display:flex;align-items:center;gap:.4rem}.key svg{width:22px;height:12px;flex:none}\n"
    /* a shadow at an edge that hides columns; covers in the background colour scroll with the table */
    ".scroll{overflow-x:auto;margin:.6rem 0 1.2rem;background:linear-gradient(90deg,var(--ground) 30%,transparent) "
    "0/40px 100% no-repeat local,linear-gradient(270deg,var(--ground) 30%,transparent) 100%/40px 100% no-repeat local,"
    "linear-gradient(90deg,#8886,transparent) 0/14px 100% no-repeat,linear-gradient(270deg,#8886,transparent) "
    "100%/14px 100% no-repeat}\n"
    "table{border-collapse:collapse;font-size:.88rem;width:100%;font-variant-numeric:tabular-nums}\n"
    "th,td{text-align:left;white-space:nowrap;padding:.32rem .9rem .32rem 0;border-bottom:1px solid "
    "var(--line);vertical-align:middle}\n"
    "td.wrap,th.wrap{white-space:normal;min-width:8rem}\n"
    "th{font-weight:600;color:var(--soft);font-size:.8rem;vertical-align:bottom;line-height:1.3}\n"
    "td.soft{white-space:normal;min-width:16rem}.pair th,.pair td:first-child{white-space:normal}.pair th,.pair "
    "td{padding-right:.6rem}\n"
    "td.n+td:not(.n),th.n+th:not(.n){padding-left:.6rem}td.n,th.n{text-align:right}td:last-child,th:last-child{padding-"
    "right:0}td.bar{width:22%;min-width:5rem}td svg{display:block}\n"
    ".swatch{display:inline-block;width:.7em;height:.7em;border-radius:2px;margin-right:.45em}\n"
    ".user{margin:1.8rem 0}.user p{margin:.15rem 0 .5rem;font-size:.92rem;color:var(--soft)}\n"
    "p.soft{font-size:.9rem}.soft{color:var(--soft)}\n"
    ".tree,.tree ul{list-style:none;margin:0;padding-left:1.1rem}.tree{padding-left:0;font-size:.9rem;margin:.4rem 0 "
    "1.2rem}\n"
    ".tree ul{border-left:1px solid var(--line)}.tree ul>li{position:relative;padding:.1rem 0}\n"
    ".tree ul>li:before{content:'';position:absolute;left:-1.1rem;top:.95em;width:.8rem;border-top:1px solid "
    "var(--line)}\n"
    "summary{cursor:pointer}summary:focus-visible{outline:2px solid var(--accent)}\n"
    "details dl{display:grid;grid-template-columns:max-content 1fr;gap:0 1rem;margin:.2rem 0 .5rem "
    "1.1rem;font-size:.84rem}\n"
    "dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}\n"
    "figure .tick{font-size:13px}figure .axis{font-size:13.5px}figure .label{font-size:13px}\n"
    "footer{margin-top:3rem;font-size:.84rem;color:var(--soft)}\n"
    "@media (max-width:40rem){body{font-size:16px}main{padding-top:1.5rem}.tiles b{font-size:1.25rem}}\n"
    "@media print{details dl{display:none}main{max-width:none}}\n";

void page_begin(FILE *out, const char *title) {
  fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<link rel=\"icon\" "
        "href=\"data:,\">\n<title>",
        out);
  markup_text(out, title);
  fprintf(out, "</title>\n<style>\n%s%s</style>\n</head>\n<body>\n<main>\n", chart_style, page_style);
}

void page_end(FILE *out) {
  fputs("</main>\n</body>\n</html>\n", out);
}

void page_section(FILE *out, const char *id, const char *title) {
  fprintf(out, "<section id=\"%s\">\n<h2>%s</h2>\n", id, title);
}

void page_section_end(FILE *out) {
  fputs("</section>\n", out);
}

/* ---- Figures ---- */

void page_figure(FILE *out, const char *title, bool wide) {
  fprintf(out, "<figure%s>\n<h3>%s</h3>\n", wide ? " class=\"wide\"" : "", title);
}

void page_figure_end(FILE *out) {
  fputs("</figure>\n", out);
}

static void key_sign(FILE *out, const chart_curve *curve, unsigned colour) {
  static const char *const forms[] = {
      "<circle cx=\"11\" cy=\"6\" r=\"4.5\" class=\"m%u\"/>", "<path d=\"M7 2h8v8h-8z\" class=\"m%u\"/>",
      "<path d=\"M11 1l5 9h-10z\" class=\"m%u\"/>", "<path d=\"M11 0.5l5.5 5.5l-5.5 5.5l-5.5-5.5z\" class=\"m%u\"/>"};
  fputs("<svg viewBox=\"0 0 22 12\" aria-hidden=\"true\">", out);
  if (curve->shape == CHART_LINE && curve->count > 0)
    fprintf(out, "<path class=\"line c%u%s\" d=\"M0 6h22\"/>", colour, curve->dashed ? " dashed" : "");
  else if (curve->shape == CHART_POINTS)
    fprintf(out, forms[colour % 4], colour);
  else
    fprintf(out, "<rect class=\"m%u\" x=\"4\" width=\"14\" height=\"12\" rx=\"2\"/>", colour);
  fputs("</svg>", out);
}

void page_key(FILE *out, const chart *c) {
  fputs("<ul class=\"key\">", out);
  for (size_t i = 0; i < c->count; i++) {
    const chart_curve *curve = &c->curves[i];
    if (!curve->name) continue;
    fputs("<li>", out);
    key_sign(out, curve, curve->colour ? curve->colour - 1 : (unsigned)i);
    markup_text(out, curve->name);
    fputs("</li>", out);
  }
  fputs("</ul>\n", out);
}

void page_chart(FILE *out, const chart *c, const char *caption) {
  page_figure(out, c->title, false);
  page_key(out, c);
  chart_draw(out, c);
  fprintf(out, "<figcaption>%s</figcaption>\n", caption);
  page_figure_end(out);
}

/* ---- Numbers ---- */

const char *page_count(char text[PAGE_NUMBER], double value) {
  char digits[PAGE_NUMBER];
  const int n = snprintf(digits, sizeof digits, "%.0f", value);
  size_t used = 0;
  for (int i = 0; i < n && used < PAGE_NUMBER - 2; i++) {
    if (i > 0 && (n - i) % 3 == 0 && digits[i - 1] != '-') text[used++] = ',';
    text[used++] = digits[i];
  }
  text[used] = 0;
  return text;
}

/* About three digits. */
static const char *scaled(char text[PAGE_NUMBER], double value, const char *unit) {
  snprintf(text, PAGE_NUMBER, "%.*f %s", value >= 100 ? 0 : value >= 10 ? 1 : 2, value, unit);
  return text;
}

const char *page_bytes(char text[PAGE_NUMBER], double bytes) {
  if (bytes >= 1e9) return scaled(text, bytes / 1e9, "GB");
  if (bytes >= 1e6) return scaled(text, bytes / 1e6, "MB");
  if (bytes >= 1e3) return scaled(text, bytes / 1e3, "kB");
  snprintf(text, PAGE_NUMBER, "%.0f B", bytes);
  return text;
}

const char *page_seconds(char text[PAGE_NUMBER], double seconds) {
  if (seconds >= 1) return scaled(text, seconds, "s");
  if (seconds >= 1e-3) return scaled(text, seconds * 1e3, "ms");
  return scaled(text, seconds * 1e6, "µs");
}
