/* A session's agent: shows what the recorder caught as desktop notifications. A root daemon cannot post to a
 * user's bus. */
#pragma once

/* Runs until SIGTERM or SIGINT. 0, or -errno after having said why on the log. */
int agent_run(void);
