"""A program opens hundreds of files a second and never closes one."""
GROUP = "six"
FEATURES = {"handles.files"}


def inject(stage):
    return [stage.start("leak", 300)]
