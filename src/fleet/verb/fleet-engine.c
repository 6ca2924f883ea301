#include "fleet/verb/fleet-engine.h"

#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/log.h"

static struct fleet_engine *arg_engines[2]; /* of the one or two DATA of a command line */

struct fleet *fleet_engine_data(const struct fleet_query *args, const char *location)
{
	const char *url = strcmp(location, "-") == 0 ? args->engine : location;
	_cleanup_free_ char *error = NULL;
	size_t place = arg_engines[0] != NULL;
	int r;

	if (arg_engines[place]) {
		log_error("an engine compares at most two sets of data");
		return NULL;
	}
	r = fleet_engine_open(url, args->token_file, args->ca_file, &arg_engines[place], &error);
	if (r == 0)
		return (struct fleet *)fleet_engine_fleet(arg_engines[place]);
	log_error("%s", error ? error : strerror(-r));
	return NULL;
}

struct fleet_engine *fleet_engine_of(const struct fleet *f)
{
	for (size_t i = 0; f && i < ARRAY_SIZE(arg_engines); i++)
		if (arg_engines[i] && fleet_engine_fleet(arg_engines[i]) == f)
			return arg_engines[i];
	return NULL;
}

void fleet_engine_data_close(const struct fleet *f)
{
	for (size_t i = 0; i < ARRAY_SIZE(arg_engines); i++)
		if (arg_engines[i] && fleet_engine_fleet(arg_engines[i]) == f) {
			fleet_engine_close(arg_engines[i]);
			arg_engines[i] = NULL;
			return;
		}
}
