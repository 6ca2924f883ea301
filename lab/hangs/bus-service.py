"""A service on a D-Bus answers no more; who calls it waits for the bus."""
import signal

NEEDS = ("dbus-daemon",)
VICTIM = "panel"
WAITS = {"peer", "remote"}
BUS = """import ctypes, sys
sd = ctypes.CDLL("libsystemd.so.0")
bus = ctypes.c_void_p()
def check(result):
    if result < 0:
        raise OSError(-result, "D-Bus")
check(sd.sd_bus_new(ctypes.byref(bus)))
check(sd.sd_bus_set_address(bus, sys.argv[1].encode()))
check(sd.sd_bus_set_bus_client(bus, 1))
check(sd.sd_bus_start(bus))
"""
SERVICE = BUS + """import signal, time
late = 0
def become_late(*_):
    global late
    late = 1000
signal.signal(signal.SIGUSR1, become_late)
@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
def answer(message, *_):
    time.sleep(late)
    return sd.sd_bus_reply_method_return(ctypes.c_void_p(message), None)
check(sd.sd_bus_request_name(bus, b"org.example.Weather", ctypes.c_uint64(0)))
check(sd.sd_bus_add_filter(bus, None, answer, None))
while True:
    if check(done := sd.sd_bus_process(bus, None)) or done == 0:
        sd.sd_bus_wait(bus, ctypes.c_uint64(100000))
"""
CLIENT = BUS + """import timed
def ask():
    check(sd.sd_bus_call_method(bus, b"org.example.Weather", b"/weather", b"org.example.Weather", b"Now", None, None, None))
check(sd.sd_bus_set_method_call_timeout(bus, ctypes.c_uint64(1000000000)))
timed.repeat(ask)
"""


def prepare(stage):
    address = f"unix:path={stage.folder / 'bus'}"
    stage.run("dbus-daemon", "--session", "--nofork", f"--address={address}", name="bus")
    stage.rest(1)
    stage.start("weather", SERVICE, address)
    stage.rest(1)
    stage.start("panel", CLIENT, address)


def inject(stage):
    return [stage.signal("weather", signal.SIGUSR1)]


def release(stage):
    stage.end("weather")
