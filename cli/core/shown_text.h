/* cli/core/shown_text.h: text of files as a terminal may show it; messages on stderr.
 *
 * Names and values come from files of other people. A terminal executes control characters (C0 without line ends and
 * tabs, DEL, C1), and shows text around bidirectional controls in another order than it has. Both are shown as escapes,
 * and so is what is not UTF-8. All text for stdout goes through output.h, all text for stderr through `say`.
 */
#ifndef CLI_CORE_SHOWN_TEXT_H
#define CLI_CORE_SHOWN_TEXT_H

#include <stdbool.h>
#include <stddef.h>

enum { SHOWN_ESCAPE = 8 }; /* \x1b or \u202e and the terminating 0 */

/* Length of the UTF-8 character at text, which has `size` bytes, at least one; 0: it is invalid. */
size_t utf8_length(const char *text, size_t size);
/* Whether a terminal would obey the valid character of `length` bytes rather than show it. */
bool is_control(const char *text, size_t length);
/* The escape of the character at text, or of its first byte; returns how many bytes of text it stands for. */
size_t shown_escape(char escape[SHOWN_ESCAPE], const char *text, size_t size);
/* Hands text on piece by piece, with escapes in the place of what must not be shown. */
void shown_pieces(const char *text, size_t size, void (*put)(void *to, const char *bytes, size_t size), void *to);

/* Prints to stderr, at most 4095 bytes a call. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
