"""Three more systems for bench/requests, on which nothing of `spans why` and `spans gate` was chosen: rides behind GraphQL, with calls side by side, hedged
reads and messages that are handled many at once; a mesh whose proxies have spans of their own, without versions, and try again for their callers; jobs of a
queue, each in a trace of its own that links to the request that sent it, with throttled calls and traces that are sampled. What is said in `services` holds."""
from services import CLIENT, CONSUMER, INTERNAL, MS, PRODUCER, SERVER, System


def sql(system, statement, table, old=True):
    """Attributes of a call of a database, by the older or the newer conventions."""
    return {"db__system": system, "db__operation": statement, "db__sql__table": table} if old else \
        {"db__system__name": system, "db__operation__name": statement, "db__collection__name": table}


def aws(service, method, **more):
    return {"rpc__system": "aws-api", "rpc__service": service, "rpc__method": method, **more}


class Rides(System):
    SKEW, TAIL = 8 * MS, .008
    SERVICES = {"graph", "geo", "price", "drivers", "trips"}
    TROUBLES = (("work", "geo:near", 2.), ("peer", "geo:cells", 4.), ("peer", "geo:places", 2.5), ("work", "price:quote", 2.2), ("miss", "price:cache", .9),
                ("more", "drivers:position", 4), ("peer", "drivers:claim", 3.), ("fail", "drivers:match", .12), ("peer", "trips:insert", 2.5),
                ("rare", "geo:near", 30.), ("work", "graph:resolve", 3.))
    sent = ()

    def one(self):
        story = self.draw.random() / self.share
        if story < .35:
            self.graphql("mutation Book", self.book)
        elif story < .8:
            self.graphql("query Nearby", self.nearby)
        else:
            self.process()

    def graphql(self, operation, resolve):
        def inside(root, at):
            i = self.span("graph", operation, INTERNAL, root, at, graphql__operation__type=operation.split()[0], graphql__operation__name=operation.split()[1])
            i.end = resolve(i, self.work(i, "resolve", 3, at))
            return i.end
        self.serve("graph", "POST /graphql", None, 0, "route", 1, (inside,), http__request__method="POST", http__route="/graphql",
                   app=self.draw.choice(("ios", "android", "web")))

    def rpc(self, service, parent, at, method, key, median, inside):
        name = f"rides.{service.title()}/{method}"
        return self.remote(service, parent, at, "", name, name, key, median, (inside,), rpc__system="grpc", rpc__service=f"rides.{service.title()}", rpc__method=method)

    def nearby(self, s, at):
        """Three calls side by side; the positions need what the map said."""
        quote = self.rpc("price", s, at, "Quote", "quote", 5, self.quote).end
        near = self.rpc("geo", s, at, "Near", "near", 6, self.cells).end
        return max(quote, self.rpc("drivers", s, near, "Positions", "positions", 3, self.positions).end)

    def cells(self, s, at):
        at = self.peer(s, at, "cells", lambda: "GEOSEARCH", 1, 3, db__system="redis", server__address="redis-geo")
        return self.hedged(s, at)

    def hedged(self, s, at):
        """A second read begins where the first has no answer after 12 ms; the first answer counts, and the other read is given up."""
        slower, patience = self.hit("peer", "geo:places") or 1, 12 * MS
        took = [int(self.ms(6, .6) * slower) for _ in range(2)]
        end = at + min(took[0], patience + took[1])
        for begin in (at, at + patience):
            if begin < end:
                self.span("geo", "DynamoDB.Query", CLIENT, s, begin, **aws("DynamoDB", "Query", aws__dynamodb__table_names="places")).end = end
        return end

    def quote(self, s, at):
        at = self.peer(s, at, "cache", lambda: "get", .7, 1, db__system="memcached", net__peer__name="mc-1")
        if self.draw.random() < (self.hit("miss", "price:cache") or .15):
            at = self.peer(s, at, "tariffs", lambda: "SELECT tariffs", 12, 1, **sql("mysql", "SELECT", "tariffs"))
        return at

    def positions(self, s, at):
        return self.peer(s, at, "position", lambda: "HGETALL", .9, 4, db__system="redis", server__address="redis-drivers")

    def book(self, s, at):
        at = self.rpc("price", s, at, "Quote", "quote", 5, self.quote).end
        for _ in range(3):  # another customer was faster
            c = self.rpc("drivers", s, at, "Match", "match", 7, self.claim)
            at = c.end
            c.failed |= self.draw.random() < .04
            if not c.failed:
                break
            at += self.ms(8)
        p = self.span("graph", "rides publish", PRODUCER, s, at, messaging__system="kafka", messaging__destination__name="rides", messaging__operation__type="send")
        p.end = at + self.ms(1.5)
        self.sent = (*self.sent[-7:], p)
        return p.end

    def claim(self, s, at):
        return self.peer(s, at, "claim", lambda: "UPDATE drivers", 6, 1, **sql("postgresql", "UPDATE", "drivers", False), server__address="pg-drivers")

    def process(self):
        many = self.draw.randint(2, 6)

        def inside(s, at):
            return self.peer(s, at, "insert", lambda: "INSERT trips", 4, many, **sql("cockroachdb", "INSERT", "trips"))
        s = self.serve("trips", "rides process", None, 0, "handle", 3, (inside,), CONSUMER, messaging__system="kafka", messaging__destination__name="rides",
                       messaging__operation__type="process", messaging__batch__message_count=many)
        s.links = list(self.sent[-many:])


