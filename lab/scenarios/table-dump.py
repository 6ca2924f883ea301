"""The database is dumped and packed, again and again (pg_dump): its server reads all of it, beside its usual work."""
from resources import CPU, READING, SWITCHING

GROUP = "real"
RESOURCE = "cpu"
FEATURES = CPU | READING | SWITCHING
CAUSE = "cpu-group"
TOLERABLE = {"backup", "compressing", "cpu", "database-upkeep"}
NEEDS = ("postgres", "pg_dump", "gzip")


def inject(stage, chance):
    pack = chance.choice(("gzip -1", "cat"))
    return [stage.start("sh", "-c", f"while :; do pg_dump -h {stage.work}/postgres -U postgres bench | {pack} >/dev/null; done", name="dump",
                        user="postgres", folder=stage.work / "postgres"),
            stage.actor("postgres")]
