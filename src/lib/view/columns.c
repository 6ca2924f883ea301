#include "lib/view/columns.h"

#include <string.h>
#include <wchar.h>

/* The character there: its bytes (0 at the end) and its columns. */
static size_t character(const char *text, size_t n, int *columns)
{
	mbstate_t state = {};
	wchar_t c;
	size_t used = mbrtowc(&c, text, n, &state);

	*columns = used == 0 ? 0 : 1;
	if (used == 0 || used > n)
		return n && *text ? 1 : 0;
	*columns = wcwidth(c) < 0 ? 1 : wcwidth(c);
	return used;
}

int columns_of(const char *text, size_t n)
{
	int sum = 0, columns;
	size_t used;

	for (size_t at = 0; (used = character(text + at, n - at, &columns)); at += used)
		sum += columns;
	return sum;
}

size_t columns_fit(const char *text, int columns)
{
	size_t n = strcspn(text, "\n"), at = 0, used;
	int width;

	while ((used = character(text + at, n - at, &width)) && width <= columns) {
		columns -= width;
		at += used;
	}
	return at;
}

size_t columns_wrap(const char *text, int columns)
{
	size_t fits = columns_fit(text, columns), at = fits;

	if (text[fits] == '\0' || text[fits] == '\n' || text[fits] == ' ')
		return fits;
	while (at > 0 && text[at - 1] != ' ')
		at--;
	while (at > 0 && text[at - 1] == ' ')
		at--;
	if (at)
		return at;
	return fits ? fits : text[0] != '\0'; /* not one character fits: on it goes */
}
