/* The readers of the machine's own counters; system.c joins them into one entity. Each opens its files once and
 * reads them with pread(), so that a sample opens nothing. */
#pragma once

#include <stdint.h>

struct psi_files;
/* -EOPNOTSUPP where the kernel has no pressure information (CONFIG_PSI, or psi=1 on the command line). */
int psi_open(const char *proc_root, struct psi_files **ret);
void psi_read(struct psi_files *psi, int64_t *values, uint64_t *present);
void psi_close(struct psi_files *psi);
