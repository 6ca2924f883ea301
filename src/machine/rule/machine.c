#include "machine/rule/machine.h"

static struct trigger enter(struct trigger t, enum trigger_state state)
{
	t.state = state;
	t.elapsed = 0;
	return t;
}

static struct trigger diagnose(struct trigger t, enum trigger_action action, enum trigger_action *ret)
{
	t = enter(t, TRIGGER_DIAGNOSIS);
	t.phases++;
	*ret = action;
	return t;
}

static struct trigger end(enum trigger_action *ret)
{
	*ret = TRIGGER_END;
	return (struct trigger){};
}

static struct trigger while_normal(struct trigger t, const struct trigger_limits *limits,
				   const struct trigger_sample *s, enum trigger_action *ret)
{
	if (!s->high)
		return t;
	if (!limits->up)
		return diagnose(t, TRIGGER_BEGIN, ret);
	*ret = TRIGGER_RISE;
	return enter(t, TRIGGER_HIGH);
}

static struct trigger while_high(struct trigger t, const struct trigger_limits *limits,
				 const struct trigger_sample *s, enum trigger_action *ret)
{
	if (!s->high) {
		*ret = TRIGGER_FALL;
		return enter(t, TRIGGER_NORMAL);
	}
	t.elapsed += s->span;
	return t.elapsed >= limits->up ? diagnose(t, TRIGGER_BEGIN, ret) : t;
}

static struct trigger while_diagnosing(struct trigger t, const struct trigger_limits *limits,
				       const struct trigger_sample *s, enum trigger_action *ret)
{
	*ret = TRIGGER_COLLECT;
	if (!s->low)
		return t;
	if (!limits->down)
		return end(ret);
	*ret = TRIGGER_PAUSE;
	return enter(t, TRIGGER_NORMAL_WAIT);
}

static struct trigger while_waiting(struct trigger t, const struct trigger_limits *limits,
				    const struct trigger_sample *s, enum trigger_action *ret)
{
	if (s->high)
		return diagnose(t, TRIGGER_RESUME, ret);
	if (!s->low)
		return enter(t, TRIGGER_NORMAL_WAIT);
	t.elapsed += s->span;
	return t.elapsed >= limits->down ? end(ret) : t;
}

struct trigger trigger_step(struct trigger t, const struct trigger_limits *limits,
			    const struct trigger_sample *sample, enum trigger_action *ret)
{
	*ret = TRIGGER_NOTHING;
	switch (t.state) {
	case TRIGGER_NORMAL:
		return while_normal(t, limits, sample, ret);
	case TRIGGER_HIGH:
		return while_high(t, limits, sample, ret);
	case TRIGGER_DIAGNOSIS:
		return while_diagnosing(t, limits, sample, ret);
	case TRIGGER_NORMAL_WAIT:
		return while_waiting(t, limits, sample, ret);
	}
	return t;
}
