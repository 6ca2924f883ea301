"""The truth of each kind in which nothing is slow: no program is to be named, and no cause."""
GROUP = "harmless"
RESOURCE = "other"
GUILTY = "nobody"
FEATURES = set()
CAUSE = "nothing"
TOLERABLE = {"cpu-shared", "disk-shared"}
