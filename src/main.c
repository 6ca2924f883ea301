#include <sys/prctl.h>

#include "cmd/verb.h"

int main(int argc, char **argv)
{
	/* one that was started by /proc/self/exe would be called "exe" until the recorder has looked at its file */
	prctl(PR_SET_NAME, "whyslow");
	return verbs_main(argc, argv);
}
