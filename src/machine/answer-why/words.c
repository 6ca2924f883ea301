#include "machine/answer-why/words.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/str.h"
#include "machine/answer-waits/hangs.h"

static const char *waiting_for(enum bottleneck b)
{
	switch (b) {
	case BOTTLENECK_CPU:
		return "programs wait for the CPU";
	case BOTTLENECK_DISK:
		return "programs wait for the disk";
	case BOTTLENECK_MEMORY:
		return "memory is short";
	case BOTTLENECK_NETWORK:
		return "the network is busy";
	case BOTTLENECK_LOCK:
		return "programs wait for locks";
	case BOTTLENECK_PEER:
		return "programs wait for another program";
	case BOTTLENECK_QUOTA:
		return "programs are throttled by a limit";
	default:
		return "something is unusual";
	}
}

static void put_culprit(struct str *s, const struct suspect *top, const char *normally_when)
{
	const struct deviation *f = top->features.n ? &top->features.v[0] : NULL;
	char now[32], usual[32];

	suspect_put(top, s);
	if (!f)
		return;
	feature_format(f->feature, f->observed, now, sizeof(now));
	if (!isnan(f->usual) && strcmp(now, feature_format(f->feature, f->usual, usual, sizeof(usual))) == 0)
		return; /* what differs by less than is printed says nothing */
	str_printf(s, ": %s %s", f->feature->name, now);
	if (!isnan(f->usual))
		str_printf(s, ", normally %s%s", usual, normally_when);
}

static void put_when(const struct answer *a, struct str *s)
{
	if (a->slow_until)
		str_printf(s, "was slow for %s, until %s ago: ", CLOCK_SPAN(a->slow_until - a->slow_since),
			   CLOCK_SPAN(a->at - a->slow_until));
	else if (a->slow_since)
		str_printf(s, "slow for %s: ", CLOCK_SPAN(a->at - a->slow_since));
	else if (a->bottleneck == BOTTLENECK_PEER || a->bottleneck == BOTTLENECK_LOCK || a->bottleneck == BOTTLENECK_REMOTE)
		str_puts(s, "the machine is not short of CPU, disk or memory, but "); /* somebody waits all the same */
	else if (!a->has_history)
		str_puts(s, a->culprit_is_named ? "one program stands out: " : "");
	else if (a->culprit_is_named && !(a->cause && strcmp(a->cause, "limit") == 0))
		str_puts(s, "the machine is no busier than normally, but one program is unusual: ");
	else
		str_puts(s, "the machine is no busier than normally; yet ");
}

/* Without a cause: what was short, and who stands out. */
static void put_plainly(const struct answer *a, const struct facts *facts, struct str *s)
{
	const struct suspect *top = a->culprit_is_named ? &a->ranking.suspects.v[0] : NULL;

	if (a->slow_since)
		str_puts(s, waiting_for(a->bottleneck));
	if (!top) {
		str_puts(s, ", but no program stands out");
		if (facts->clauses[CLAUSE_LIKELY])
			str_printf(s, "; the most likely is %s", facts->clauses[CLAUSE_LIKELY]);
		return;
	}
	if (a->slow_since) /* a leak of handles is worth saying, but no disk is slow for it */
		str_puts(s, top->of == BOTTLENECK_NONE ? "; also unusual: " : "; ");
	put_culprit(s, top, a->normally_when);
}

static char *tell_nothing(const struct answer *a)
{
	_cleanup_free_ char *hang = a->hangs.n ? hang_words(&a->hangs.v[0], a->at) : NULL;
	struct str s = {};
	char span[32];

	clock_format_span(a->recorded, span, sizeof(span));
	if (a->has_history)
		str_printf(&s, "nothing unusual: %u programs compared with their last %s%s", a->ranking.looked_at, span, a->normally_when);
	else if (a->recorded < 2 * NS_PER_SEC)
		str_printf(&s, "nothing unusual so far: the recording of %u programs began a moment ago", a->ranking.looked_at);
	else
		str_printf(&s, "nothing unusual so far: of %u programs no more than %s is recorded", a->ranking.looked_at, span);
	if (a->ranking.suspects.n)
		str_printf(&s, "; the most unusual programs are listed%s", a->has_history ? ", but others wait no longer than normally" : "");
	if (hang)
		str_printf(&s, "; but %s", hang);
	if (a->busiest.subject) {
		str_printf(&s, "; as before, %s %.0f %% of the time, and the largest user is ", waiting_for(a->busiest.of),
			   100 * a->pressure.now[a->busiest.of]);
		put_culprit(&s, &a->busiest, a->normally_when);
	}
	return s.data;
}

