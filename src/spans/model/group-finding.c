#include "spans/model/group-finding.h"

#include "lib/data/cleanup.h"

const char *group_method_name(enum group_method method)
{
	static const char *const names[] = {"robust", "sdiag-older", "sdiag-pooled"};

	return names[method];
}

void span_groups_free(struct span_groups *j)
{
	FREE_ALL(j->bucket, j->group, j->groups, j->judgements, j->outliers, j->since);
	VEC_FREE_EACH(j->times, free(each->v));
	deployments_free(&j->deployments);
}

bool span_groups_is_slower(const struct span_groups *j, size_t i)
{
	return j->judgements[i].flags & GROUP_OUTLIER && !(j->judgements[i].flags & GROUP_FASTER);
}
