"""Requests of three made-up systems whose troubles are known, for bench/requests: a shop with a cache, payments that are tried again and messages
that are handled in traces of their own; a media service without routes, whose names contain ids and SQL, with heavy tails and clocks that
differ; a bank whose traces are sampled, with batches, a queue and peers without instrumentation. Attributes are those of OpenTelemetry's
semantic conventions, old and new. Times in ns."""
import json
import math
import random

BEGIN, NS, MS = 1_790_000_000, 1_000_000_000, 1_000_000
INTERNAL, SERVER, CLIENT, PRODUCER, CONSUMER = 1, 2, 3, 4, 5
LENGTHS = (600, 3600, 6 * 3600, 2 * 86400)  # seconds


class Span:
    def __init__(self, trace, service, name, kind, begin, parent, attributes):
        self.trace, self.service, self.name, self.kind, self.begin, self.end = trace, service, name, kind, begin, begin
        self.parent, self.attributes, self.failed, self.links = parent, attributes, False, []


class System:
    """A trouble is (what, where, how much): `work`, `peer`, `more`, `miss`, `fail`, `rare`, `behind` are of one version of a service; `all`
    and `some time` of all requests since a moment; `clean` is none."""
    TROUBLES, SERVICES, SKEW, SAMPLED, TAIL = (), {}, 0, 1, 0.

    def __init__(self, seed, trouble=None, n=3000, seconds=None, roll=True, share=1., only=None):
        """roll: services change versions while requests run; only: all of them run this version; share: of requests of the dearest kind."""
        self.draw, self.n, self.trouble, self.only, self.share = random.Random(seed), n, trouble, only, share
        self.seconds = seconds or self.draw.choice(LENGTHS)
        self.since, self.until = (.4 + .2 * self.draw.random()), None
        if trouble and trouble[0] == "some time":
            self.until = self.since + .2
        self.rolls = {s: self.schedule(s) if roll else [] for s in sorted(self.SERVICES)}
        self.number = seed * 1_000_000
        self.spans = []

    def schedule(self, service):
        """Moments of (0, 1) at which a version begins, the time it takes to be everywhere, and the share of requests that it then has."""
        guilty = self.trouble and self.trouble[1] and self.trouble[1].split(":")[0] == service
        if guilty:
            return [(.35 + .25 * self.draw.random(), self.draw.choice((.0, .1, .3)), self.draw.choice((.5, .5, 1.)))]
        return [(self.draw.uniform(.1, .8), self.draw.choice((0, .1, .3)), self.draw.choice((.3, .5, 1.)))
                for _ in range(self.draw.choice((0, 0, 1, 2)))]

    def version_of(self, service):
        if self.only:
            return self.only
        for v in range(len(self.rolls[service]), 0, -1):
            begin, takes, share = self.rolls[service][v - 1]
            if self.moment > begin + takes * self.draw.random() and self.draw.random() < share:
                return f"1.{v}.0"
        return "1.0.0"

    def hit(self, what, where):
        """How much, if this is what is wrong with the version that runs."""
        if not self.trouble or self.trouble[0] != what or self.trouble[1] != where:
            return None
        return self.trouble[2] if self.versions[where.split(":")[0]] == (self.only or "1.1.0") else None

    def ms(self, median, sigma=.4):
        took = median * self.draw.lognormvariate(0, sigma) * self.pace
        if self.TAIL and self.draw.random() < self.TAIL:
            took *= self.draw.paretovariate(1.3)
        return int(took * MS)

    def span(self, service, name, kind, parent=None, at=0, **attributes):
        if parent is None:
            self.number += 1
        s = Span(self.number if parent is None else parent.trace, service, name, kind, at, parent, attributes)
        self.request.append(s)
        return s

    def work(self, span, key, median, at, sigma=.4):
        """The service's own work from `at` on; when it ends."""
        took = self.ms(median, sigma) * (self.hit("work", f"{span.service}:{key}") or 1)
        rare = self.hit("rare", f"{span.service}:{key}")
        if rare and self.draw.random() < .08:
            took *= rare
        return at + int(took)

    def serve(self, service, name, parent, at, key, median, inside=(), kind=SERVER, **attributes):
        s = self.span(service, name, kind, parent, at, **attributes)
        now = self.work(s, key, median, at)
        for step in inside:
            now = step(s, now)
        fails = self.hit("fail", f"{service}:{key}")
        s.failed |= bool(fails and self.draw.random() < fails)
        s.end = now + self.ms(.2)
        return s

    def remote(self, service, parent, at, name, client, server, key, median, inside=(), **attributes):
        """A call of a service that is traced, too."""
        c = self.span(parent.service, client, CLIENT, parent, at, **attributes)
        s = self.serve(service, server, c, at + self.ms(.3, .2), key, median, inside, **attributes)
        c.end = s.end + self.ms(.3, .2)
        c.failed = s.failed
        return c

    def peer(self, parent, at, key, name, median, count=1, kind=CLIENT, sigma=.4, **attributes):
        """Calls of what has no spans of its own, one after another; when they end."""
        where = f"{parent.service}:{key}"
        for _ in range(int(count * (self.hit("more", where) or 1))):
            took = self.ms(median, sigma)
            slower = self.hit("peer", where)
            took = int(took * slower) if slower else took
            s = self.span(parent.service, name(), kind, parent, at, **attributes)
            at = s.end = at + took
        return at

    def requests(self):
        for i in range(self.n):
            self.moment = (i + self.draw.random()) / self.n
            self.versions = {s: self.version_of(s) for s in sorted(self.SERVICES)}
            self.pace = 1 + .1 * math.sin(2 * math.pi * self.moment * self.seconds / 86400)
            if self.trouble and self.trouble[0] in ("all", "some time") and self.moment >= self.since and not (self.until and self.moment >= self.until):
                self.pace *= self.trouble[2]
            self.request = []
            self.one()
            if self.SAMPLED == 1 or self.draw.random() < self.SAMPLED:
                yield int((BEGIN + self.moment * self.seconds) * NS), self.request

    def host(self, service, trace):
        return f"{service}-{trace * 7919 % 3}"

    def lines(self):
        """As the Collector's file exporter writes them."""
        clocks = {}
        for at, request in self.requests():
            groups = {}
            ids = {id(s): s.trace * 4096 + k for k, s in enumerate(request)}
            for s in request:
                host = self.host(s.service, s.trace)
                off = clocks.setdefault(host, random.Random(host).randint(-self.SKEW, self.SKEW) if self.SKEW else 0)
                span = {"traceId": f"{s.trace:032x}", "spanId": f"{ids[id(s)]:016x}", "parentSpanId": f"{ids[id(s.parent)]:016x}" if s.parent else "",
                        "name": s.name, "kind": s.kind, "startTimeUnixNano": str(at + s.begin + off), "endTimeUnixNano": str(at + s.end + off),
                        "attributes": [{"key": k.replace("__", "."), "value": {"stringValue": str(v)}} for k, v in s.attributes.items()],
                        "status": {"code": 2 if s.failed else 0}}
                if s.links:
                    span["links"] = [{"traceId": f"{t.trace:032x}", "spanId": f"{ids.get(id(t), 1):016x}"} for t in s.links]
                if self.SAMPLED < 1:
                    span["traceState"] = f"ot=th:{int((1 - self.SAMPLED) * 2**56):014x}".rstrip("0")
                groups.setdefault((s.service, host), []).append(span)
            yield json.dumps({"resourceSpans": [
                {"resource": {"attributes": [{"key": k, "value": {"stringValue": v}} for k, v in
                                             (("service.name", service), ("service.version", self.versions.get(service)), ("host.name", host)) if v]},
                 "scopeSpans": [{"spans": spans}]} for (service, host), spans in groups.items()]}) + "\n"


