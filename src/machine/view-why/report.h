/* An incident as one HTML file that needs nothing else: to mail. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "machine/events/drawing.h"

struct report_capture {
	const char *summary, *text, *json; /* of an inspection; schema "whyslow.inspect/1" */
};

struct report {
	const char *title, *when, *note; /* note may be NULL */
	const char *answer;		 /* the text of the answer; NULL = nothing is recorded of that time */
	const struct report_capture *captures;
	size_t n_captures;
	const char *waits;		/* who waited for whom, as text; NULL = no events were kept */
	const struct timeline *timeline; /* of `drawing` */
	const struct drawing *drawing;	/* what threads did; NULL = the same */
	bool redact; /* without command lines, file names and users' names in paths */
};

void report_html(const struct report *r, FILE *out);
