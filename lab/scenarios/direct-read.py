"""A disk is read from several places at once past the page cache, to see whether all of it can be read (dd)."""
import life
from resources import CPU, READING

GROUP = "disk"
RESOURCE = "io"
FEATURES = READING | CPU
CAUSE = "disk-read"
TOLERABLE = {"many-small-reads", "disk-shared"}


def make(stage):
    life.make_backup(stage)


def inject(stage, chance):
    piece = chance.choice((64, 512))  # kilobytes
    apart, places = 1024 * 400 // piece, chance.choice((3, 4))
    once = f"dd if={stage.work}/archive of=/dev/null bs={piece}k skip=$((i * {apart})) count={apart} iflag=direct"
    return [stage.start("sh", "-c", f"for i in $(seq 0 {places - 1}); do (while :; do {once}; done) & done; wait", name="surface-test")]