class Retail(System):
    SERVICES = {"gateway", "catalog", "cart", "payment", "shipping"}
    TROUBLES = (("work", "cart:handle", 2.), ("work", "catalog:list", 2.5), ("peer", "cart:select", 3.), ("peer", "catalog:get", 8.),
                ("peer", "payment:bank", 1.8), ("more", "cart:select", 3), ("miss", "catalog:get", .9), ("fail", "payment:charge", .12),
                ("peer", "gateway:publish", 6.), ("behind", "shipping:insert", 3.), ("rare", "cart:handle", 30.))

    def one(self):
        draw, story = self.draw, self.draw.random() / self.share
        if story < .3:
            self.checkout()
        elif story < .9:
            self.serve("gateway", "GET /products/{id}", None, 0, "route", 2, (self.browse,), http__request__method="GET", http__route="/products/{id}",
                       tier=draw.choice(("free", "gold")))
        else:
            self.serve("gateway", "GET /health", None, 0, "health", .5, http__request__method="GET", http__route="/health")

    def sql(self, parent, at, key, statement, table, median, count=1):
        return self.peer(parent, at, key, lambda: f"{statement} {table}", median, count, db__system__name="postgresql", db__operation__name=statement,
                         db__collection__name=table, server__address="pg-1")

    def browse(self, root, at):
        def read(s, at):
            at = self.peer(s, at, "get", lambda: "GET", .6, 2, db__system="redis", server__address="redis-1")
            if self.draw.random() < (self.hit("miss", "catalog:get") or .2):
                at = self.sql(s, at, "products", "SELECT", "products", 9)
            return at
        return self.remote("catalog", root, at, "", "GET", "GET /catalog/{id}", "list", 3, (read,), http__request__method="GET", http__route="/catalog/{id}").end

    def checkout(self):
        many = self.draw.randint(1, 4)

        def cart(root, at):
            def read(s, at):
                at = self.sql(s, at, "select", "SELECT", "cart_items", 4, many)
                return self.sql(s, at, "update", "UPDATE", "carts", 3)
            return self.remote("cart", root, at, "", "POST", "POST /cart", "handle", 5, (read,), http__request__method="POST", http__route="/cart").end

        def pay(root, at):
            for _ in range(3):
                c = self.remote("payment", root, at, "", "shop.Payment/Charge", "shop.Payment/Charge", "charge", 4,
                                (lambda s, now: self.peer(s, now, "bank", lambda: "POST", 25, 1, http__request__method="POST", server__address="bank.example"),),
                                rpc__system="grpc", rpc__service="shop.Payment", rpc__method="Charge")
                at = c.end
                failed = c.failed or self.draw.random() < .02
                c.failed = failed
                if not failed:
                    break
                at += self.ms(5)
            return at

        def publish(root, at):
            return self.peer(root, at, "publish", lambda: "publish orders", 2, 1, PRODUCER, messaging__system="kafka",
                             messaging__destination__name="orders", messaging__operation__type="publish")
        root = self.serve("gateway", "POST /checkout", None, 0, "route", 3, (cart, pay, publish), http__request__method="POST", http__route="/checkout")
        slower = self.hit("behind", "shipping:insert") or 1
        late = root.end + self.ms(20, 1)
        s = self.span("shipping", "process orders", CONSUMER, None, late, messaging__system="kafka", messaging__destination__name="orders",
                      messaging__operation__type="process")
        s.links = [root]
        at = self.work(s, "handle", 4, late)
        i = self.span("shipping", "INSERT", CLIENT, s, at, db__system="postgresql", db__operation="INSERT", db__sql__table="parcels")
        at = i.end = at + int(self.ms(7) * slower)
        s.end = at + self.ms(1)


