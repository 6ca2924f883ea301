#include "answer/fleet-causes.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static const char defaults[] =
	"imbalance: *request* up and *queue* up; it gets more requests than it can serve, and they queue; compare it with its peers: placement, hashing, a stuck random generator\n"
	"imbalance: *registration* up; it is responsible for more than its share; look at how keys are divided over servers (hash ring, partitions)\n"
	"overload: *request* up and *cpu* up; it gets more work than before; see whether the load is spread evenly ('fleet view DATA COUNTER'), then add capacity or balance\n"
	"overload: *workload* up and *cpu* up; it gets more work than before; see whether the load is spread evenly, then add capacity or balance\n"
	"memory-leak: *pool* either and *mem* up; memory is taken and not given back; look at who allocates since it began\n"
	"memory-leak: *gc* up and *mem* up; memory grows and collecting it costs more and more; look at who allocates since it began\n"
	"memory-leak: *mem*avail* down; free memory shrinks; look at who allocates since it began\n"
	"disk: *disk* up and *wait* up; the disk is the short resource; look at who reads and writes ('whyslow why' on that server)\n"
	"disk: *io*util* up and *await* up; the disk is the short resource; look at who reads and writes ('whyslow why' on that server)\n"
	"network: *retrans* up; packets are lost; look at the path to that server, at its interface and its neighbours\n"
	"network: *latency* up and *cpu* down; it waits for somebody else: a slower network or callee; look at what it calls\n"
	"cpu: *cpu* up; the processor is busier than usual; see which process: 'whyslow why' on that server\n"
	"errors: *error* up; requests fail; look at that server's log since it began\n"
	"errors: *availab* down; requests fail; look at that server's log since it began\n"
	"errors: *success* down; requests fail; look at that server's log since it began\n"
	"slow-callee: *latency* up; it answers more slowly than usual; look at what it calls and at what runs beside it\n";

static void cause_free(struct fleet_cause *c)
{
	for (size_t i = 0; i < c->patterns.n; i++)
		free(c->patterns.v[i].pattern);
	VEC_FREE(c->patterns);
	free(c->name);
	free(c->words);
	free(c->next);
}

void fleet_causes_free(struct fleet_causes *c)
{
	for (size_t i = 0; i < c->list.n; i++)
		cause_free(&c->list.v[i]);
	VEC_FREE(c->list);
}

static int direction_of(const char *word)
{
	static const struct {
		const char *word;
		int direction;
	} words[] = {{"up", 1}, {"down", -1}, {"either", 0}};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcmp(words[i].word, word) == 0)
			return words[i].direction;
	return -2;
}

/* "PATTERN up and PATTERN down" */
static const char *take_patterns(char *text, struct fleet_cause *c)
{
	char *state, *word = strtok_r(text, " \t", &state);

	while (word) {
		struct fleet_cause_pattern p = {};
		char *direction = strtok_r(NULL, " \t", &state);

		p.direction = direction ? direction_of(direction) : -2;
		if (p.direction == -2)
			return "after a pattern comes up, down or either";
		p.pattern = strdup(word);
		if (!p.pattern || VEC_PUSH(c->patterns, p) < 0) {
			free(p.pattern);
			return "no memory";
		}
		word = strtok_r(NULL, " \t", &state);
		if (word && strcmp(word, "and") != 0)
			return "patterns are joined by 'and'";
		if (word && !(word = strtok_r(NULL, " \t", &state)))
			return "'and' is followed by a pattern";
	}
	return c->patterns.n ? NULL : "there is no pattern";
}

static char *skip_blanks(char *p)
{
	return p + strspn(p, " \t");
}

static const char *take_line(char *line, struct fleet_cause *c)
{
	char *patterns = strchr(line, ':'), *words = patterns ? strchr(patterns, ';') : NULL, *next = words ? strchr(words + 1, ';') : NULL;

	if (!patterns || !words || !next)
		return "a cause is 'NAME: PATTERN up [and ...]; WORDS; NEXT STEP'";
	*patterns++ = *words++ = *next++ = 0;
	c->name = strdup(line);
	c->words = strdup(skip_blanks(words));
	c->next = strdup(skip_blanks(next));
	return c->name && c->words && c->next ? take_patterns(patterns, c) : "no memory";
}

int fleet_causes_parse(const char *text, const char *file, struct fleet_causes *ret, char **ret_error)
{
	_cleanup_free_ char *copy = strdup(text);
	unsigned number = 0;

	if (!copy)
		return -ENOMEM;
	for (char *line = copy, *end; line; line = end) {
		struct fleet_cause c = {};
		const char *wrong;

		end = strchr(line, '\n');
		if (end)
			*end++ = 0;
		number++;
		line = skip_blanks(line);
		if (!*line || *line == '#')
			continue;
		wrong = take_line(line, &c);
		if (!wrong && VEC_PUSH(ret->list, c) < 0)
			wrong = "no memory";
		if (!wrong)
			continue;
		cause_free(&c);
		if (asprintf(ret_error, "%s:%u: %s", file, number, wrong) < 0)
			*ret_error = NULL;
		return -EINVAL;
	}
	return 0;
}

int fleet_causes_default(struct fleet_causes *ret)
{
	_cleanup_free_ char *error = NULL;

	return fleet_causes_parse(defaults, "built in", ret, &error);
}

int fleet_causes_read(const char *path, struct fleet_causes *ret, char **ret_error)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	_cleanup_free_ char *text = NULL;
	size_t size = 0;

	if (!file)
		return -errno;
	if (getdelim(&text, &size, 0, file) < 0)
		return ferror(file) ? -EIO : 0;
	return fleet_causes_parse(text, path, ret, ret_error);
}

static bool fits(const struct fleet_cause_pattern *p, const struct fleet *f, const struct fleet_finding *x)
{
	if (fnmatch(p->pattern, f->counters.v[x->counter].name, FNM_CASEFOLD) != 0)
		return false;
	return !p->direction || (p->direction > 0 ? x->flags & FLEET_HIGHER : x->flags & FLEET_LOWER);
}

static bool cause_fits(const struct fleet_cause *c, const struct fleet *f, const struct fleet_findings *unusual, int server, double enough)
{
	for (size_t i = 0; i < c->patterns.n; i++) {
		bool found = false;

		for (size_t k = 0; k < unusual->list.n && unusual->list.v[k].score >= enough && !found; k++)
			found = unusual->list.v[k].server == server && fits(&c->patterns.v[i], f, &unusual->list.v[k]);
		if (!found)
			return false;
	}
	return true;
}

const struct fleet_cause *fleet_cause_find(const struct fleet_causes *c, const struct fleet *f, const struct fleet_findings *unusual,
					   int server, double enough)
{
	for (size_t i = 0; i < c->list.n; i++)
		if (cause_fits(&c->list.v[i], f, unusual, server, enough))
			return &c->list.v[i];
	return NULL;
}
