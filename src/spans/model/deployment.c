#include "spans/model/deployment.h"

#include <string.h>

#include "lib/data/str.h"

static void clear(struct deployment *d)
{
	free(d->package);
	free(d->version);
	free(d->host);
}

void deployments_free(struct deployments *d)
{
	for (size_t i = 0; i < d->list.n; i++)
		clear(&d->list.v[i]);
	VEC_FREE(d->list);
}

static char *copy_of(const char *text)
{
	char *copy = strdup(text ? text : "");

	str_make_printable(copy);
	return copy;
}

static bool is_long(const char *text)
{
	return text && strlen(text) > DEPLOYMENT_TEXT_MAX;
}

int deployments_add(struct deployments *d, const char *package, const char *version, const char *host, int64_t time)
{
	struct deployment one;

	if (!package || !*package || !version || !*version)
		return -EINVAL;
	if (d->list.n == DEPLOYMENTS_MAX || is_long(package) || is_long(version) || is_long(host))
		return -E2BIG;
	one = (struct deployment){copy_of(package), copy_of(version), copy_of(host), time};
	if (one.package && one.version && one.host && VEC_PUSH(d->list, one) == 0)
		return 0;
	clear(&one);
	return -ENOMEM;
}

int deployments_add_all(struct deployments *d, const struct deployments *from)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < from->list.n; i++) {
		const struct deployment *one = &from->list.v[i];

		r = deployments_add(d, one->package, one->version, one->host, one->time);
	}
	return r;
}

static int by_time(const void *a, const void *b)
{
	const struct deployment *x = a, *y = b;
	int r;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	r = strcmp(x->package, y->package);
	if (!r)
		r = strcmp(x->version, y->version);
	return r ? r : strcmp(x->host, y->host);
}

void deployments_sort(struct deployments *d)
{
	size_t kept = 0;

	if (d->list.n)
		qsort(d->list.v, d->list.n, sizeof(*d->list.v), by_time);
	for (size_t i = 0; i < d->list.n; i++) {
		if (kept && !by_time(&d->list.v[i], &d->list.v[kept - 1]))
			clear(&d->list.v[i]);
		else
			d->list.v[kept++] = d->list.v[i];
	}
	d->list.n = kept;
}
