/* whyslow spans groups: the versions of each bucket against the older ones, or against all others; since when. */
#include <errno.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/log.h"
#include "spans/ask/span-groups.h"
#include "spans/ask/spans.h"

static int parse_method(const struct spans_query *q, enum group_method *ret)
{
	static const enum group_method methods[] = {GROUPS_ROBUST, GROUPS_SDIAG_OLDER, GROUPS_SDIAG_POOLED};

	*ret = GROUPS_ROBUST;
	if (!q->method)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		*ret = methods[i];
		if (!strcmp(group_method_name(methods[i]), q->method))
			return 0;
	}
	verb_usage_error("spans groups", "--method is %s, %s or %s, not '%s'",
			 group_method_name(GROUPS_ROBUST), group_method_name(GROUPS_SDIAG_OLDER),
			 group_method_name(GROUPS_SDIAG_POOLED), q->method);
	return -EINVAL;
}

static int status_of(const struct span_groups *j)
{
	for (size_t i = 0; i < j->n; i++)
		if (span_groups_is_slower(j, i))
			return EXIT_ANSWERED;
	return EXIT_NOTHING_FOUND;
}

int spans_groups(struct common *common, const struct spans_query *q, int argc, char **argv)
{
	struct group_options o = {};
	struct span_groups j;
	struct names *names;
	struct forest f;
	int r = parse_method(q, &o.method), status = EXIT_CANNOT;

	if (r < 0)
		return EXIT_USAGE;
	r = spans_forest_of(common, q, (size_t)argc - 1, argv + 1, &names, &f);
	if (r < 0)
		return r == -EINVAL ? EXIT_USAGE : EXIT_CANNOT;
	r = span_groups_judge(&f, &q->choice, &o, &j);
	if (r < 0)
		log_error("%s", strerror(-r));
	else
		status = status_of(&j);
	if (r == 0 && common->json)
		spans_print_json(span_groups_json(&f, &j), 0);
	else if (r == 0)
		span_groups_text(&f, &j, q->top, stdout);
	span_groups_free(&j);
	forest_free(&f);
	names_free(names);
	return status;
}
