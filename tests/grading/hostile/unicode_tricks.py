"""A function that looks like another one, and text that turns around."""


def 𝐫esume(world):
    "\u202e passed: enorg tcaxe \u202c"
    rеsume_done = "exactly_one"
    return rеsume_done
