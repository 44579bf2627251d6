/* main.c: runs the part of the tests that its argument names. */
#include "parts.h"

static const struct named_part parts[] = {
	PART(variants), PART(populated), PART(found), PART(absent), PART(twice), PART(bettered), PART(refused),
	PART(drivers), PART(uncreatable), PART(private_directory), PART(sources),
	PART(refuses), PART(panics), PART(bad_setting), PART(late_setting), PART(disabled),
	PART(threads), PART(process), PART(nests), PART(failures), PART(alone), PART(cancel), PART(leaks),
	PART(forks), PART(secure), PART(crash), PART(pipes), PART(writes), PART(main_ends), PART(signals), PART(handlers), PART(small_stacks), PART(own_stacks), PART(low_stack), PART(costs),
	PART(many),
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 2 && i < sizeof parts / sizeof *parts; i++)
		if (strcmp(argv[1], parts[i].name) == 0) {
			parts[i].run();
			return 0;
		}
	fprintf(stderr, "usage: %s part\n", argv[0]);
	return 2;
}
