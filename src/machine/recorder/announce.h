/* News of incidents, from the recorder to who sits at the machine: a signal on the system bus, which the agents of the sessions
 * (`whyslow agent`) turn into notifications.
 *
 *   path /org/whyslow, interface org.whyslow.Events, signal Caught(x id, s event: "begin" | "end")
 *
 * Every user may listen on that bus, also one who may not ask the recorder. So the signal has no words: an agent asks for those as its user.
 */
#pragma once

#include <stdbool.h>

#include <stdint.h>

#define ANNOUNCE_PATH	   "/org/whyslow"
#define ANNOUNCE_INTERFACE "org.whyslow.Events"
#define ANNOUNCE_SIGNAL	   "Caught"

struct announcer;

/* NULL where there is no system bus: then no agent hears of it. */
struct announcer *announcer_open(void);
void announcer_close(struct announcer *a);
/* Does not wait for an agent. */
void announce(struct announcer *a, int64_t id, const char *event);

/* The entries of the system's journal for an incident's beginning and end have these numbers: journalctl MESSAGE_ID=... */
#define ANNOUNCE_BEGIN_ID "c796aa267dd144ce96c3f636a6c78308"
#define ANNOUNCE_END_ID	  "8c654b8373b3492ba8e958d19fcd7b8b"
/* Writes that entry, with the fields WHYSLOW_INCIDENT, WHYSLOW_RULE and WHYSLOW_EVENT. True: it is in the journal, if there is one. */
bool announce_in_journal(int64_t id, const char *rule, const char *note, bool over);
