"""A program opens hundreds of files a second and never closes one."""
GROUP = "six"
RESOURCE = "handles"
FEATURES = {"handles.files"}
CAUSE = "file-handles"
TOLERABLE = set()


def inject(stage, chance):
    return [stage.start("leak", chance.choice((200, 400)))]
