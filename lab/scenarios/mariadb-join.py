"""A report joins two big tables of MariaDB without an index: its server computes for it."""
import life
from resources import CPU

GROUP = "real"
RESOURCE = "cpu"
FEATURES = CPU
CAUSE = "database-upkeep"
TOLERABLE = {"cpu", "cpu-group", "threads"}
NEEDS = ("mariadbd", "mariadb", "mariadb-install-db")


def make(stage):
    life.make_mariadb(stage)


def prepare(stage, chance):
    life.start_mariadb(stage)


def inject(stage, chance):
    numbers = "WITH RECURSIVE n AS (SELECT 1 AS v UNION ALL SELECT v + 1 FROM n WHERE v < 3000) SELECT v, v % 97 AS k FROM n"
    ask = life.ask_mariadb(stage)
    question = f"SELECT COUNT(*) FROM ({numbers}) a JOIN ({numbers}) b ON a.k * 7 % 89 = b.k % 83"
    return [stage.start("sh", "-c", f"for i in $(seq {chance.choice((3, 4))}); do (while :; do {ask} -e 'SET max_recursive_iterations = 5000; {question}'; done) & done; wait",
                        name="report"),
            stage.actor("mariadb")]
