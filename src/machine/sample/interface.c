/* Network interfaces, from /proc/net/dev (net/core/net-procfs.c):
 *
 *   Inter-|   Receive                                                |  Transmit
 *    face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
 *     eth0: 49120969    1009    0    0    0     0          0         0    48448     603    0    0    0     0       0          0
 *
 * Interfaces that never carried a packet are left out.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/input/text.h"
#include "machine/process/entity-set.h"
#include "machine/sample/source.h"

#define INTERFACES_MAX 1024 /* a host of containers has one for each */

enum { RX_BYTES, RX_PACKETS, RX_ERRORS, RX_DROPS, TX_BYTES = 8, TX_PACKETS, TX_ERRORS, TX_DROPS, COLUMNS };

struct interface_source {
	struct text_file file;
	struct entity_set interfaces;
};

static void interface_close(void *state)
{
	struct interface_source *src = state;

	text_file_close(&src->file);
	entity_set_free(&src->interfaces);
	free(src);
}

static int interface_open(const struct source_options *options, void **ret_state, const char **ret_why)
{
	struct interface_source *src = calloc(1, sizeof(*src));
	int r = src ? text_file_open(&src->file, options->proc_root, "net/dev") : -ENOMEM;

	if (r < 0) {
		free(src);
		*ret_why = "no /proc/net/dev: network interfaces cannot be seen";
		return r;
	}
	src->interfaces = (struct entity_set){.kind = ENTITY_INTERFACE, .max = INTERFACES_MAX};
	*ret_state = src;
	return 0;
}

/* An alias has a colon in its name ("eth0:1"): the last one ends it. */
static void read_interface(struct interface_source *src, const char *line)
{
	const char *name = text_skip_blanks(line), *colon = memrchr(name, ':', strcspn(name, "\n")), *at;
	uint64_t v[COLUMNS];
	struct entity_slot *m;

	if (!colon)
		return;
	at = colon + 1;
	if (text_scan_numbers(&at, v, COLUMNS) != COLUMNS || (!v[RX_PACKETS] && !v[TX_PACKETS]))
		return;
	m = entity_set_see(&src->interfaces, name, (size_t)(colon - name), NULL);
	if (!m)
		return;
	entity_slot_set(m, FEATURE_IF_RX_BYTES, v[RX_BYTES]);
	entity_slot_set(m, FEATURE_IF_TX_BYTES, v[TX_BYTES]);
	entity_slot_set(m, FEATURE_IF_RX_PACKETS, v[RX_PACKETS]);
	entity_slot_set(m, FEATURE_IF_TX_PACKETS, v[TX_PACKETS]);
	entity_slot_set(m, FEATURE_IF_ERRORS, v[RX_ERRORS] + v[TX_ERRORS]);
	entity_slot_set(m, FEATURE_IF_DROPS, v[RX_DROPS] + v[TX_DROPS]);
}

static void interface_sample(void *state, struct tick *tick)
{
	struct interface_source *src = state;

	if (text_file_read(&src->file) < 0)
		return;
	entity_set_begin(&src->interfaces);
	for (const char *line = src->file.data; *line; line = text_next_line(line))
		read_interface(src, line);
	entity_set_put(&src->interfaces, tick);
}

const struct source source_interface = {
	.name = "interface",
	.help = "bytes, packets, errors and drops of every network interface",
	.open = interface_open,
	.sample = interface_sample,
	.close = interface_close,
};
