/* Limits of this process or of the machine that an error of opening something tells of. */
#pragma once

/* In words which limit an errno tells of, and how to raise it; with few open files allowed it is that one, whatever the errno. NULL: none, the
 * cause is elsewhere. */
const char *own_limits_reason(int r);
