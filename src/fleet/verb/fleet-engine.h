/* --engine URL: the data stays where it is, and what can be computed there is. */
#pragma once

#include "fleet/store/fleet-engine.h"
#include "fleet/verb/fleet-verb.h"

/* The names of what an engine has, instead of the data; says what is wrong and gives NULL. */
struct fleet *fleet_engine_data(const struct fleet_query *args, const char *location);
/* The engine that such data belongs to; NULL = the data is here. */
struct fleet_engine *fleet_engine_of(const struct fleet *f);
/* As fleet_close(), of an engine's. */
void fleet_engine_data_close(const struct fleet *f);
