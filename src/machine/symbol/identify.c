#include "machine/symbol/identify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/clock.h"
#include "lib/data/hmap.h"
#include "lib/rights/sandbox.h"
#include "machine/symbol/name-server.h"

#define PATIENCE     (2 * NS_PER_SEC) /* for 16 files, of which a few KB each are read */
#define RESTARTS_MAX 8
#define KNOWN_MAX    100000 /* files; beyond it they are read again */

struct identifier {
	struct sandbox sandbox;
	struct name_server server; /* the child's */
	struct str request, answer;
	struct hmap known; /* (path, inode and device) -> struct build_id */
	unsigned restarts; /* those that are not forgiven yet */
};

/* Files that are asked for together. */
struct batch {
	struct module *modules[SANDBOX_FILES_MAX];
	int files[SANDBOX_FILES_MAX];
	size_t n;
};

int identify_new(struct identifier **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void identify_free(struct identifier *i)
{
	if (!i)
		return;
	sandbox_stop(&i->sandbox);
	str_free(&i->request);
	str_free(&i->answer);
	hmap_free_values(&i->known);
	free(i);
}

/* One that was lost is forgiven: who can spoil some shall not spoil all that come. */
void identifier_rest(struct identifier *i)
{
	if (i->sandbox.pid > 0)
		sandbox_stop(&i->sandbox);
	i->restarts -= i->restarts > 0;
}

static uint64_t file_key(const struct module *m)
{
	return m->inode ^ (uint64_t)m->device << 32;
}

static void keep(struct identifier *i, const struct module *m)
{
	struct build_id *id = malloc(sizeof(*id));

	if (!id)
		return;
	*id = m->build_id;
	if (i->known.n >= KNOWN_MAX)
		hmap_free_values(&i->known);
	(void)hmap_keep(&i->known, hmap_hash_text(m->path), file_key(m), id);
}

static int ask(struct identifier *i, const struct batch *b)
{
	const struct sandbox_call call = {.request = &i->request, .files = b->files, .n_files = b->n, .patience = PATIENCE};
	int r;

	str_clear(&i->request);
	(void)str_put_varint(&i->request, NAME_IDENTIFY);
	if (i->sandbox.pid <= 0 && i->restarts > RESTARTS_MAX)
		return -EPIPE;
	if (i->sandbox.pid <= 0 && sandbox_start(name_server_handle, &i->server, &i->sandbox) < 0)
		return -EPERM;
	r = sandbox_call(&i->sandbox, &call, &i->answer);
	i->restarts += r < 0;
	return r;
}

static void ask_for_batch(struct identifier *i, struct batch *b)
{
	struct reader answer = {};
	int r = b->n ? ask(i, b) : 0;

	if (b->n && r == 0)
		answer = (struct reader){(const uint8_t *)i->answer.data, (const uint8_t *)i->answer.data + i->answer.len, false};
	for (size_t k = 0; k < b->n; k++) {
		struct module *m = b->modules[k];
		size_t n = 0;
		const char *bytes = answer.at ? str_read_blob(&answer, &n) : NULL;

		if (bytes && n <= BUILD_ID_MAX) {
			m->build_id.size = (uint8_t)n;
			memcpy(m->build_id.bytes, bytes, n);
		}
		keep(i, m);
		close(b->files[k]);
	}
	b->n = 0;
}

static void identify(struct identifier *i, const struct modules *process, struct module *m, struct batch *b)
{
	const struct build_id *known;
	int fd;

	if (m->identified || m->kind != MODULE_FILE)
		return;
	m->identified = true;
	known = hmap_get(&i->known, hmap_hash_text(m->path), file_key(m));
	if (known) {
		m->build_id = *known;
		return;
	}
	fd = modules_open(process, m);
	if (fd < 0)
		return;
	b->modules[b->n] = m;
	b->files[b->n++] = fd;
	if (b->n == SANDBOX_FILES_MAX)
		ask_for_batch(i, b);
}

void identifier_identify(struct identifier *i, struct modules *m)
{
	struct batch b = {};

	for (size_t k = 0; k < m->code.n; k++)
		identify(i, m, &m->modules.v[m->code.v[k].module], &b);
	ask_for_batch(i, &b);
}
