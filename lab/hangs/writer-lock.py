"""A thread of a server in C has a lock for writing and sleeps: the thread that serves the client wants to read."""
import signal

from hangstage import TCP_CLIENT

NEEDS = ("gcc",)
VICTIM = "map-viewer"
WAITS = {"peer", "lock", "remote", "network"}
PORT = 18194
SERVER = """#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static void *import(void *unused)
{
	sigset_t set;
	int number;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigwait(&set, &number);
	pthread_rwlock_wrlock(&lock);
	sleep(1000);
	return unused;
}
int main(int argc, char **argv)
{
	struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[argc - 1])), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int door = socket(AF_INET, SOCK_STREAM, 0), client;
	pthread_t thread;
	sigset_t set;
	char request[16];
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	pthread_create(&thread, NULL, import, NULL);
	setsockopt(door, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
	bind(door, (struct sockaddr *)&here, sizeof(here));
	listen(door, 5);
	client = accept(door, NULL, NULL);
	while (read(client, request, sizeof(request)) > 0) {
		pthread_rwlock_rdlock(&lock);
		pthread_rwlock_unlock(&lock);
		if (write(client, "tile", 4) < 0)
			break;
	}
}
"""


def prepare(stage):
    source, program = stage.folder / "map.c", stage.folder / "map-server"
    source.write_text(SERVER)
    stage.finish("gcc", "-O", "-pthread", source, "-o", program)
    stage.run(program, PORT, name="map-server")
    stage.rest(1)
    stage.start("map-viewer", TCP_CLIENT, PORT)


def inject(stage):
    return [stage.signal("map-server", signal.SIGUSR1)]


def release(stage):
    stage.end("map-server")
