"""Requests of a made-up shop, of a delivery service and of a message hub, for bench/gate and bench/spans-watch, with heavy tails and load that moves.
A request is (attributes of its processes, its own, whether it failed, its calls), the first of which is its root; times in ns."""
import collections
import functools
import json
import math
import random

HARDWARE = {"gen4": 1.3, "gen5": 1.0, "gen6": .8}
PAGES = {"GET /list": 1.6, "GET /cart": 1.0}
NS = 1_000_000_000
MESSAGE = 200  # requests
SERVER, CLIENT, PRODUCER, CONSUMER, INTERNAL = 2, 3, 4, 5, 1
# begin: after the request's; parent: index; where: more attributes of the process; links: how many requests before this one it refers to
Call = collections.namedtuple("Call", "service operation begin took parent kind failed where links", defaults=(0, SERVER, False, (), 0))


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
        spans = [Call("web", page, 0, work // 5 + get), Call("cache", "get", 0, get)] if failed else \
            [Call("web", page, 0, work + get + query), Call("cache", "get", 0, get), Call("db", "SELECT", get, query)]
        return {"hardware.generation": hardware}, {"tier": tier}, failed, spans

    def requests(self, n, begin, seconds):
        for i in range(n):
            at = begin + seconds * (i + self.draw.random()) / n
            yield int(at * NS), self.request(at)


OPERATIONS = ("track", "price", "book", "route", "return", "label", "pickup", "claim")


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
            [Call("api", f"GET /{OPERATIONS[operation]}", 0, took), Call("back", "do", took // 10, took * 7 // 10)]


class Hub(Shop):
    """Orders in two regions: reads that are hedged, payments that are tried again, messages that are handled in the sender's trace or, many at
    once, in one of their own; jobs that work through lists. Clocks of hosts differ by up to 5 ms; auth, ledger and store say no version."""
    BUCKET = "west"
    VERSIONS = {"front": "3.1", "stock": "1.4", "pay": "2.0", "ship": "0.9"}

    def __init__(self, seed, new=None, new_share=0., new_slower=1., new_failing=0., handled=1., lost=0., **change):
        """new: service of which `new_share` of the calls run version "new", which takes new_slower times as long, and of which new_failing
        fail; handled: as much longer messages take to be handled; lost: share of the messages whose handling fails."""
        super().__init__(seed, **change)
        self.new, self.new_share, self.new_slower, self.new_failing = new, new_share, new_slower, new_failing
        self.handled, self.lost = handled, lost

    def place(self, service):
        """One of three hosts of a service in the request's region."""
        version = "new" if service == self.new and self.draw.random() < self.new_share else self.VERSIONS.get(service)
        return (("host.name", f"{service}-{self.region}-{self.draw.randrange(3)}"),) + ((("service.version", version),) if version else ())

    @staticmethod
    @functools.cache
    def clock(where):
        """How far a host's clock is off, ns: the same in all runs."""
        return int(random.Random(dict(where)["host.name"]).uniform(-5e6, 5e6))

    def request(self, at):
        draw, region, calls = self.draw, self.draw.choice(["east", "west"]), []
        self.pace = self.changed(region) * (1.15 if region == "west" else 1) * (6 if draw.random() < .003 else 1)
        self.region = region
        express, failed = draw.random() < self.large, draw.random() < self.failing
        story = draw.random()
        if story < .03:
            self.settle(calls)
        elif story < .08:
            self.archive(calls)
        else:
            self.order(calls, express, failed, story < .6)
        return {"cloud.region": region}, {"tier": "express" if express else "plain"}, failed, calls

    def took(self, ms, sigma=.4):
        return int(1e6 * ms * self.pace * self.draw.lognormvariate(-sigma * sigma / 2, sigma))

    def serve(self, calls, service, operation, parent, begin, work, kind=SERVER, failed=False, inside=None, links=0):
        """A call that works, calls what `inside` calls, and works again; the end, by a clock that is right."""
        where, index = self.place(service), len(calls)
        new = ("service.version", "new") in where
        work = int(work * (self.new_slower if new else 1))
        failed = failed or (new and self.draw.random() < self.new_failing)
        calls.append(Call(service, operation, begin + self.clock(where), work, parent, kind, failed, where, links))
        at = begin + work // 2
        at = (inside(index, at) if inside else at) + work - work // 2
        calls[index] = calls[index]._replace(took=at - begin)
        return at

    def send(self, calls, kind, operation, parent, begin, took):
        """A span of the caller's process."""
        calls.append(calls[parent]._replace(operation=operation, begin=begin + self.clock(calls[parent].where), took=took, parent=parent, kind=kind,
                                            failed=False, links=0))
        return len(calls) - 1

    def remote(self, calls, service, operation, parent, begin, work, failed=False, most=None):
        """A call over the network; one that is given up after `most` ends there for the caller."""
        client = self.send(calls, CLIENT, operation, parent, begin, 0)
        end = self.serve(calls, service, operation, client, begin + self.took(.3), work, failed=failed) + self.took(.3)
        given_up = most is not None and end > begin + most
        end = begin + most if given_up else end
        calls[client] = calls[client]._replace(took=end - begin, failed=failed or given_up)
        return end

    def read_stock(self, calls, parent, at):
        """A second read begins where the first has no answer after 12 ms; the first answer counts, and the other read is given up."""
        first, second = self.took(6, .7), self.took(6, .7)
        patience = 12_000_000
        end = at + min(first, patience + second) + 600_000
        if end <= at + patience:
            return self.remote(calls, "stock", "read", parent, at, first)
        self.remote(calls, "stock", "read", parent, at, first, most=end - at)
        self.remote(calls, "stock", "read", parent, at + patience, second, most=end - at - patience)
        return end

    def pay(self, calls, parent, at):
        for _ in range(3):
            failed = self.draw.random() < .04
            at = self.remote(calls, "pay", "charge", parent, at, self.took(8), failed)
            if not failed:
                break
            at += self.took(5, .2)
        return at

    def order(self, calls, express, failed, writes):
        def inside(root, at):
            at = self.remote(calls, "auth", "check", root, at, self.took(2))
            if failed:
                return at
            at = self.read_stock(calls, root, at)
            if not writes:
                return at
            for _ in range(2 if express else 1):
                at = self.pay(calls, root, at)
            sent = self.took(1)
            message = self.send(calls, PRODUCER, "publish orders", root, at, sent)
            self.handle(calls, message, at + sent // 2 + self.took(4, 1), "process orders", 1)
            return at + sent
        self.serve(calls, "front", "POST /order" if writes else "GET /order", 0, 0, self.took(3), failed=failed, inside=inside)

    def handle(self, calls, parent, at, operation, messages, links=0):
        """Messages at ship, each of which is written to its database."""
        failed = self.draw.random() < self.lost

        def inside(consumer, at):
            for _ in range(messages):
                at = self.remote(calls, "store", "INSERT parcels", consumer, at, int(self.took(9) * self.handled))
            return at
        self.serve(calls, "ship", operation, parent, at, int(self.took(5) * self.handled), CONSUMER, failed, inside, links)

    def archive(self, calls):
        """Many messages of other traces at once."""
        many = self.draw.randint(2, 6)
        self.handle(calls, 0, 0, "archive orders", many, many)

    def settle(self, calls):
        """A job over a list, whose length makes its time."""
        def inside(root, at):
            for _ in range(self.draw.randint(3, 20)):
                at = self.remote(calls, "store", "UPDATE accounts", root, at, self.took(2))
            return at
        self.serve(calls, "ledger", "settle", 0, 0, self.took(10), INTERNAL, inside=inside)


def listed(attributes):
    return [{"key": k, "value": {"stringValue": v}} for k, v in attributes.items()]


def otlp(first, requests):
    """As a client sends it: traces are numbered from `first` on."""
    sent = {}
    for i, (at, (process, attributes, failed, calls)) in enumerate(requests, first):
        for number, c in enumerate(calls):
            span = {"traceId": f"{i:032x}", "spanId": f"{256 * i + number:016x}", "parentSpanId": f"{256 * i + c.parent:016x}" if number else "",
                    "name": c.operation, "kind": c.kind, "startTimeUnixNano": str(at + c.begin), "endTimeUnixNano": str(at + c.begin + c.took),
                    "attributes": [] if number else listed(attributes), "status": {"code": 2 if c.failed or (failed and not number) else 0}}
            if c.links:
                span["links"] = [{"traceId": f"{max(1, i - k):032x}", "spanId": f"{256 * max(1, i - k):016x}"} for k in range(1, c.links + 1)]
            sent.setdefault((("service.name", c.service), *process.items(), *c.where), []).append(span)
    return {"resourceSpans": [{"resource": {"attributes": listed(dict(where))}, "scopeSpans": [{"spans": spans}]} for where, spans in sent.items()]}


def write(path, requests):
    """As the Collector's file exporter: a message a line."""
    requests = list(requests)
    path.write_text("".join(json.dumps(otlp(k + 1, requests[k:k + MESSAGE])) + "\n" for k in range(0, len(requests), MESSAGE)))
    return path
