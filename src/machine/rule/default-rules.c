#include "machine/rule/rule.h"

/* "High" is 85 % for 5 s in the article; the others are what people call slow, long enough that no start of a
 * program alone sets them off. A process that uses a CPU is not an incident by itself: only next to programs that
 * wait for one. */
const char default_rules[] =
	"# Rules that find incidents without a mark. The grammar: whyslow config "
	"--rules\n"
	"cpu: when u2 >= 85 % for 5 s until < 85 % for 5 s capture\n"
	"process: when process u1 >= 85 % and psi.cpu.some > 20 % for 5 s until u1 < 50 % for 5 s capture\n"
	"cpu-pressure: when psi.cpu.some > 60 % for 5 s until < 30 % for 10 s capture\n"
	"disk-pressure: when psi.io.full > 40 % for 5 s until < 10 % for 10 s capture, notify\n"
	"memory-pressure: when psi.memory.full > 10 % for 3 s until < 2 % for 10 s capture, notify\n"
	"sluggish: when probe.wakeup > 100 ms 3 times in 20 s until < 50 ms for 10 s capture, notify\n";
