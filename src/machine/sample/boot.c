/* A note where the machine started, with its kernel: "normal" may differ from there on.
 *
 *   /proc/uptime                2948.75 5576.38
 *   /proc/sys/kernel/osrelease  6.18.44
 */
#include <errno.h>
#include <stdlib.h>

#include "lib/data/clock.h"
#include "lib/input/text.h"
#include "machine/sample/source.h"

#define FRESH_SECONDS 600 /* a recorder that starts later than this did not see the start */

struct boot_source {
	char kernel[128];
	uint64_t uptime; /* s */
	bool noted;
};

static int boot_open(const struct source_options *options, void **ret_state, const char **ret_why)
{
	struct boot_source *src = calloc(1, sizeof(*src));
	char text[64];
	const char *at = text;
	int r = src ? text_attribute_take(options->proc_root, "uptime", text, sizeof(text)) : -ENOMEM;

	if (r == 0 && !text_scan_number(&at, &src->uptime))
		r = -EBADMSG;
	r = r ?: text_attribute_take(options->proc_root, "sys/kernel/osrelease", src->kernel,
			   sizeof(src->kernel));
	if (r < 0) {
		free(src);
		*ret_why = "no /proc/uptime or kernel release: starts of the machine are not noted";
		return r;
	}
	*ret_state = src;
	return 0;
}

static void boot_sample(void *state, struct tick *tick)
{
	struct boot_source *src = state;

	if (!src->noted && src->uptime < FRESH_SECONDS)
		tick_note(tick, NOTE_BOOT, tick->wall - (int64_t)src->uptime * NS_PER_SEC,
			  "started, kernel %s", src->kernel);
	src->noted = true;
}

static void boot_close(void *state)
{
	free(state);
}

const struct source source_boot = {
	.name = "boot",
	.help = "notes when the machine started, and its kernel",
	.open = boot_open,
	.sample = boot_sample,
	.close = boot_close,
	.every = 600,
};
