#include "machine/recorder/announce.h"

#include <inttypes.h>
#include <stdlib.h>
#include <syslog.h>
#include <systemd/sd-bus.h>
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

struct announcer {
	sd_bus *bus;
};

struct announcer *announcer_open(void)
{
	struct announcer *a = calloc(1, sizeof(*a));

	if (!a || sd_bus_open_system(&a->bus) < 0) {
		free(a);
		return NULL;
	}
	return a;
}

void announcer_close(struct announcer *a)
{
	if (!a)
		return;
	sd_bus_flush_close_unref(a->bus);
	free(a);
}

void announce(struct announcer *a, int64_t id, const char *event)
{
	if (!a)
		return;
	/* what the bus sent us in the meantime is not for us, and must not pile up */
	while (sd_bus_process(a->bus, NULL) > 0)
		;
	if (sd_bus_emit_signal(a->bus, ANNOUNCE_PATH, ANNOUNCE_INTERFACE, ANNOUNCE_SIGNAL, "xs", id, event) >= 0)
		(void)sd_bus_flush(a->bus);
}

bool announce_in_journal(int64_t id, const char *rule, const char *note, bool over)
{
	return sd_journal_send("MESSAGE=%s incident %" PRId64 ": %s", over ? "end of" : "new", id, note, "MESSAGE_ID=%s", over ? ANNOUNCE_END_ID : ANNOUNCE_BEGIN_ID,
			       "PRIORITY=%i", over ? LOG_INFO : LOG_NOTICE, "WHYSLOW_INCIDENT=%" PRId64, id, "WHYSLOW_RULE=%s", rule,
			       "WHYSLOW_EVENT=%s", over ? "end" : "begin", "SYSLOG_IDENTIFIER=whyslow", NULL) >= 0;
}
