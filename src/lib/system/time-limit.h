/* A process that the kernel ends by SIGKILL after a time, whatever holds it up: also if it is stopped by a signal, and who started it is gone.
 * The kernel asks for no right, while PR_SET_PDEATHSIG does: who started it may have no right to end processes of other users. */
#pragma once

#include <stdint.h>
#include <time.h>

/* ns from now, of this process; a child does not inherit it. To be called before the user is left: that of another user counts for its
 * limits. 0 or -errno. */
int time_limit_begin(int64_t ns, timer_t *ret);
/* ns from now instead. */
void time_limit_begin_again(timer_t limit, int64_t ns);
