#include "fleet/model/fleet-source.h"

#include <stddef.h>

extern const struct fleet_source fleet_source_csv, fleet_source_json_lines, fleet_source_openmetrics, fleet_source_prometheus,
	fleet_source_sysstat, fleet_source_pcp, fleet_source_clickhouse, fleet_source_recordings,
	fleet_source_sysstat_text, fleet_source_influx, fleet_source_console, fleet_source_nmon, fleet_source_dstat, fleet_source_otlp, fleet_source_top, fleet_source_influx_csv;

const struct fleet_source *const fleet_sources[] = {
	&fleet_source_csv,
	&fleet_source_json_lines,
	&fleet_source_openmetrics,
	&fleet_source_prometheus,
	&fleet_source_sysstat,
	&fleet_source_sysstat_text,
	&fleet_source_influx,
	&fleet_source_influx_csv,
	&fleet_source_console,
	&fleet_source_top,
	&fleet_source_nmon,
	&fleet_source_dstat,
	&fleet_source_otlp,
#ifdef HAVE_PCP
	&fleet_source_pcp,
#endif
	&fleet_source_clickhouse,
	&fleet_source_recordings,
	NULL,
};
