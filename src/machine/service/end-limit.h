/* A limit for how long this process takes to end once it was asked to. */
#pragma once

/* From now on it has so many seconds. After that it says on standard error which threads are left and what each waits for in the kernel, and ends with
 * EXIT_FAILURE without them. What a recorder has recorded is in its journal by then, and goes into the recording at the next start. */
void end_limit_begin(unsigned seconds);
