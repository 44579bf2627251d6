/* filter.c: runs a program under a filter of system calls.
 *
 *	filter only|refuse|kill N,N,... program [argument ...]
 *
 * only: the process is killed for all calls but these; refuse: these are EPERM; kill: it
 * is killed for these. Without a program it exits with 3. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { most = 200 };

int main(int argc, char **argv)
{
	struct sock_filter code[2 * most + 2];
	unsigned short n = 0;

	if (argc < 4)
		return 3;
	unsigned refuse = SECCOMP_RET_ERRNO | EPERM;
	unsigned listed = strcmp(argv[1], "only") == 0 ? SECCOMP_RET_ALLOW : strcmp(argv[1], "kill") == 0 ? SECCOMP_RET_KILL_PROCESS : refuse;
	unsigned others = listed == SECCOMP_RET_ALLOW ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ALLOW;
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (char *at = strtok(argv[2], ","); at != NULL && n < 2 * most; at = strtok(NULL, ",")) {
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)atoi(at), 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, listed);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, others);
	struct sock_fprog filter = {n, code};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
		perror("filter");
		return 2;
	}
	execv(argv[3], argv + 3);
	perror(argv[3]);
	return 2;
}
