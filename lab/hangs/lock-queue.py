"""A report has read a table of PostgreSQL and does not end its transaction, a change of the table waits for it, and who reads the table waits behind that."""
from hangstage import PSQL_CLIENT, PSQL_HOLDER

NEEDS = ("postgres", "initdb", "psql")
VICTIM = "psql"  # the client keeps one
WAITS = {"lock", "peer"}


def ask(stage):
    return stage.find("psql"), "-h", stage.folder / "club-database", "-U", "postgres"


def prepare(stage):
    data = stage.make_postgres("club-database")
    stage.run("postgres", "-D", data, "-c", "listen_addresses=", "-k", data, name="club-database", user="postgres")
    stage.rest(3)
    stage.finish(*ask(stage), "-c", "CREATE TABLE members(n int)")
    stage.start("member-list", PSQL_CLIENT, "SELECT count(*) FROM members", *ask(stage))


def inject(stage):
    reader = stage.start("club-report", PSQL_HOLDER, "SELECT count(*) FROM members", *ask(stage))
    stage.rest(1)
    stage.run(*ask(stage), "-c", "ALTER TABLE members ADD COLUMN name text", name="migration")
    return [reader]
