"""A server elsewhere answers late: programs wait for it, and this machine has nothing to do with it."""
import signal

from stage import SceneBroken

import life

GROUP = "other"
RESOURCE = "network"
GUILTY = "remote"
FEATURES = set()
CAUSE = "remote"
TOLERABLE = set()


def inject(stage, chance):
    far = [actor for actor in stage.actors if actor.name == "far"]
    if not far:
        raise SceneBroken("there is no other machine")
    far[0].process.send_signal(signal.SIGUSR1)
    return []


def restore(stage):
    for name in ("far", "mail"):
        for actor in [actor for actor in stage.actors if actor.name == name]:
            stage.stop(actor)
    life.far(stage)
