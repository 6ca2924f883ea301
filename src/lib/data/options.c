#include "lib/data/options.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/data/clock.h"
#include "lib/data/str.h"

static const struct option_row *find_long(const struct option_row *rows, const char *name, size_t n)
{
	for (; rows && rows->type != OPTION_END; rows++)
		if (strlen(rows->name) == n && strncmp(rows->name, name, n) == 0)
			return rows;
	return NULL;
}

static const struct option_row *find_letter(const struct option_row *rows, char letter)
{
	for (; rows && rows->type != OPTION_END; rows++)
		if (rows->letter == letter)
			return rows;
	return NULL;
}

static int set(const struct option_row *row, const char *value, char **ret_error)
{
	switch (row->type) {
	case OPTION_FLAG:
		*(bool *)row->target = true;
		return 0;
	case OPTION_TEXT:
		*(const char **)row->target = value;
		return 0;
	case OPTION_SPAN:
		if (clock_parse_span(value, row->target) < 0)
			return str_fail(ret_error, -EINVAL, "--%s expects a span such as 90s, 5min or 4h, not '%s'", row->name, value);
		return 0;
	case OPTION_COUNT:
		if (str_parse_u64(value, row->target) < 0)
			return str_fail(ret_error, -EINVAL, "--%s expects a whole number, not '%s'", row->name, value);
		return 0;
	case OPTION_END:
		break;
	}
	return -EINVAL;
}

/* "--scope" after "--add-token" is the next option: the name was forgotten. */
static bool is_long_option(const struct option_row *rows, const struct option_row *more, const char *word)
{
	size_t n = word[0] == '-' && word[1] == '-' ? strcspn(word + 2, "=") : 0;

	return n && (find_long(rows, word + 2, n) || find_long(more, word + 2, n));
}

/* *at is the index of the option word; moves it past a value taken from the next word. */
static int parse_one(const struct option_row *rows, const struct option_row *more, int argc, char **argv, int *at,
		     char **ret_error)
{
	const char *word = argv[*at], *value = NULL;
	const struct option_row *row;

	if (word[1] == '-') {
		size_t n = strcspn(word + 2, "=");

		row = find_long(rows, word + 2, n);
		if (!row)
			row = find_long(more, word + 2, n);
		if (word[2 + n] == '=')
			value = word + 3 + n;
	} else {
		row = find_letter(rows, word[1]);
		if (!row)
			row = find_letter(more, word[1]);
		if (row && word[2])
			value = word + 2;
	}
	if (!row)
		return str_fail(ret_error, -EINVAL, "unknown option %s; --help lists them", word);
	if (row->type == OPTION_FLAG && value)
		return str_fail(ret_error, -EINVAL, "--%s takes no value", row->name);
	if (row->type != OPTION_FLAG && !value) {
		if (*at + 1 >= argc || is_long_option(rows, more, argv[*at + 1]))
			return str_fail(ret_error, -EINVAL, "--%s requires a value: --%s %s", row->name, row->name, row->argument);
		value = argv[++*at];
	}
	return set(row, value, ret_error);
}

/* "-10min" is a time, "-" a file. */
static bool is_option(const char *word)
{
	return word[0] == '-' && word[1] && !isdigit((unsigned char)word[1]);
}

int options_parse(const struct option_row *rows, const struct option_row *more, bool stop_at_word, int argc,
		  char **argv, char **ret_error)
{
	int words = 0;

	for (int i = 0; i < argc; i++) {
		if (i > 0 && strcmp(argv[i], "--") == 0) {
			while (++i < argc)
				argv[words++] = argv[i];
			break;
		}
		if (i > 0 && is_option(argv[i])) {
			int r = parse_one(rows, more, argc, argv, &i, ret_error);

			if (r < 0)
				return r;
		} else {
			argv[words++] = argv[i];
			while (stop_at_word && i > 0 && ++i < argc)
				argv[words++] = argv[i];
		}
	}
	argv[words] = NULL;
	return words;
}

static bool has_name(const struct option_row *rows, const char *name)
{
	for (; rows && rows->type != OPTION_END; rows++)
		if (strcmp(rows->name, name) == 0)
			return true;
	return false;
}

void options_print(const struct option_row *rows, const struct option_row *before)
{
	for (; rows && rows->type != OPTION_END; rows++) {
		char left[64];

		if (has_name(before, rows->name))
			continue;

		if (rows->letter)
			snprintf(left, sizeof(left), "-%c, --%s %s", rows->letter, rows->name,
				 rows->argument ? rows->argument : "");
		else
			snprintf(left, sizeof(left), "    --%s %s", rows->name, rows->argument ? rows->argument : "");
		printf("  %-28s %s\n", left, rows->help);
	}
}
