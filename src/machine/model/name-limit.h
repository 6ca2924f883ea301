/* Bounds how many new names a recording takes, whatever programs do.
 *
 * Each entity of a recording costs: a definition in the journal, a subject while the segment is compacted, some 100 bytes in the
 * store for as long as history is kept. Any user can start thousands of processes a second, each with a name never seen. So new
 * entities take from shares (lib/system/fair-share.h) a tick and a window of ten minutes; an entity that gets none is *folded*: it is
 * not recorded itself, and what it does is added to an entity of kind ENTITY_SHORT_LIVED that stands for all folded ones of the
 * same name and user, and beyond a bound of those, too, for all of one user, named NAME_OF_OTHERS. No growth and no level
 * is lost: counters of folded entities grow their sum, gauges are added up over those that live.
 *
 * Processes that were there when recording began keep their names, so do all that are recorded already. A folded process that
 * lives for LASTING has a share of its own, and one that outlives the window gets a name with the next one. Other kinds (control groups, mounts) that get none are left out.
 */
#pragma once

#include <string.h>

#include "machine/model/tick.h"

#define NAME_OF_OTHERS "(other programs)" /* longer than a comm can be: no program has this name */

/* Many programs that are added up: what they do together says nothing of one. */
static inline bool name_limit_is_sum(const struct entity_info *info)
{
	return info->name && strcmp(info->name, NAME_OF_OTHERS) == 0;
}

/* New entities in all; one user's and one parent's parts: see lib/system/fair-share.h. An entity counts once more for each
 * NAME_TEXT bytes of its description, which is known after it began. 8192 processes of 13 a second; 600 bytes of text in a
 * chunk for each that is named make 3 MB in ten minutes at worst. */
#define NAMES_A_TICK	     1024 /* new ones, and as many that change */
#define PROCESSES_A_WINDOW   8192
#define GROUPS_A_WINDOW	     4096 /* short-lived processes by name and parent */
#define FOLDED_NAMES_A_WINDOW 1024 /* entities that stand for folded ones of one name */
#define THINGS_A_WINDOW	     2048 /* control groups, mounts, interfaces ... */
#define USERS_WITH_OTHERS    64	  /* beyond it one entity stands for all further users */
#define LASTING_A_WINDOW     2048 /* folded processes that turn out to last */
#define NAME_TEXT	     512
#define LASTING		     (3 * 1000000000ll) /* ns */
#define NAME_WINDOW	     (590 * 1000000000ll) /* ns: a segment, less what its begin may vary by */

struct name_limit;

/* NULL without memory. */
struct name_limit *name_limit_new(void);
void name_limit_free(struct name_limit *l);
/* Takes entities without a name out of the tick, and puts those that stand for them; notes once a window and user that this
 * happened. After all that reads `previous`, before the tick is encoded. `key`: the tick begins a segment. */
void name_limit_apply(struct name_limit *l, struct tick *tick, bool key);
/* How many entities have been folded since it was made. */
int64_t name_limit_folded(const struct name_limit *l);
