#include "lib/view/csv.h"

#include <stdbool.h>
#include <string.h>

void csv_put_text(const char *text, FILE *out)
{
	bool formula = text && *text && strchr("=+-@", *text);

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
