/* Which machines of a list are slow now, and because of what: "slow now: 3 of 40, because of backup (2), dd". */
#pragma once

#include <stdio.h>

#include "fleet/watch/fleet-watch.h"
#include "lib/net/host-answer.h"

struct fleet_now {
	struct watch_list list;
	size_t known;		     /* of the list: the first ones, which were in its file */
	struct host_answer *answers; /* one a host */
};

size_t fleet_now_count(const struct fleet_now *n, bool (*holds)(const struct host_answer *));
bool fleet_now_is_slow(const struct host_answer *a);
bool fleet_now_answered(const struct host_answer *a);
/* file: where those that answered are kept. */
void fleet_now_text(const struct fleet_now *n, const char *file, FILE *out);
json_t *fleet_now_json(const struct fleet_now *n);
