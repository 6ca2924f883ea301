/* The list of `--hosts` (fleet-watch.h): the recorders of other machines. */
#include <stdlib.h>

#include "fleet/watch/host-recorders.h"
#include "fuzz/own-folder.h"
#include "fuzz/target.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct host_recorders_options options = {};
	struct host_recorders *hosts = NULL;
	char path[128], *error = NULL;

	own_file("hosts", bytes, n, path, sizeof(path));
	options.location = path;
	if (host_recorders_open(&options, &hosts, &error) == 0)
		host_recorders_free(hosts);
	free(error);
	return 0;
}