class Media(System):
    SKEW, TAIL = 4 * MS, .01
    SERVICES = {"edge", "feed", "profile", "search", "media"}
    TROUBLES = (("work", "feed:rank", 2.), ("peer", "feed:timeline", 2.5), ("peer", "profile:mget", 6.), ("more", "feed:timeline", 3),
                ("work", "search:shard", 2.), ("peer", "media:blob", 1.8), ("fail", "search:shard", .1), ("rare", "profile:user", 40.),
                ("work", "media:resize", 2.), ("behind", "media:count", 4.))

    def one(self):
        story = self.draw.random() / self.share
        if story < .35:
            self.serve("edge", f"GET /feed/{self.draw.randrange(10**6)}", None, 0, "route", 2, (self.feed,), http__method="GET")
        elif story < .7:
            self.serve("edge", f"GET /media/{self.draw.randrange(2**60):x}?w={self.draw.randrange(999)}", None, 0, "route", 2, (self.blob,), http__method="GET")
        else:
            self.serve("edge", f"GET /search?q={self.draw.randrange(9999)}", None, 0, "route", 2, (self.search,), http__method="GET")

    def feed(self, root, at):
        draw, user = self.draw, self.draw.randrange(10**6)

        def rank(s, at):
            at = self.peer(s, at, "timeline", lambda: f"SELECT * FROM posts WHERE user_id IN ({', '.join(str(draw.randrange(10**6)) for _ in range(draw.randint(2, 9)))})"
                           f" AND kind = 'p{draw.randrange(99)}' LIMIT {draw.randint(5, 50)}", 8, 1, db__system="mysql", net__peer__name="db7")
            p = self.remote("profile", s, at, "", f"/profiles/{user}", f"GET /profiles/{user}", "user", 3,
                            (lambda x, now: self.peer(x, now, "mget", lambda: f"MGET user:{user}:name user:{user}:pic", .8, 2, db__system="redis"),))
            return p.end
        return self.remote("feed", root, at, "", f"GET /feed/{user}", f"GET /feed/{user}", "rank", 6, (rank,)).end

    def blob(self, root, at):
        draw = self.draw

        def read(s, at):
            at = self.peer(s, at, "blob", lambda: f"GetObject bucket-{draw.randrange(16)}/{draw.randrange(2**64):016x}", 14, 1, peer__service="s3")
            i = self.span("media", "resize", INTERNAL, s, at)
            at = i.end = self.work(i, "resize", 10, at)
            slower = self.hit("behind", "media:count") or 1
            c = self.span("media", "UPDATE views", CLIENT, s, at + self.ms(1), db__system="cassandra", db__operation="UPDATE")
            c.end = c.begin + int(self.ms(30) * slower)  # continues behind the answer
            return at
        return self.remote("media", root, at, "", f"GET /blob/{draw.randrange(2**40):x}", f"GET /blob/{draw.randrange(2**40):x}", "read", 2, (read,)).end

    def search(self, root, at):
        ends = [at]
        for shard in range(3):
            ends.append(self.remote("search", root, at, "", f"search.Shard/Query-{shard}", f"search.Shard/Query-{shard}", "shard", 9, (),
                                    rpc__system="grpc").end)
        return max(ends)


