/* Reads what a machine keeps of its last start (machine/model/start-record.h). */
#pragma once

#include "machine/model/start-record.h"
#include "machine/model/visibility.h"

#define START_GAP     (500 * 1000000ll) /* ns without a message of the kernel's log: shorter gaps are not kept */
#define START_LONGEST (600 * 1000000000ll) /* what began later is not of the start */

/* Reads those of the three, of this machine, that can be read and that the viewer might read, too. What began after START_LONGEST is left out. 0 or
 * -ENOMEM. */
int start_record_read(const char *proc_root, const struct viewer *viewer, struct start_record *ret);

/* `systemctl show`, of the manager: KEY=VALUE lines. */
void start_record_take_manager(const char *text, struct start_record *r);
/* `systemctl show '*' --property=Id,InactiveExitTimestampMonotonic,ActiveEnterTimestampMonotonic,After`: a block a unit, between blank
 * lines. 0 or -ENOMEM. */
int start_record_take_units(const char *text, struct start_record *r);
/* Records of /dev/kmsg (machine/sample/kmsg.c has a sample), one after the other. 0 or -ENOMEM. */
int start_record_take_log(const char *text, struct start_record *r);
