/* What runs without rights (lib/rights/sandbox.h) and gives names: it reads the programs, debug files and perf maps that
 * symbolize.c and identify.c hand to it. Requests are numbers as LEB128 and texts with their length (lib/data/str.h):
 *
 *   NAME_OPEN id name + file         -> result (as object_open()), build-id
 *   NAME_PLACE id file-offset lines  -> count, symbols (name_server_put())
 *   NAME_MAP id + file               -> result
 *   NAME_GENERATED id address        -> offset, name ("" = none)
 *   NAME_IDENTIFY + files            -> a build-id each ("" = none)
 *   NAME_CLOSE                       -> nothing; all ids are free again
 */
#pragma once

#include "lib/data/hmap.h"
#include "lib/rights/sandbox.h"
#include "machine/symbol/symbolize.h"

#define INLINES_MAX	16   /* symbols of one place */
#define NAME_LENGTH_MAX 1500 /* bytes of a name or a file: INLINES_MAX of them fit into an answer */

enum name_request { NAME_OPEN = 1, NAME_PLACE, NAME_MAP, NAME_GENERATED, NAME_IDENTIFY, NAME_CLOSE };

struct name_server {
	struct hmap objects; /* (id, 0) -> struct object */
	struct hmap maps;    /* (id, 0) -> struct jit_map */
};

/* A sandbox_handler; data = struct name_server, empty at first. */
void name_server_handle(void *data, struct sandbox_request *request, struct str *answer);

/* The texts are the caller's to free, also where 0 was not returned; both may be NULL. 0 or -EBADMSG. */
int name_server_take(struct reader *in, struct symbol *ret, char **ret_name, char **ret_file);
