/* Messages to the person who runs the program, on standard error, one line each.
 *
 * Only verbs and the daemon speak; library code returns errors. Under systemd the lines carry the journal's
 * priority prefix ("<4>").
 */
#pragma once

#include <stdbool.h>

enum log_level { LOG_LEVEL_ERROR = 3, LOG_LEVEL_WARNING = 4, LOG_LEVEL_INFO = 6, LOG_LEVEL_DEBUG = 7 };

void log_setup(bool journal_prefix, enum log_level most);
/* The last error that was printed, without its end where it is longer than a line of 1023 bytes; "" = there was none. */
const char *log_last_error(void);
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...)   log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_line(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...)    log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)   log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)

/* Says an error, and is what the function that met it returns. */
#define log_failure(result, ...) (log_error(__VA_ARGS__), (result))
