/* All that is not the client (main.c), loaded by it. */
#include <sys/prctl.h>

#include "machine/verb/verb.h"
#include "lib/system/program.h"

int whyslow_program(int argc, char **argv, int asked)
{
	/* one that was started by /proc/self/exe would be called "exe" until the recorder has looked at its file */
	prctl(PR_SET_NAME, "whyslow");
	return verbs_main(argc, argv, asked);
}
