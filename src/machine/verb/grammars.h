/* The grammars of files that people write, in full: for --help and the manual page. Each line ends with a newline. */
#pragma once

extern const char trigger_grammar[];   /* rules of the recorder ('config --rules') */
extern const char threshold_grammar[]; /* rules of 'fleet check' */
extern const char analysis_grammar[];  /* files of 'fleet run' */
