/* /proc/PID/stat, status, schedstat and io: each parser gets the whole input. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/target.h"
#include "lib/data/cleanup.h"
#include "machine/process/proc.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	_cleanup_free_ char *text = malloc(n + 1);
	int64_t values[PROCESS_FEATURE_COUNT] = {}, times[3];
	struct proc_stat stat;
	feature_set present = 0;
	uint32_t uid = 0;

	if (!text)
		return 0;
	if (n)
		memcpy(text, bytes, n);
	text[n] = '\0';
	if (proc_parse_stat(text, &stat) == 0 && strlen(stat.comm) >= sizeof(stat.comm))
		abort();
	(void)proc_parse_schedstat(text, times);
	proc_parse_status(text, values, &present, &uid);
	proc_parse_io(text, values, &present);
	return 0;
}
