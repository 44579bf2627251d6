#include "front.h"

#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A process whose main thread ends by pthread_exit ends with its last thread. Go's threads
 * never end, and hold back the signals that could end the process. So when the main thread
 * ends that way, a thread is made that ends the process when only Go's are left. */

int ks_count_threads(void)
{
	struct stat tasks;
	return stat("/proc/self/task", &tasks) == 0 ? (int)tasks.st_nlink - 2 : 0; /* . and .. */
}

static void *watch(void *unused)
{
	struct timespec pause = {0, 10 * 1000000};
	const struct ks_go *go = ks_loaded();
	int n, alone = 0;

	(void)unused;
	while ((n = ks_count_threads()) > 0) {
		alone = n == go->threads() + 2 ? alone + 1 : 0; /* the main thread, and this one */
		if (alone == 2) /* Go may have made a thread between the two counts */
			exit(0); /* as the C library does in the last thread */
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < 500 * 1000000)
			pause.tv_nsec += pause.tv_nsec / 8;
	}
	return NULL;
}

static _Atomic pid_t ended_in; /* the process whose main thread has ended so */
static atomic_bool watched;

/* Called when the main thread ends, and when Go is loaded, in whatever order. */
void ks_watch_threads(void)
{
	pthread_t t;

	if (atomic_load(&ended_in) != getpid() || ks_loaded() == NULL || atomic_exchange(&watched, true))
		return;
	if (pthread_create(&t, NULL, watch, NULL) == 0)
		pthread_detach(t);
}

static void main_ends(void *unused)
{
	(void)unused;
	atomic_store(&ended_in, getpid());
	ks_watch_threads();
}

void ks_note_main(void)
{
	static pthread_key_t key;
	static bool made; /* by the main thread, of which there is one */

	if (syscall(SYS_gettid) != getpid() || made)
		return;
	made = pthread_key_create(&key, main_ends) == 0;
	if (made)
		pthread_setspecific(key, &key);
}
