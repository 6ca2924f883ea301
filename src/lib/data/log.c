#include "lib/data/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/data/fold.h"
#include "lib/data/str.h"

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

static void print_folded(const char *line)
{
	struct fold out = {.fd = STDERR_FILENO};
	char text[LINE + 16];
	int n = snprintf(text, sizeof(text), "whyslow: %s\n", line);

	(void)fold_write(&out, text, (size_t)n);
	fold_free(&out);
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
	str_make_lines_printable(line); /* it may quote the name of a file, or an argument that a pattern of the shell became */
	if (level == LOG_LEVEL_ERROR)
		snprintf(last_error, sizeof(last_error), "%s", line);
	if (arg_log.journal_prefix)
		fprintf(stderr, "<%d>%s\n", level, line);
	else
		print_folded(line);
}
