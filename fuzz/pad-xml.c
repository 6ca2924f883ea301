/* Thresholds of a Windows performance analysis (PAL, PAD): XML from any machine. */
#include <stdlib.h>
#include <string.h>

#include "fleet/formats/pad-xml.h"
#include "fuzz/target.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	char *text = malloc(n + 1), *error = NULL;
	struct fleet_thresholds thresholds = {};

	memcpy(text, bytes, n);
	text[n] = '\0';
	(void)pad_xml_parse(text, n, "input", &thresholds, &error);
	fleet_thresholds_free(&thresholds);
	free(error);
	free(text);
	return 0;
}
