#include "machine/events/probe-frames.h"

#include "lib/data/cleanup.h"
#include "lib/data/str.h"

#define LOOKED_AT 8 /* programs call a few functions of their own, which may have no names (net.core.bpf_jit_kallsyms) */

static bool is_probe(const char *name)
{
	static const char *const begins[] = {"bpf_prog_", "bpf_trampoline_", "bpf_trace_run", "__bpf_trace_", "__traceiter_"};

	for (size_t i = 0; name && i < ARRAY_SIZE(begins); i++)
		if (str_starts(name, begins[i]))
			return true;
	return false;
}

uint32_t probe_frames(const uint64_t *frames, uint32_t n, frame_name name, const void *data)
{
	uint32_t end = 0;

	for (uint32_t i = 0; i < n && i < LOOKED_AT && frames[i] >> 63; i++)
		if (is_probe(name(data, frames[i])))
			end = i + 1;
	return end;
}
