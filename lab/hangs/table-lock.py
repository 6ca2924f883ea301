"""A session of PostgreSQL has locked a table and waits for its user; another one, always connected, reads that table."""
from hangstage import PSQL_CLIENT, PSQL_HOLDER

NEEDS = ("postgres", "initdb", "psql")
VICTIM = "psql"  # the client keeps one
WAITS = {"lock", "peer"}


def prepare(stage):
    data = stage.make_postgres("price-database")
    stage.run("postgres", "-D", data, "-c", "listen_addresses=", "-k", data, name="price-database", user="postgres")
    stage.rest(3)
    ask = (stage.find("psql"), "-h", data, "-U", "postgres")
    stage.finish(*ask, "-c", "CREATE TABLE prices(n int)")
    stage.start("price-list", PSQL_CLIENT, "SELECT count(*) FROM prices", *ask)


def inject(stage):
    return [stage.start("maintenance", PSQL_HOLDER, "LOCK TABLE prices", stage.find("psql"), "-h", stage.folder / "price-database", "-U", "postgres")]
