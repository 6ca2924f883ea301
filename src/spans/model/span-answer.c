#include "spans/model/span-answer.h"

double span_function_mean(const struct span_function *x)
{
	return (double)(x->sum / (long double)x->calls);
}

double span_function_deviation(const struct span_function *x)
{
	long double mean = x->sum / (long double)x->calls, variance = x->squares / (long double)x->calls - mean * mean;

	return variance > 0 ? (double)sqrtl(variance) : 0;
}

void trace_answer_free(struct trace_answer *a)
{
	VEC_FREE(a->spans);
	VEC_FREE(a->path);
	VEC_FREE(a->operations);
}
