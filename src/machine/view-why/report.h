/* An incident as one HTML file that needs nothing else: to mail. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "machine/events/drawing.h"
#include "machine/findings/process-snapshot.h"

struct report_capture {
	const char *summary, *text, *json; /* of an inspection; schema "whyslow.inspect/1" */
};

/* A feature of a suspect over time. */
struct report_curve {
	char *name; /* of the process */
	const struct feature *feature;
	struct curve curve;
};

struct report {
	const char *title, *when, *note; /* note may be NULL */
	const char *answer;		 /* the text of the answer; NULL = nothing is recorded of that time */
	const struct report_capture *captures;
	size_t n_captures;
	const struct report_curve *curves; /* around the moment `at` (wall ns) */
	size_t n_curves;
	int64_t at;
	const char *waits;		/* who waited for whom, as text; NULL = no events were kept */
	const char *matrix;		/* the same as a document of schema "whyslow.blame/1" */
	const struct timeline *timeline; /* of `drawing` */
	const struct drawing *drawing;	/* what threads did; NULL = the same */
	bool redact; /* without command lines, file names and users' names in paths */
};

void report_html(const struct report *r, FILE *out);
