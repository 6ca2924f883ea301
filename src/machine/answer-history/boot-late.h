/* Why a start took long that nothing recorded, by what the machine keeps of it itself (machine/model/start-record.h). */
#pragma once

#include "machine/findings/finding.h"
#include "machine/model/start-record.h"

/* A start is slow by what one thing of it took: at least so long, and so much of the whole. */
#define START_PART_LEAST (5 * 1000000000ll)
#define START_PART_SHARE 0.25

/* `kernel_began`: wall ns. The whole ends when systemd says so, else when for ten seconds no program began that still runs. 0, -ENOMEM, or
 * -ENODATA where nothing is known of the start. The caller frees with answer_free(). */
int boot_late_answer(const struct start_record *r, int64_t kernel_began, struct answer *ret);
