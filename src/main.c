#include "cmd/verb.h"

int main(int argc, char **argv)
{
	return verbs_main(argc, argv);
}