/* "...: the processor" inside a sentence; but "...: X11 uses" stays. */
static void put_sentence(const char *text, struct str *s)
{
	size_t n = strlen(text);

	if (n && text[n - 1] == '.')
		n--;
	if (n > 1 && isupper((unsigned char)text[0]) && (islower((unsigned char)text[1]) || text[1] == ' ')) {
		str_putc(s, (char)tolower((unsigned char)text[0]));
		str_append(s, text + 1, n - 1);
	} else {
		str_append(s, text, n);
	}
}

/* Whoever has ended is not to be looked for any more. */
static void put_end(const struct facts *facts, struct str *s)
{
	const struct fact *ended = facts_find(facts, FACT_CULPRIT, "ended");

	if (ended)
		str_printf(s, "; %s ended %s ago", facts->culprit.members > 1 ? "the last of it" : "it",
			   CLOCK_SPAN((int64_t)ended->now));
}

static char *advise(const struct cause *cause, const struct facts *facts)
{
	char *next = cause_advice(cause, facts), *text;

	if (!facts_find(facts, FACT_CULPRIT, "ended"))
		return next;
	if (asprintf(&text, "It no longer runs.%s%s", next ? " " : "", next ?: "") < 0)
		text = NULL;
	free(next);
	return text;
}

static char *summarise(const struct answer *a, const struct facts *facts, const char *said)
{
	struct str s = {};

	if (a->told)
		return hang_words(a->told, a->at);
	if (!a->slow)
		return tell_nothing(a);
	put_when(a, &s);
	if (said)
		put_sentence(said, &s);
	else
		put_plainly(a, facts, &s);
	put_end(facts, &s);
	return s.data;
}

/* The culprit is known, and what keeps it is to be seen there. */
static char *advise_of_hang(const struct answer *a, const struct facts *facts)
{
	uint32_t pid = a->culprit_is_named ? a->ranking.suspects.v[0].subject->info.pid : 0;
	char *text;

	if (!pid && a->bottleneck == BOTTLENECK_DISK)
		return strdup("'fsfreeze --unfreeze' with the file system's mount point lets it be written again. Look first who froze it: a snapshot or a backup.");
	text = wait_chain_remedy(&a->told->chain);
	if (text)
		return text;
	if (hang_is_of_limit(a->told) && facts->clauses[CLAUSE_ADVICE])
		return strdup(facts->clauses[CLAUSE_ADVICE]);
	if (!pid || a->bottleneck == BOTTLENECK_REMOTE)
		return strdup("Look at the network and at the other machine: ping, 'ss -tnoi' (retransmissions), and whyslow there.");
	if (asprintf(&text, "'whyslow inspect %u' shows in which function it is; 'whyslow why %u' shows the waits of the one that hangs.", pid,
		     a->told->victim->info.pid) < 0)
		return NULL;
	return text;
}

bool words_are_there(const struct answer *a)
{
	return a->slow && (a->slow_since || a->culprit_is_named);
}

int words_of_answer(struct answer *a, const struct facts *facts, const struct causes *causes)
{
	const struct cause *cause = a->told ? NULL : cause_find(causes, facts);
	_cleanup_free_ char *said = cause ? cause_words(cause->say, facts) : NULL;

	if (cause) {
		a->cause = strdup(cause->id);
		a->next = a->slow ? advise(cause, facts) : NULL;
	}
	if (a->told)
		a->next = advise_of_hang(a, facts);
	else if (!said && !words_are_there(a))
		a->slow = false;
	a->summary = summarise(a, facts, said);
	return a->summary && (!cause || (a->cause && said)) ? 0 : -ENOMEM;
}
