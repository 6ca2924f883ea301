#include "machine/cmd-act/confirm-culprits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/log.h"
#include "lib/data/str.h"
#include "machine/cmd-act/confirm.h"
#include "machine/cmd-why/why-query.h"
#include "machine/verb/client-rights.h"

static int take_accused(const struct answer *a, struct culprit_list *ret)
{
	struct culprit_list l;

	if (culprit_list_of(a, &l) < 0)
		return log_failure(EXIT_CANNOT, "out of memory");
	if (l.list.n) {
		*ret = l;
		return EXIT_ANSWERED;
	}
	return log_failure(EXIT_NOTHING_FOUND, "the answer names no culprit: %s (name a process: 'whyslow confirm PID')",
		  a->summary ? a->summary : "it was not slow");
}

static int answer_for(struct store *store, struct common *common, struct why_query *asked, struct culprit_list *ret)
{
	_cleanup_(why_data_free) struct why_data data = {};
	struct answer a;
	int r = why_query_answer(common, store, asked, &data, &a), status;

	if (r < 0) {
		log_error("there is no answer for that moment: %s",
			  r == -ENODATA ? "nothing was recorded" : store_reason(store, r));
		status = EXIT_CANNOT;
	} else {
		status = take_accused(&a, ret);
		answer_free(&a);
	}
	return status;
}

/* The moment of the mark. */
static int take_mark(const struct common *common, struct why_query *asked)
{
	struct store *store = common_open_store(common, STORE_READ);
	struct mark m;
	int r;

	if (!store)
		return EXIT_CANNOT;
	r = store_mark_get(store, asked->mark, &m);
	store_close(store);
	if (r < 0)
		return log_failure(EXIT_ABSENT, "there is no process and no mark %" PRId64 "; 'whyslow list' shows the marks", asked->mark);
	asked->request.at = m.wall;
	mark_free(&m);
	return EXIT_ANSWERED;
}

static int find_here(struct common *common, int64_t mark, struct culprit_list *ret)
{
	_cleanup_why_query_ struct why_query asked = {.request = {.at = clock_wall(),
							  .now = !mark,
							  .marked = mark != 0,
							  .proc_root = mark ? NULL : "/proc",
							  .window = common->config.answer_window,
							  .recorded = true,
							  .viewer = common->viewer},
					      .mark = mark};
	int status = mark ? take_mark(common, &asked) : EXIT_ANSWERED;
	struct store *store;

	if (status != EXIT_ANSWERED)
		return status;
	why_query_find_events(common, &asked);
	status = client_give_up_rights(common, 0);
	if (status)
		return status;
	store = common_open_store(common, STORE_READ);
	if (!store)
		return EXIT_CANNOT;
	status = answer_for(store, common, &asked, ret);
	store_close(store);
	return status;
}

/* --- for another user: the answer is found with the asker's rights, in a process of its own --- */

#define FOUND_MOST 16	/* culprits; an answer names fewer */
#define TEXT_MOST  160	/* bytes of a name or a reason */

struct found_culprit {
	struct culprit_process processes[PIDS_MAX];
	uint32_t n;
	uint32_t of; /* enum bottleneck */
	uint8_t program;
	char name[TEXT_MOST], why_not[TEXT_MOST];
};

struct found {
	struct found_culprit v[FOUND_MOST];
	uint32_t n;
};

static void put_culprit(const struct listed_culprit *from, struct found_culprit *to)
{
	to->of = from->of;
	to->program = from->program;
	snprintf(to->name, sizeof(to->name), "%s", from->name);
	snprintf(to->why_not, sizeof(to->why_not), "%s", from->why_not ? from->why_not : "");
	for (; to->n < from->processes.n && to->n < PIDS_MAX; to->n++)
		to->processes[to->n] = from->processes.v[to->n];
}

static int find_apart(struct common *common, const void *data, void *result)
{
	_cleanup_(culprit_list_free) struct culprit_list list = {};
	int status = find_here(common, *(const int64_t *)data, &list);
	struct found *f = result;

	for (; status == EXIT_ANSWERED && f->n < list.list.n && f->n < FOUND_MOST; f->n++)
		put_culprit(&list.list.v[f->n], &f->v[f->n]);
	return status;
}

static int take_culprit(struct found_culprit *from, struct culprit_list *ret)
{
	struct listed_culprit one = {.of = from->of <= BOTTLENECK_UNCLEAR ? (enum bottleneck)from->of : BOTTLENECK_UNCLEAR, .program = from->program != 0};
	int r = from->n > 0 && from->n <= PIDS_MAX ? 0 : -EBADMSG;

	from->name[TEXT_MOST - 1] = from->why_not[TEXT_MOST - 1] = '\0';
	str_make_printable(from->name);
	str_make_printable(from->why_not);
	if (r == 0 && (!(one.name = strdup(from->name)) || (*from->why_not && !(one.why_not = strdup(from->why_not)))))
		r = -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < from->n; i++)
		r = VEC_PUSH(one.processes, from->processes[i]);
	if (r == 0)
		r = VEC_PUSH(ret->list, one);
	if (r < 0)
		listed_culprit_free(&one);
	return r;
}

int confirm_culprits(struct common *common, int64_t mark, struct culprit_list *ret)
{
	static struct found found;
	int status, r = 0;

	if (!client_has_rights_left(common))
		return find_here(common, mark, ret);
	status = client_work_apart(common, find_apart, &mark, &found, sizeof(found));
	if (status != EXIT_ANSWERED)
		return status;
	for (uint32_t i = 0; r == 0 && i < found.n && i < FOUND_MOST; i++)
		r = take_culprit(&found.v[i], ret);
	if (r < 0)
		log_error("the answer cannot be used: %s", strerror(-r));
	return r < 0 ? EXIT_CANNOT : EXIT_ANSWERED;
}
