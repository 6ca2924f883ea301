/* A process by its number or by a word. */
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/log.h"
#include "lib/data/str.h"
#include "machine/process/who.h"
#include "machine/verb/verb.h"

#define LISTED 12

/* A line of each has what distinguishes them: number, name, unit or container, and how it was started. */
static void list_hits(const struct who_hits *hits, const char *who)
{
	_cleanup_str_ struct str text = {};

	for (size_t i = 0; i < hits->list.n && i < LISTED; i++) {
		const struct entity_info *info = &hits->list.v[i];
		_cleanup_free_ char *label = entity_label(info);
		const char *where = info->container ? info->container : info->unit;

		str_printf(&text, "\n  %7u  %s%s%s%s", info->pid, label ? label : info->name, where ? ", " : "", where ? where : "",
			   info->cmdline ? ": " : "");
		if (info->cmdline)
			str_printf(&text, "%.80s", info->cmdline);
	}
	if (hits->list.n > LISTED)
		str_printf(&text, "\n  and %zu more", hits->list.n - LISTED);
	str_putc(&text, '\0');
	log_error("'%s' means %zu processes; name one by its number:%s", who, hits->list.n, text.data ? text.data : "");
}

int verb_find_process(const struct common *common, const char *who, uint32_t *ret)
{
	struct who_hits hits;
	uint64_t pid;
	int r, status = EXIT_ANSWERED;

	if (str_parse_u64(who, &pid) == 0 && pid && pid <= UINT32_MAX) {
		*ret = (uint32_t)pid;
		return EXIT_ANSWERED;
	}
	r = who_find("/proc", who, &common->viewer, &hits);
	if (r < 0)
		return log_failure(EXIT_CANNOT, "cannot read /proc: %s", strerror(-r));
	if (hits.list.n == 1) {
		*ret = hits.list.v[0].pid;
	} else if (hits.list.n) {
		list_hits(&hits, who);
		status = EXIT_USAGE;
	} else {
		log_error("no living process is meant by '%s': a number, or a word of its name, script, path, unit or container ('whyslow show' lists them)", who);
		status = EXIT_ABSENT;
	}
	who_hits_free(&hits);
	return status;
}
