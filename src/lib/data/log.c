#include "lib/data/log.h"

#include <stdarg.h>
#include <stdio.h>

#define LINE 1024

static struct {
	bool journal_prefix;
	enum log_level most;
} arg_log = {.most = LOG_LEVEL_INFO};
static char last_error[LINE];

void log_setup(bool journal_prefix, enum log_level most)
{
	arg_log.journal_prefix = journal_prefix;
	arg_log.most = most;
}

const char *log_last_error(void)
{
	return last_error;
}

void log_line(enum log_level level, const char *format, ...)
{
	char line[LINE];
	va_list args;

	if (level > arg_log.most)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (level == LOG_LEVEL_ERROR)
		snprintf(last_error, sizeof(last_error), "%s", line);
	if (arg_log.journal_prefix)
		fprintf(stderr, "<%d>%s\n", level, line);
	else
		fprintf(stderr, "whyslow: %s\n", line);
}
