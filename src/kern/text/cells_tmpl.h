/* kern/text/cells_tmpl.h: find_cells, 64 bytes at a time. Before including it, define
 *
 *   cell_bits         masks of 64 bytes: static inline cell_bits read_cell_bits(const char *p, char delimiter)
 *   store_cell_marks  static inline void store_cell_marks(uint32_t *out, size_t base, uint64_t found): stores the
 *                     positions of the bits of `found`, plus base; up to FW_KERN_PAD elements may be written */

/* Bit i: the exclusive or of bits 0 … i. */
static inline uint64_t prefix_xor(uint64_t bits) {
  for (unsigned k = 1; k < 64; k *= 2) bits ^= bits << k;
  return bits;
}

/* State that is carried from one word to the next. */
typedef struct cell_carry {
  uint64_t within; /* all bits: the next byte is within quotes */
  uint64_t begins; /* bit 0: a cell begins with the next byte, or the previous byte is a quote that closes one */
  uint64_t closed; /* bit 0: the previous byte is a quote that closes a cell */
  uint64_t cr;     /* bit 0: the previous byte is a CR outside of quotes */
} cell_carry;

/* What was found, in any bit. */
typedef struct cell_findings {
  uint64_t quotes, doubled, returns, spans, odd;
} cell_findings;

/* Returns the bits of a word that are within quotes, including the opening quote. */
static inline uint64_t match_quotes(const cell_bits *b, cell_carry *carry, cell_findings *met, uint64_t inside) {
  const uint64_t within = prefix_xor(b->quotes) ^ carry->within;
  const uint64_t opening = b->quotes & within, closing = b->quotes & ~within;
  const uint64_t stops = (b->delimiters | b->lf | b->cr) & ~within;
  const uint64_t behind = closing << 1 | carry->closed;
  met->quotes |= b->quotes;
  met->doubled |= opening & behind;
  met->odd |= opening & ~(stops << 1 | closing << 1 | carry->begins);
  met->odd |= behind & ~(stops | opening) & inside;
  met->spans |= (b->lf | b->cr) & within;
  carry->within = 0 - (within >> 63);
  carry->begins = (stops | closing) >> 63;
  carry->closed = closing >> 63;
  return within;
}

static void find_cells(const char *text, size_t n, char delimiter, bool quotes, fw_cell_marks *marks) {
  cell_carry carry = {.begins = 1};
  cell_findings met = {0};
  size_t count = 0, lines = 0;
  marks->offsets[-1] = UINT32_MAX;
  for (size_t i = 0; i < n; i += 64) {
    const uint64_t inside = n - i >= 64 ? ~0ull : ~0ull >> (64 - (n - i));
    cell_bits b = read_cell_bits(text + i, delimiter);
    uint64_t outside = inside;
    b.lf &= inside;
    b.cr &= inside;
    b.delimiters &= inside;
    b.quotes = quotes ? b.quotes & inside : 0;
    if (b.quotes | carry.within | carry.closed)
      outside &= ~match_quotes(&b, &carry, &met, inside);
    else
      carry.begins = (b.delimiters | b.lf | b.cr) >> 63;
    const uint64_t cr = b.cr & outside;
    if (cr | carry.cr) {
      met.returns |= cr;
      met.odd |= (cr << 1 | carry.cr) & ~b.lf & inside;
      carry.cr = cr >> 63;
    }
    const uint64_t found = (b.delimiters | b.lf) & outside;
    store_cell_marks(marks->offsets + count, i, found);
    for (uint64_t lf = b.lf & outside; lf; lf &= lf - 1)
      marks->lines[lines++] = (uint32_t)(count + (size_t)__builtin_popcountll(found & ((lf & (0 - lf)) - 1)));
    count += (size_t)__builtin_popcountll(found);
  }
  marks->count = count;
  marks->nlines = lines;
  marks->quotes = met.quotes != 0;
  marks->doubled = met.doubled != 0;
  marks->returns = met.returns != 0;
  marks->spans = met.spans != 0;
  marks->odd = met.odd != 0;
}
