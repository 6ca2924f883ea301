/* The client loads this file when the recorder does not answer for it: whyslow.so, next to it in a build folder and in
 * ../lib/whyslow where it is installed. */
#pragma once

#define PROGRAM_FILE	 "whyslow.so"
#define PROGRAM_FUNCTION "whyslow_program"

/* The whole program: reads options and runs the verb. `asked`: -errno, when the client has asked the recorder in vain; 0 = it has not
 * asked. Returns the exit status. */
__attribute__((visibility("default"))) int whyslow_program(int argc, char **argv, int asked);

/* The variable of the environment by which a process whose user cannot enter the program's folder finds PROGRAM_FILE: a descriptor that it
 * inherited (web/serve-rights.c). */
#define PROGRAM_HELD "WHYSLOW_PROGRAM"
#define HELD_FOLDER  "/proc/self/fd/"