class Bank(System):
    SAMPLED, TAIL = .5, .005
    SERVICES = {"teller", "accounts", "ledger", "fraud", "notify"}
    TROUBLES = (("work", "ledger:book", 2.), ("peer", "accounts:ldap", 3.), ("peer", "ledger:oracle", 2.), ("more", "accounts:read", 4),
                ("work", "fraud:score", 1.8), ("fail", "ledger:book", .08), ("peer", "teller:legacy", 2.), ("work", "accounts:check", 2.5),
                ("behind", "notify:mail", 3.), ("rare", "fraud:score", 25.))

    def one(self):
        story = self.draw.random() / self.share
        if story < .5:
            self.serve("teller", "POST /v1/transfers", None, 0, "transfer", 4, (self.check, self.score, self.book, self.tell), http__method="POST",
                       http__route="/v1/transfers", channel=self.draw.choice(("app", "web", "branch")))
        elif story < .95:
            self.serve("teller", "GET /v1/accounts/{id}", None, 0, "read", 3, (self.check, self.legacy), http__method="GET", http__route="/v1/accounts/{id}")
        else:
            self.serve("ledger", "nightly settle", None, 0, "settle", 8, (self.settle,), kind=INTERNAL)

    def check(self, s, at):
        def inside(x, at):
            at = self.peer(x, at, "ldap", lambda: "bind", 5, 1, net__peer__name="ldap.bank.example")
            return self.peer(x, at, "read", lambda: "SELECT", 2, self.draw.randint(1, 3), db__system="oracle", db__operation="SELECT", db__sql__table="ACCOUNTS")
        return self.remote("accounts", s, at, "", "bank.Accounts/Check", "bank.Accounts/Check", "check", 4, (inside,), rpc__system="grpc",
                           rpc__service="bank.Accounts", rpc__method="Check").end

    def score(self, s, at):
        return self.remote("fraud", s, at, "", "POST", "POST /score", "score", 12, (), http__method="POST", http__route="/score").end

    def book(self, s, at):
        for _ in range(2):
            c = self.remote("ledger", s, at, "", "bank.Ledger/Book", "bank.Ledger/Book", "book", 5,
                            (lambda x, now: self.peer(x, now, "oracle", lambda: "INSERT", 9, 2, db__system="oracle", db__operation="INSERT", db__sql__table="BOOKINGS"),),
                            rpc__system="grpc", rpc__service="bank.Ledger", rpc__method="Book")
            at = c.end
            if not c.failed:
                break
        return at

    def legacy(self, s, at):
        return self.peer(s, at, "legacy", lambda: "CICS", 20, 1, peer__service="mainframe")

    def tell(self, s, at):
        """A message that is handled in the same trace, for which nobody waits."""
        p = self.span("teller", "mails send", PRODUCER, s, at, messaging__system="rabbitmq", messaging__destination__name="mails", messaging__operation="publish")
        at = p.end = at + self.ms(1)
        c = self.serve("notify", "mails process", p, at + self.ms(10, 1), "handle", 2, kind=CONSUMER, messaging__system="rabbitmq",
                       messaging__destination__name="mails", messaging__operation="process")
        m = self.span("notify", "SMTP", CLIENT, c, c.end, server__address="smtp.bank.example")
        m.end = c.end = m.begin + int(self.ms(15) * (self.hit("behind", "notify:mail") or 1))
        return at

    def settle(self, s, at):
        return self.peer(s, at, "oracle", lambda: "UPDATE", 2, self.draw.randint(3, 20), db__system="oracle", db__operation="UPDATE", db__sql__table="BALANCES")


SYSTEMS = {"retail": Retail, "media": Media, "bank": Bank}
