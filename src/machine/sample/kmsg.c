/* Kernel messages that matter, from /dev/kmsg (Documentation/ABI/testing/dev-kmsg): a record a read,
 *
 *   3,1176,41530923,-;Out of memory: Killed process 4215 (the culprit) total-vm:812340kB, anon-rss:800112kB, ...
 *    SUBSYSTEM=acpi
 *
 * priority and facility, number, time, flags; then the message; lines that begin with a blank say more about it.
 * Facilities other than the kernel's (priority >= 8) are programs that write there. Messages from before the recording
 * are skipped; of a flood (a dying disk says thousands) each tick tells the first ten and how many more there were.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/input/text.h"
#include "machine/sample/source.h"

#define NOTES_MAX   10
#define READS_MAX   200	 /* in a tick; what is left comes with the next */
#define RECORD_MAX  8192 /* CONSOLE_EXT_LOG_MAX: the longest record of any kernel so far */
#define MESSAGE_MAX 200

/* What a message must contain, and where to cut what only a developer reads. */
static const struct {
	const char *part, *cut;
} patterns[] = {
	{"Killed process ", ", UID"},
	{"I/O error", NULL},
	{" blocked for more than ", NULL},
	{"soft lockup", NULL},
	{"hard LOCKUP", NULL},
	{"detected stall", NULL},
	{"[Hardware Error]", NULL},
	{"mce: ", NULL},
	{"EDAC ", NULL},
	{"Memory failure", NULL},
	{"EXT4-fs error", NULL},
	{"EXT4-fs warning", NULL},
	{"BTRFS error", NULL},
	{"BTRFS critical", NULL},
	{"Corruption", NULL},
	{"emounting filesystem read-only", NULL},
	{"hard resetting link", NULL},
	{"exception Emask", NULL},
	{" timeout, ", NULL}, /* nvme0: I/O 12 QID 3 timeout, aborting */
	{"cpu clock throttled", NULL},
	{"page allocation failure", NULL},
	{"NETDEV WATCHDOG", NULL},
	{"Link is Down", NULL},
	{"link down", NULL},
	{"not responding", NULL}, /* nfs: server x not responding, still trying */
	{"clocksource: ", NULL},
	{"BUG: ", NULL},
	{"Oops", NULL},
};

struct kmsg_source {
	int fd;
	size_t notes, unsaid; /* of this tick */
};

static void cut_at(char *message, const char *part)
{
	char *at = part ? strstr(message, part) : NULL;

	if (at)
		*at = '\0';
}

static void take_message(struct kmsg_source *src, struct tick *tick, const char *text, size_t n)
{
	char message[MESSAGE_MAX];

	n = n < sizeof(message) ? n : sizeof(message) - 1;
	memcpy(message, text, n);
	message[n] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		if (!strstr(message, patterns[i].part))
			continue;
		if (src->notes++ >= NOTES_MAX) {
			src->unsaid++;
			return;
		}
		cut_at(message, patterns[i].cut);
		tick_note(tick, NOTE_KERNEL, 0, "%s", message);
		return;
	}
}

static void take_record(struct kmsg_source *src, struct tick *tick, const char *text)
{
	for (const char *line = text; *line; line = text_next_line(line)) {
		const char *at = line, *end = strchrnul(line, '\n'),
			   *message = memchr(line, ';', (size_t)(end - line));
		uint64_t priority;

		if (*line != ' ' && message && text_scan_number(&at, &priority) && *at == ',' && priority < 8)
			take_message(src, tick, message + 1, (size_t)(end - message - 1));
	}
}

static void kmsg_sample(void *state, struct tick *tick)
{
	struct kmsg_source *src = state;
	char text[RECORD_MAX + 1];

	src->notes = src->unsaid = 0;
	for (int i = 0; i < READS_MAX; i++) {
		ssize_t n = read(src->fd, text, sizeof(text) - 1);

		/* EPIPE: the ring overtook us; the next read continues behind the gap */
		if (n < 0 && (errno == EPIPE || errno == EINTR))
			continue;
		if (n <= 0)
			break;
		text[n] = '\0';
		take_record(src, tick, text);
	}
	if (src->unsaid)
		tick_note(tick, NOTE_KERNEL, 0, "%zu more kernel messages of this kind", src->unsaid);
}

static void kmsg_close(void *state)
{
	struct kmsg_source *src = state;

	close(src->fd);
	free(src);
}

static int kmsg_open(const struct source_options *options, void **ret_state, const char **ret_why)
{
	struct kmsg_source *src = malloc(sizeof(*src));

	if (!src)
		return -ENOMEM;
	*src = (struct kmsg_source){.fd = text_attribute_open(options->proc_root, "../dev/kmsg")};
	if (src->fd < 0) {
		int r = src->fd;

		free(src);
		*ret_why =
			"kernel messages (OOM kills, I/O errors) cannot be read: start the recorder as root";
		return r;
	}
	(void)lseek(src->fd, 0, SEEK_END); /* on /dev/kmsg: after the last record */
	*ret_state = src;
	return 0;
}

const struct source source_kmsg = {
	.name = "kmsg",
	.help = "notes kernel messages that matter: OOM kills, I/O errors, hung tasks, hardware errors",
	.open = kmsg_open,
	.sample = kmsg_sample,
	.close = kmsg_close,
};
