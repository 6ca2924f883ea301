/* Saves the incidents that it reads in a recording, and announces them, as the recorder does: announce STORE, lines "NUMBER EVENT NOTE". An
 * incident gets the next number of the recording. For tests/agent. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/clock.h"
#include "machine/recorder/announce.h"
#include "machine/recording/store.h"

int main(int argc, char **argv)
{
	struct announcer *a = announcer_open();
	const struct store_paths paths = {.file = argc > 1 ? argv[1] : ""};
	char line[512], event[16], note[400], *error = NULL;
	struct store *store = NULL;
	long long number;

	if (!a || store_open(&paths, STORE_WRITE, &store, &error) < 0) {
		fprintf(stderr, "%s\n", error ? error : "no bus");
		return 1;
	}
	while (fgets(line, sizeof(line), stdin)) {
		int64_t id;

		if (sscanf(line, "%lld %15s %399[^\n]", &number, event, note) != 3)
			continue;
		id = number;
		if (strcmp(event, "end") == 0)
			(void)store_rule_incident_extend(store, id, clock_wall(), note, true);
		else if (store_rule_incident(store, clock_wall(), note, &id) < 0 || id != number)
			return 1;
		announce(a, id, event);
	}
	store_close(store);
	announcer_close(a);
	return 0;
}
