"""A Debian package is searched for mistakes (lintian), which starts other programs for it."""
from resources import CHILDREN, CPU, FAULTS, READING

GROUP = "tools"
RESOURCE = "cpu"
FEATURES = CPU | CHILDREN | FAULTS | READING
CAUSE = "cpu"
TOLERABLE = {"children", "cpu-group", "many-starts"}
NEEDS = ("lintian", "dpkg-deb")


def make(stage):
    if (stage.work / "checked.deb").exists():
        return
    root = stage.work / "checked"
    (root / "DEBIAN").mkdir(parents=True, exist_ok=True)
    (root / "DEBIAN/control").write_text("Package: lab\nVersion: 1\nArchitecture: all\nMaintainer: lab <lab@example.org>\nDescription: lab\n")
    for part in ("bin", "include"):
        stage.finish("cp", "-r", f"/usr/{part}", root)
    stage.finish("dpkg-deb", "-Zgzip", "-z1", "--build", root, stage.work / "checked.deb")
    stage.finish("rm", "-r", root)


def inject(stage, chance):
    jobs = chance.choice((1, 2))
    return [stage.start("sh", "-c", f"while :; do lintian --allow-root -j{jobs} {stage.work}/checked.deb; done", name="package-check")]
