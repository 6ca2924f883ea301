"""Requests of a made-up shop and of a made-up delivery service, for bench/gate and bench/spans-watch, with heavy tails and load that moves.
A request is (attributes of the process, of the request, whether it failed, [(service, operation, begin after the request's, duration)]), ns."""
import math
import random

HARDWARE = {"gen4": 1.3, "gen5": 1.0, "gen6": .8}
PAGES = {"GET /list": 1.6, "GET /cart": 1.0}
NS = 1_000_000_000


class Shop:
    """Three kinds of hardware, two pages, customers of two sizes, a cache and a database; the cycle of a day."""
    BUCKET = "gen5"

    def __init__(self, seed, large=.1, slower=1., bucket=None, some=0., some_slower=1., failing=0.):
        """slower: requests of the hardware `bucket` (None = of all); some_slower: `some` of the requests; failing: that many fail fast."""
        self.draw = random.Random(seed)
        self.large, self.slower, self.bucket, self.some, self.some_slower, self.failing = large, slower, bucket, some, some_slower, failing

    def changed(self, hardware):
        """How many times as long this request takes because of what is wrong."""
        return (self.slower if self.bucket in (None, hardware) else 1) * (self.some_slower if self.draw.random() < self.some else 1)

    def request(self, at):
        draw = self.draw
        hardware, page = draw.choice(list(HARDWARE)), draw.choice(list(PAGES))
        tier = "large" if draw.random() < self.large else "small"
        pace = HARDWARE[hardware] * PAGES[page] * (2.5 if tier == "large" else 1) * (1 + .1 * math.sin(at * 2 * math.pi / 86400))
        pace *= self.changed(hardware) * (5 if draw.random() < .005 else 1)
        work, get, query = (int(draw.lognormvariate(mean, sigma) * pace) for mean, sigma in ((15.2, .4), (13, .5), (15.6, .4)))
        failed = draw.random() < self.failing
        spans = [("web", page, 0, work // 5 + get), ("cache", "get", 0, get)] if failed else \
            [("web", page, 0, work + get + query), ("cache", "get", 0, get), ("db", "SELECT", get, query)]
        return {"hardware.generation": hardware}, {"tier": tier}, failed, spans

    def requests(self, n, begin, seconds):
        for i in range(n):
            at = begin + seconds * (i + self.draw.random()) / n
            yield int(at * NS), self.request(at)


class Courier(Shop):
    """Eight operations, few of which have most of the requests, 40 customers, a cache that misses three times in ten (`large`: six), load that wanders."""
    BUCKET = "big"
    load = 0.

    def request(self, at):
        draw = self.draw
        self.load = .995 * self.load + .003 * draw.gauss(0, 1)
        operation, region, customer = min(7, int(draw.expovariate(.7))), draw.choice("abcde"), min(39, int(draw.expovariate(.1)))
        missed, hardware = draw.random() < (.6 if self.large == .3 else .3), "big" if customer % 2 else "small"
        pace = (1 + .6 * operation) * (1.2 if region == "c" else 1) * (4 if missed else 1) * math.exp(self.load)
        pace *= self.changed(hardware) * (3 if draw.random() < .01 else 1)
        failed = draw.random() < self.failing
        took = int((draw.gammavariate(4, 1e6) + draw.expovariate(1e-6)) * pace * (.2 if failed else 1))
        return {"hardware.generation": hardware}, {"region": region, "customer": f"c{customer}", "cache": "miss" if missed else "hit"}, failed, \
            [("api", f"GET /{operation}", 0, took), ("back", "do", took // 10, took * 7 // 10)]


def csv(path, requests):
    rows = []
    for i, (at, (process, attributes, failed, spans)) in enumerate(requests, 1):
        if not rows:
            rows = ["trace_id,span_id,parent_id,service,name,start_ns,duration_ns,status," + ",".join([*process, *attributes])]
        for number, (service, name, begin, took) in enumerate(spans):
            rows.append(f"{i:x},{3 * i + number:x},{f'{3 * i:x}' if number else ''},{service},{name},{at + begin},{took},"
                        f"{'error' if failed and not number else 'ok'},{','.join(process.values())},"
                        + ",".join("" if number else value for value in attributes.values()))
    path.write_text("\n".join(rows) + "\n")
    return path


def listed(attributes):
    return [{"key": k, "value": {"stringValue": v}} for k, v in attributes.items()]


def otlp(first, requests):
    """As a client sends it: traces are numbered from `first` on."""
    sent = {}
    for i, (at, (process, attributes, failed, spans)) in enumerate(requests, first):
        for number, (service, name, begin, took) in enumerate(spans):
            sent.setdefault((("service.name", service), *process.items()), []).append({
                "traceId": f"{i:032x}", "spanId": f"{3 * i + number:016x}", "parentSpanId": f"{3 * i:016x}" if number else "", "name": name, "kind": 2,
                "startTimeUnixNano": str(at + begin), "endTimeUnixNano": str(at + begin + took), "attributes": [] if number else listed(attributes),
                "status": {"code": 2 if failed and not number else 0}})
    return {"resourceSpans": [{"resource": {"attributes": listed(dict(process))}, "scopeSpans": [{"spans": spans}]} for process, spans in sent.items()]}
