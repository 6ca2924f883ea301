/* Who had the CPUs, as text and as JSON (schema whyslow.cpu/1, docs/json.md). */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "machine/events/cpu-report.h"

/* The `top` busiest processes, or threads. */
void cpu_text(const struct cpu_report *r, bool threads, size_t top, FILE *out);
/* 0 or -ENOMEM. */
int cpu_json(const struct cpu_report *r, bool threads, size_t top, FILE *out);
