/* Pressure stall information: how long tasks waited for CPU, I/O and memory.
 *
 *   some avg10=0.00 avg60=0.00 avg300=0.15 total=3183964
 *   full avg10=0.00 avg60=0.00 avg300=0.00 total=0
 *
 * total is in microseconds (Documentation/accounting/psi.rst). Kernels before 5.13 have no "full" line for cpu; its
 * system-wide value is not defined and not recorded.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/input/text.h"
#include "machine/sample/system.h"

static const struct {
	const char *file;
	int some, full; /* features; -1 = not recorded */
} files[] = {
	{"pressure/cpu", FEATURE_PSI_CPU_SOME, -1},
	{"pressure/io", FEATURE_PSI_IO_SOME, FEATURE_PSI_IO_FULL},
	{"pressure/memory", FEATURE_PSI_MEMORY_SOME, FEATURE_PSI_MEMORY_FULL},
	{"pressure/irq", -1, FEATURE_PSI_IRQ_FULL},
};

struct psi_files {
	int fd[ARRAY_SIZE(files)];
};

static void psi_close(void *state)
{
	struct psi_files *psi = state;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (psi->fd[i] >= 0)
			close(psi->fd[i]);
	free(psi);
}

static int psi_open(const struct source_options *options, void **ret_state)
{
	struct psi_files *psi = calloc(1, sizeof(*psi));
	bool any = false;

	if (!psi)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		psi->fd[i] = text_attribute_open(options->proc_root, files[i].file);
		any |= psi->fd[i] >= 0;
	}
	if (!any) {
		psi_close(psi);
		return -EOPNOTSUPP;
	}
	*ret_state = psi;
	return 0;
}

bool system_psi_total(const char *text, const char *line, uint64_t *ret_ns)
{
	size_t n = strlen(line);
	const char *at;
	uint64_t us;

	for (; *text; text = text_next_line(text)) {
		if (strncmp(text, line, n) != 0 || text[n] != ' ')
			continue;
		at = strstr(text, "total=");
		if (!at || at >= text_next_line(text))
			return false;
		at += strlen("total=");
		if (!text_scan_number(&at, &us))
			return false;
		*ret_ns = us * 1000;
		return true;
	}
	return false;
}

static void take(const char *text, const char *line, int feature, int64_t *values, feature_set *present)
{
	uint64_t ns;

	if (feature < 0 || !system_psi_total(text, line, &ns))
		return;
	values[feature] = (int64_t)ns;
	*present |= FEATURE_BIT(feature);
}

static void psi_read(void *state, struct tick *tick, int64_t *values, feature_set *present)
{
	struct psi_files *psi = state;

	(void)tick;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		char text[512];

		if (psi->fd[i] < 0 || text_attribute_read(psi->fd[i], text, sizeof(text)) <= 0)
			continue;
		take(text, "some", files[i].some, values, present);
		take(text, "full", files[i].full, values, present);
	}
}

const struct system_reader psi_reader = {
	.open = psi_open,
	.read = psi_read,
	.close = psi_close,
	.missing = "no pressure stall information: boot with psi=1 for sharper answers",
};
