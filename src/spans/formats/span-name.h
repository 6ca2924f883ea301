/* The name of a span without what tells single requests apart, so that names stay few: numbers, ids and values become "{}".
 *
 *   GET /orders/1234?full=1                                     GET /orders/{}
 *   SELECT * FROM orders WHERE id IN (17, 4711) AND state = 'x' SELECT * FROM orders WHERE id IN ({}) AND state = {}
 *   MGET user:17:name user:4b9c1f02:name                        MGET user:{}:name user:{}:name
 *
 * A number within a word ("v1", "s3", "http2") stays; four digits or more at the end of one do not ("order20017").
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "spans/model/names.h"

#define NAME_READ_MAX 8192 /* bytes of a name that are looked at: lists of values are long, and become short */

/* The plain name in `out`; its length, NAME_TEXT_MAX at most. */
size_t span_name_plain(const char *name, size_t n, char out[NAME_TEXT_MAX]);
/* Nothing but a number or an id. */
bool span_name_is_id(const char *text, size_t n);
