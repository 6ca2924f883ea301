#include "fleet/model/server-role.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"

/* A part between '-', '_' or '.' that tells one of many from the next: what Kubernetes or a cloud made up (letters and digits mixed, or
 * five letters without a vowel), or a single letter (node-a, us-east-1a). */
static bool tells_apart(const char *part, size_t n)
{
	size_t digits = 0, vowels = 0;

	for (size_t i = 0; i < n; i++) {
		digits += isdigit((unsigned char)part[i]) != 0;
		vowels += strchr("aeiou", tolower((unsigned char)part[i])) != NULL;
	}
	return n - digits == 1 || (n >= 5 && ((digits && digits < n) || !vowels));
}

char *server_role_stem(const char *name)
{
	char *stem = malloc(strlen(name) + 1), *to = stem;
	const char *p = name;

	while (stem && *p) {
		size_t n = strcspn(p, "-_.:");

		if (p == name || !tells_apart(p, n))
			for (size_t i = 0; i < n; i++)
				if (!isdigit((unsigned char)p[i]))
					*to++ = p[i];
		p += n;
		if (*p)
			*to++ = *p++;
	}
	if (stem)
		*to = 0;
	return stem;
}

bool server_role_stem_tells(const char *stem)
{
	while (*stem && !isalpha((unsigned char)*stem))
		stem++;
	return *stem;
}

struct settling {
	struct fleet *fleet;
	char *const *jobs;
	size_t n_jobs;
	bool by_role;  /* the role is the job: all servers share it */
	char **stems;  /* by server */
	struct hmap of_job, of_stem; /* how many: by (hash of the job, 0); by (hash of the job, hash of the stem) */
	struct hmap divided; /* by (hash of the job, 0): names tell its servers apart */
};

static size_t count_up(struct hmap *m, uint64_t key, uint64_t key2)
{
	size_t n = (size_t)(uintptr_t)hmap_get(m, key, key2) + 1;

	return hmap_put(m, key, key2, (void *)(uintptr_t)n) < 0 ? 0 : n;
}

/* NULL: none, or the source gave a role. */
static const char *job_of(const struct settling *s, size_t server)
{
	const char *role = s->fleet->servers.v[server].role;

	if (s->by_role)
		return role;
	return role || server >= s->n_jobs ? NULL : s->jobs[server];
}

static int count(struct settling *s)
{
	for (size_t i = 0; i < s->fleet->servers.n; i++) {
		const char *job = job_of(s, i);

		s->stems[i] = server_role_stem(s->fleet->servers.v[i].name);
		if (!s->stems[i])
			return -ENOMEM;
		if (job && (!count_up(&s->of_job, hmap_hash_text(job), 0) || !count_up(&s->of_stem, hmap_hash_text(job), hmap_hash_text(s->stems[i]))))
			return -ENOMEM;
	}
	return 0;
}

static int find_divided(struct settling *s)
{
	for (size_t i = 0; i < s->fleet->servers.n; i++) {
		const char *job = job_of(s, i);
		uint64_t key = job ? hmap_hash_text(job) : 0;
		uintptr_t n = job ? (uintptr_t)hmap_get(&s->of_stem, key, hmap_hash_text(s->stems[i])) : 0;

		if (n >= SERVER_STEM_MIN && n < (uintptr_t)hmap_get(&s->of_job, key, 0) && server_role_stem_tells(s->stems[i]) &&
		    hmap_put(&s->divided, key, 0, s) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* "node web" of the job node and the stem "web-:". */
static char *name_role(const char *job, const char *stem, bool with_stem)
{
	size_t n = strlen(stem);
	char *role = NULL;

	while (n && !isalpha((unsigned char)stem[n - 1]))
		n--;
	if (!with_stem || !n)
		return strdup(job);
	return asprintf(&role, "%s %.*s", job, (int)n, stem) < 0 ? NULL : role;
}

static int name_roles(struct settling *s)
{
	for (size_t i = 0; i < s->fleet->servers.n; i++) {
		const char *job = job_of(s, i);
		char *role = job ? name_role(job, s->stems[i], hmap_get(&s->divided, hmap_hash_text(job), 0)) : NULL;

		if (!role && job)
			return -ENOMEM;
		if (!role)
			continue;
		free(s->fleet->servers.v[i].role);
		s->fleet->servers.v[i].role = role;
	}
	return 0;
}

static bool all_share_one(const struct fleet *f)
{
	return !ANY_WHERE(i, f->servers.n, !f->servers.v[i].role || strcmp(f->servers.v[i].role, f->servers.v[0].role) != 0);
}

int server_role_settle(struct fleet *f, char *const *jobs, size_t n_jobs)
{
	struct settling s = {.fleet = f, .jobs = jobs, .n_jobs = n_jobs, .by_role = all_share_one(f), .stems = calloc(f->servers.n + 1, sizeof(*s.stems))};
	int r = s.stems ? count(&s) : -ENOMEM;

	r = r ?: find_divided(&s);
	r = r ?: name_roles(&s);
	for (size_t i = 0; s.stems && i < f->servers.n; i++)
		free(s.stems[i]);
	free(s.stems);
	hmap_free(&s.of_job);
	hmap_free(&s.of_stem);
	hmap_free(&s.divided);
	return r;
}
