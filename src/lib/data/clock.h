/* The two clocks, and the ways people write a moment.
 *
 * Boot time (CLOCK_BOOTTIME, ns) orders and spaces samples: it never steps. Wall time (ns since 1970, UTC) names
 * them for people and joins recordings across boots. Both are stored with every tick.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define NS_PER_SEC 1000000000ll
#define NS_PER_MS  1000000ll

int64_t clock_boot(void);
int64_t clock_monotonic(void); /* CLOCK_MONOTONIC, ns: what one waits by */
int64_t clock_wall(void);

#define CLOCK_BOOT_ID 40 /* bytes of the name of a boot, with its end */
/* Which start of the machine clock_boot() counts from, as PROC/sys/kernel/random/boot_id names it. 0 or -errno. */
int clock_boot_id(const char *proc_root, char ret[CLOCK_BOOT_ID]);

/* TIME as journalctl takes it: now, -5min, +2h, 14:32, 14:32:07, today, yesterday, 2026-11-20,
 * "2026-11-20 14:32[:07]", RFC 3339 ("...T14:32:07Z", "+02:00"), @1790000000[.5]. Local time unless a zone is given.
 * 0 or -EINVAL. */
int clock_parse_time(const char *text, int64_t now_wall_ns, int64_t *ret_wall_ns);
/* SPAN: "90", "90s", "5min", "4h", "1d 2h", "500ms". Bare numbers are seconds. 0 or -EINVAL. */
int clock_parse_span(const char *text, int64_t *ret_ns);

/* "2026-11-20T14:32:07.123Z"; buf of at least 32 bytes, returned. */
char *clock_format_rfc3339(int64_t wall_ns, char *buf, size_t n);
/* "Fri 2026-11-20 14:32:07" in local time. */
char *clock_format_local(int64_t wall_ns, char *buf, size_t n);
/* "41 s", "4 h", "3 min 20 s", "120 ms". */
char *clock_format_span(int64_t ns, char *buf, size_t n);

/* The same as texts that last as long as the block where they stand. */
#define CLOCK_RFC3339(wall_ns) clock_format_rfc3339((wall_ns), (char[40]){}, 40)
#define CLOCK_LOCAL(wall_ns)   clock_format_local((wall_ns), (char[40]){}, 40)
#define CLOCK_SPAN(ns)	       clock_format_span((ns), (char[32]){}, 32)
