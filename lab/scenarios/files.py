"""A program opens hundreds of files a second and never closes one."""
GROUP = "six"
RESOURCE = "handles"
FEATURES = {"handles.files"}
CAUSES = {"file-handles"}


def inject(stage, chance):
    return [stage.start("leak", chance.choice((200, 400)))]
