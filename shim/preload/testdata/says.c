/* says ARG...: a compiler that says who it is, WHAT, and its arguments. */
#include <stdio.h>

int main(int argc, char **argv)
{
	fputs(WHAT, stdout);
	for (int i = 1; i < argc; i++)
		printf(" %.20s", argv[i]);
	puts("");
	return 7;
}
