/* cli/core/shown_text.h: text of files as a terminal may show it; messages on stderr.
 *
 * Names and values come from files of other people. A terminal executes control characters (C0 without line ends and
 * tabs, DEL, C1), and bidirectional controls make it reorder the text around them. Both are shown as escapes, and so
 * are bytes that are not UTF-8. All text for stdout goes through output.h, all text for stderr through `say`.
 */
#ifndef CLI_CORE_SHOWN_TEXT_H
#define CLI_CORE_SHOWN_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether a terminal would obey the character rather than show it. */
bool is_control(uint32_t code);
/* Passes text on piece by piece, with escapes in place of characters that must not be shown. */
void shown_pieces(const char *text, size_t size, void (*put)(void *to, const char *bytes, size_t size), void *to);

/* Prints to stderr, at most 4095 bytes a call. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
