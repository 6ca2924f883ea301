/* Fingerprints of incidents: what was unusual and by how much, compared by the angle between them (after Bodik et al.,
 * "Fingerprinting the Datacenter", 2010). For a fleet its parts are counters, for one machine what was short, the cause,
 * the culprit's program and its most unusual features. */
#pragma once

#include <jansson.h>

#include "lib/data/vec.h"

#define LIKE 0.7 /* from here on two incidents are similar */

struct fingerprint {
	VEC(struct fingerprint_part {
		char *key;
		double weight;
	}) parts;
};

void fingerprint_free(struct fingerprint *f);
/* The first weight of a key stays. 0 or -ENOMEM. */
int fingerprint_add(struct fingerprint *f, const char *key, double weight);
/* -1..1; 0 where one has no parts. */
double fingerprint_likeness(const struct fingerprint *a, const struct fingerprint *b);
/* {key: weight}; a new reference, NULL without memory. */
json_t *fingerprint_json(const struct fingerprint *f);
/* 0, -EBADMSG for what is none, -ENOMEM. */
int fingerprint_read(json_t *from, struct fingerprint *ret);
