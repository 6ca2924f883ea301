#include "lib/view/csv.h"

#include <stdbool.h>
#include <string.h>

/* Programs for tables also take signs of full width, and what follows a tab or a line's end. */
static bool is_formula(const char *text)
{
	return strchr("=+-@\t\r\n", *text) || (!strncmp(text, "\xef\xbc", 2) && text[2] && strchr("\x9d\x8b\x8d\xa0", text[2]));
}

void csv_put_text(const char *text, FILE *out)
{
	bool formula = text && *text && is_formula(text);

	if (!text || (!formula && !strpbrk(text, "\",\r\n"))) {
		fputs(text ? text : "", out);
		return;
	}
	fputs(formula ? "\"'" : "\"", out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}
