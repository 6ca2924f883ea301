/* The records of sysstat's recordings, which sadf writes as JSON or XML. */
#pragma once

#include <jansson.h>

#include "fleet/formats/text-lines.h"
#include "lib/data/str.h"

/* Takes a record as sadf -j writes it, {"timestamp": {...}, "cpu-load": [...]}, record `number` of the file, of a server. 0 or -ENOMEM. */
int sysstat_record_take(const struct text_lines *l, const char *server, uint64_t number, const json_t *record);
/* Takes the text of a file that sadf -x wrote. What is damaged is reported. 0 or -ENOMEM. */
int sysstat_xml_take(const struct text_lines *l, const struct str *text);
