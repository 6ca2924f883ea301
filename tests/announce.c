/* Announces what it reads, as the recorder does: lines "ID EVENT NOTE". For tests/agent. */
#include <stdio.h>

#include "machine/agent/announce.h"

int main(void)
{
	struct announcer *a = announcer_open();
	char line[512], event[16], note[400];
	long long id;

	if (!a)
		return 1;
	while (fgets(line, sizeof(line), stdin))
		if (sscanf(line, "%lld %15s %399[^\n]", &id, event, note) == 3)
			announce(a, id, event, note);
	announcer_close(a);
	return 0;
}
