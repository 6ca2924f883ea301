/* Pressure stall information: how long tasks waited for CPU, I/O and memory.
 *
 *   some avg10=0.00 avg60=0.00 avg300=0.15 total=3183964
 *   full avg10=0.00 avg60=0.00 avg300=0.00 total=0
 *
 * total is in microseconds (Documentation/accounting/psi.rst). Kernels before 5.13 have no "full" line for cpu; its
 * system-wide value is not defined and not recorded.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "source/source.h"
#include "source/system.h"

static const struct {
	const char *file;
	int some, full; /* features; -1 = not recorded */
} files[] = {
	{"cpu", FEATURE_PSI_CPU_SOME, -1},
	{"io", FEATURE_PSI_IO_SOME, FEATURE_PSI_IO_FULL},
	{"memory", FEATURE_PSI_MEMORY_SOME, FEATURE_PSI_MEMORY_FULL},
	{"irq", -1, FEATURE_PSI_IRQ_FULL},
};

struct psi_files {
	int fd[ARRAY_SIZE(files)];
};

int psi_open(const char *proc_root, struct psi_files **ret)
{
	struct psi_files *psi = calloc(1, sizeof(*psi));
	bool any = false;

	if (!psi)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		char path[256];

		snprintf(path, sizeof(path), "%s/pressure/%s", proc_root, files[i].file);
		psi->fd[i] = open(path, O_RDONLY | O_CLOEXEC);
		any |= psi->fd[i] >= 0;
	}
	if (!any) {
		free(psi);
		return -EOPNOTSUPP;
	}
	*ret = psi;
	return 0;
}

void psi_close(struct psi_files *psi)
{
	if (!psi)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (psi->fd[i] >= 0)
			close(psi->fd[i]);
	free(psi);
}

static void take(const char *text, const char *line, int feature, int64_t *values, uint64_t *present)
{
	const char *at = feature >= 0 ? strstr(text, line) : NULL;
	unsigned long long total;

	at = at ? strstr(at, "total=") : NULL;
	if (!at || sscanf(at, "total=%llu", &total) != 1)
		return;
	values[feature] = (int64_t)total * 1000;
	*present |= 1ull << feature;
}

void psi_read(struct psi_files *psi, int64_t *values, uint64_t *present)
{
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		char text[512];
		ssize_t n = psi->fd[i] >= 0 ? pread(psi->fd[i], text, sizeof(text) - 1, 0) : -1;

		if (n <= 0)
			continue;
		text[n] = '\0';
		take(text, "some ", files[i].some, values, present);
		take(text, "full ", files[i].full, values, present);
	}
}
