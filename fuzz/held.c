/* What RUN/held says of a culprit that is held back. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "act/hold-file.h"
#include "fuzz/target.h"
#include "fuzz/own-folder.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	char path[128];
	struct hold h;

	own_file("run/held/1", bytes, n, path, sizeof(path));
	own_path("run", path, sizeof(path));
	if (hold_file_read(path, "1", &h) == 0)
		hold_free(&h);
	return 0;
}
