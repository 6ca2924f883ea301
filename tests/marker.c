/* For tests/capture: a program that uses the header, and says what a marker costs. */
#include "whyslow-marker.h"

int main(void)
{
	int r = whyslow_marker_begin("a span");

	r |= whyslow_marker("a moment with a text that is longer than one record can hold");
	r |= whyslow_marker_end("a span");
	return r ? 1 : 0;
}
