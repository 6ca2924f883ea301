/* Alibaba's call graphs (cluster-trace-microservices v2021 and v2022), whose rows name the tree by numbers:
 *
 *   ,traceid,timestamp,rpcid,um,rpctype,dm,interface,rt
 *   0,0b133c19,219678,0.1.1,u1,rpc,d2,i3,-12
 *
 * "0.1.1" was called by "0.1"; um called dm. A remote call is recorded by both: the time of the one that was called is negative.
 */
#pragma once

#include "spans/formats/span-columns.h"

#define ALIBABA_COLUMNS 7 /* that are made of the others */

/* Where its columns are; rt < 0: the table is another one. */
struct alibaba {
	int rpcid, um, dm, kind, interface, rt;
	char id[48], parent[48]; /* of the row at hand */
};

/* Looks at the names of the columns; if they are these, adds those that are made of them, and says the unit of the start. *n grows by
 * ALIBABA_COLUMNS then. */
void alibaba_columns(struct text_field names[COLUMNS_MAX], size_t *n, struct alibaba *ret);
/* Fills them in a row of n columns with them. False: it is not such a row. */
bool alibaba_row(struct alibaba *a, struct text_field *fields, size_t n);
