/* One body, compiled for each width of registers. */
#pragma once

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) /* which cannot choose at load time */
#define EACH_WIDTH __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define EACH_WIDTH
#endif
