/* A process's use of GPUs, from the DRM drivers' /proc/PID/fdinfo (kernel: Documentation/gpu/drm-usage-stats.rst).
 *
 * Costs nothing on a machine without a DRM device, and a walk over its descriptors once in GPU_LOOK_EVERY ticks for a
 * process that has none open.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPU_LOOK_EVERY 60 /* ticks */

/* One open descriptor's: who, and what. Engines and regions added up. */
struct gpu_client {
	uint64_t id;	 /* drm-client-id: descriptors that share it are one client */
	uint64_t device; /* hash of drm-pdev or the driver: ids are unique within a device */
	int64_t time;	 /* ns on all engines */
	int64_t memory;	 /* bytes resident; of drivers that do not say, bytes held */
	bool has_id, has_time, has_memory;
};

/* A process's, between ticks. Zeroed at first. */
struct gpu_process {
	bool uses;
	bool looked;
	int64_t closed; /* time of clients that are gone */
	int64_t last;	/* sum of the open ones at the last reading */
	int64_t time, memory;
};

/* Is there a DRM device at all? */
bool gpu_is_there(const char *sys_root);
/* From the text of one fdinfo file. 0, or -ENODATA when it is not a DRM client's. */
int gpu_parse_fdinfo(const char *text, struct gpu_client *ret);
/* Whether this tick has to look at the process: so that nothing opens its directory for nothing. */
static inline bool gpu_is_due(const struct gpu_process *p, uint32_t pid, uint64_t tick)
{
	return !p->looked || p->uses || (tick + pid) % GPU_LOOK_EVERY == 0;
}
/* Reads one process through its directory in /proc. `tick` spreads the looks of processes without a GPU over time.
 * True when p->time and p->memory are this tick's. */
bool gpu_read(int proc_dir, uint32_t pid, uint64_t tick, struct gpu_process *p);
