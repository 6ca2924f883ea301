/* PAD's threshold configuration, XML as printed in Listing 1 of "PAD: Performance Anomaly Detection in Multi-Server
 * Distributed Systems" (2014):
 *
 *   <ThresholdConfig>
 *     <PerformanceCounter Name="Runtime.GC.PercentOfTimeInGC">
 *       <Rule AppliesTo="DetailView">
 *         <Statistic>Any</Statistic>
 *         <ExpectedValue>15</ExpectedValue>
 *         <ComparisonOperator>GreaterThan</ComparisonOperator>
 *       </Rule> ...
 *
 * AppliesTo: DetailView, ServerView, TimeView. Statistic: Any, All, Average (Mean), Median, Min, Max, Quantile with
 * Quantile="0.95", ZScore. ComparisonOperator: GreaterThan, GreaterThanOrEqual, LessThan, LessThanOrEqual, Equal, NotEqual.
 * <ExpectedPercentage Of="Median">120</ExpectedPercentage> in place of ExpectedValue: a percentage of a statistic.
 */
#pragma once

#include <expat.h>

#include "fleet/model/fleet-threshold.h"

/* Appends to *ret. 0; -EINVAL with *ret_error "FILE:LINE: ..." (caller frees); -ENOENT and others of the file; -ENOMEM. */
int pad_xml_read(const char *path, struct fleet_thresholds *ret, char **ret_error);
int pad_xml_parse(const char *text, size_t n, const char *file, struct fleet_thresholds *ret, char **ret_error);
/* Where the XML of a text begins: behind a byte order mark and blank lines, which editors leave and an XML parser refuses before a
 * declaration. *ret_lines: how many lines lie before it. */
const char *pad_xml_begin(const char *text, unsigned long *ret_lines);
/* NULL without memory. The text's own encoding counts, and not the one that its declaration names: what was written in UTF-16 was read
 * as UTF-8. */
XML_Parser pad_xml_parser(const char *text, size_t n);
/* Whether text begins as XML does. */
bool pad_xml_is(const char *text);
