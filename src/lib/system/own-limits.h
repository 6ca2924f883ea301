/* Limits of this process or of the machine that an error of opening something tells of. */
#pragma once

/* In words which limit an errno tells of, and how to raise it; NULL: none, the cause is elsewhere. */
const char *own_limits_reason(int r);
