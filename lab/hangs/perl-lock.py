"""A server in Perl makes a process for each request, which locks a file that an editor of that file has locked."""
NEEDS = ("perl",)
VICTIM = "guest"
WAITS = {"peer", "lock", "remote", "network"}
PORT = 18200
SERVER = """use IO::Socket::INET; use Fcntl ':flock';
$SIG{CHLD} = 'IGNORE';
my $door = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $ARGV[0], Listen => 5, ReuseAddr => 1) or die;
while (1) {
    my $client = $door->accept or next;
    next if fork;
    sysread $client, my $request, 16;
    open my $book, '>>', $ARGV[1];
    flock $book, LOCK_EX;
    syswrite $client, 'done';
    exit;
}
"""
CLIENT = """import socket, sys, timed
def sign():
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as server:
        server.sendall(b"nice")
        server.recv(16)
timed.repeat_command(sign)
"""
HOLDER = """import fcntl, sys, time
book = open(sys.argv[1], "a")
fcntl.flock(book, fcntl.LOCK_EX)
time.sleep(1000)
"""


def prepare(stage):
    (stage.folder / "guests.pl").write_text(SERVER)
    stage.run("perl", stage.folder / "guests.pl", PORT, stage.folder / "guest-book", name="guests")
    stage.rest(1)
    stage.start("guest", CLIENT, PORT)


def inject(stage):
    return [stage.start("book-editor", HOLDER, stage.folder / "guest-book")]