class Mesh(System):
    TAIL = .004
    SERVICES = {"web", "orders", "stock", "price", "users"}
    TROUBLES = (("work", "orders:place", 2.), ("peer", "stock:select", 3.), ("more", "price:rules", 4), ("work", "users:session", 2.5), ("peer", "web:flags", 6.),
                ("miss", "stock:cache", .9), ("fail", "price:quote", .12), ("rare", "orders:place", 30.), ("behind", "users:audit", 4.), ("peer", "orders:insert", 2.))

    def one(self):
        story = self.draw.random() / self.share
        place = "POST /orders", (self.flags, self.session, self.place)
        name, inside = place if story < .4 else ("GET /stock/{sku}", (self.flags, self.stock)) if story < .85 else ("GET /me", (self.session,))
        self.serve("web", name, None, 0, "page", 3, inside, http__request__method=name.split()[0], http__route=name.split()[1])

    def hop(self, service, parent, at, method, route, key, median, inside=()):
        """A call through the proxies of both sides; the caller's tries once more where it fails. When it ends."""
        attributes = {"http__request__method": method}
        address = f"{service}.shop.svc.cluster.local:8080/*"
        c = self.span(parent.service, method, CLIENT, parent, at, server__address=f"{service}.shop", **attributes)
        out = self.span(f"{parent.service}.mesh", address, CLIENT, c, at + self.ms(.2), component="proxy", upstream_cluster=address)
        now = out.begin
        for _ in range(2):
            p = self.span(f"{service}.mesh", address, SERVER, out, now + self.ms(.4), component="proxy")
            s = self.serve(service, f"{method} {route}", p, p.begin + self.ms(.2), key, median, inside, http__route=route, **attributes)
            p.end, p.failed = s.end + self.ms(.2), s.failed
            now = p.end + self.ms(.4)
            if not s.failed:
                break
        out.failed = c.failed = s.failed
        out.end = now
        c.end = now + self.ms(.2)
        return c.end

    def flags(self, s, at):
        return self.peer(s, at, "flags", lambda: "GET", 1.5, 1, http__request__method="GET", server__address="flags.example", url__full="https://flags.example/v2/eval")

    def session(self, s, at):
        def inside(x, at):
            at = self.peer(x, at, "get", lambda: "GET", .6, 1, db__system__name="redis", server__address="redis-1")
            a = self.span("users", "INSERT audit", CLIENT, x, at + self.ms(1), **sql("mssql", "INSERT", "audit"))
            a.end = a.begin + int(self.ms(40) * (self.hit("behind", "users:audit") or 1))  # no request waits for it
            return at
        return self.hop("users", s, at, "GET", "/session", "session", 4, (inside,))

    def place(self, s, at):
        def inside(x, at):
            at = self.stock(x, at)
            at = self.peer(x, at, "insert", lambda: "INSERT shop.orders", 8, 2, **sql("mssql", "INSERT", "orders"))
            return self.hop("price", x, at, "POST", "/quote", "quote", 4, (self.rules,))
        return self.hop("orders", s, at, "POST", "/orders", "place", 9, (inside,))

    def stock(self, s, at):
        def inside(x, at):
            at = self.peer(x, at, "cache", lambda: "get", .5, 1, db__system="hazelcast", net__peer__name="hz-1")
            if self.draw.random() < (self.hit("miss", "stock:cache") or .3):
                at = self.peer(x, at, "select", lambda: "SELECT shop.stock", 9, 1, **sql("mssql", "SELECT", "stock"))
            return at
        return self.hop("stock", s, at, "GET", "/stock/{sku}", "read", 3, (inside,))

    def rules(self, s, at):
        return self.peer(s, at, "rules", lambda: "find rules", 1.8, self.draw.randint(1, 3), **sql("mongodb", "find", "rules", False))


class Works(System):
    SAMPLED, TAIL = .4, .006
    SERVICES = {"api", "runner", "parser", "indexer", "mailer"}
    TROUBLES = (("work", "runner:plan", 2.), ("peer", "runner:fetch", 2.), ("work", "parser:parse", 1.8), ("peer", "indexer:bulk", 2.), ("more", "indexer:bulk", 3),
                ("fail", "parser:parse", .1), ("peer", "api:save", 4.), ("behind", "mailer:send", 3.), ("rare", "parser:parse", 20.), ("work", "api:submit", 3.))

    def one(self):
        story = self.draw.random() / self.share
        if story < .6:
            self.submit()
        else:
            self.serve("api", "GET /v1/jobs/{id}", None, 0, "status", 2, (lambda s, at: self.peer(s, at, "get", lambda: "findOne jobs", 2, 1, **sql("mongodb", "findOne", "jobs")),),
                       http__request__method="GET", http__route="/v1/jobs/{id}")

    def submit(self):
        def inside(s, at):
            at = self.peer(s, at, "save", lambda: "insert jobs", 4, 1, **sql("mongodb", "insert", "jobs"))
            return self.peer(s, at, "send", lambda: "jobs send", 6, 1, PRODUCER, messaging__system="aws_sqs", messaging__destination__name="jobs", messaging__operation="publish")
        root = self.serve("api", "POST /v1/jobs", None, 0, "submit", 3, (inside,), http__request__method="POST", http__route="/v1/jobs",
                          plan=self.draw.choice(("free", "team")))
        s = self.serve("runner", "jobs process", None, root.end + self.ms(300, 1), "plan", 15, (self.fetch, self.parse, self.index, self.mail), CONSUMER,
                       messaging__system="aws_sqs", messaging__destination__name="jobs", messaging__operation="process")
        s.links = [root]

    def fetch(self, s, at):
        for wait in (50, 100, 0):  # what is throttled is tried again
            c = self.span("runner", "S3.GetObject", CLIENT, s, at, **aws("S3", "GetObject", aws__s3__bucket="uploads"))
            c.failed = bool(wait) and self.draw.random() < .05
            at = c.end = at + (self.ms(3) if c.failed else int(self.ms(40) * (self.hit("peer", "runner:fetch") or 1)))
            if not c.failed:
                break
            at += self.ms(wait, .2)
        return at

    def parse(self, s, at):
        """Parts are parsed side by side; one that fails is parsed once more."""
        ends = []
        for _ in range(self.draw.randint(2, 5)):
            now = at
            for _ in range(2):
                c = self.remote("parser", s, now, "", "works.Parser/parse", "works.Parser/parse", "parse", 25, (), rpc__system="apache_dubbo", rpc__service="works.Parser",
                                rpc__method="parse")
                now = c.end
                if not c.failed:
                    break
            ends.append(now)
        return max(ends)

    def index(self, s, at):
        return self.remote("indexer", s, at, "", "POST", "POST /index", "index", 8,
                           (lambda x, now: self.peer(x, now, "bulk", lambda: "bulk", 12, 2, db__system="elasticsearch", db__operation="bulk", http__request__method="POST",
                                                     server__address="es-1"),), http__request__method="POST", http__route="/index").end

    def mail(self, s, at):
        """A function that is called and not waited for."""
        c = self.span("runner", "Lambda.Invoke", CLIENT, s, at, **aws("Lambda", "Invoke", faas__invoked_name="mailer"))
        at = c.end = at + self.ms(5)
        f = self.serve("mailer", "mailer", c, c.begin + self.ms(20, .6), "start", 3, faas__trigger="pubsub", faas__name="mailer")
        m = self.span("mailer", "SES.SendEmail", CLIENT, f, f.end, **aws("SES", "SendEmail"))
        m.end = f.end = m.begin + int(self.ms(60) * (self.hit("behind", "mailer:send") or 1))
        return at


SYSTEMS = {"rides": Rides, "mesh": Mesh, "works": Works}
